import APNSModel
import APNSSimulator
import ArgumentParser
import EmbeddedIslet
import Foundation
import JSONText
import LiveActivityAPI
import Logging
import ServiceLifecycle
import UnixSignals

/// The `islet simulate` command, which runs an APNs with phones behind it.
struct Simulate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs a local APNs with virtual phones.",
        discussion: """
            Writes into --directory what a server needs to use it in place of Apple: simulator-ca.pem, a provider key \
            (.p8) unless there is one of an earlier run, and an islet.yaml to begin with, beside the contracts of its \
            types. Prints one line of JSON with \
            its ports. Phones are made and acted on through the control API: \
            `curl http://127.0.0.1:PORT/v1/simulator`. It also orders faults, and makes crowds of up to a million \
            light phones for load; docs/simulator.md describes it.
            For servers on other machines or in containers, give --host, --name and --control-token-environment.
            """)

    @Option(help: "The port of APNs; 0 takes a free one.") var port = SimulatorFiles.Standard.port
    @Option(help: "The port of channel management; 2195, or a free one with --port 0.") var channelPort: Int?
    @Option(help: "The port of the control API; 0 takes a free one.") var controlPort = 2198
    @Option(help: "The address that its ports are bound to.") var host = "127.0.0.1"
    @Option(help: "The host name in its certificate and in the islet.yaml that is written, in place of the address.")
    var name: String?
    @Option(help: "The variable with the token that calls of the control API carry, as `Authorization: Bearer`.")
    var controlTokenEnvironment: String?
    @Option(help: "Where the certificate, the key and a configuration are written.")
    var directory = SimulatorFiles.Standard.directory
    @Option(help: "The Islet server that the phones report to.") var backend = "http://127.0.0.1:8080"
    @Option(help: "A file with the API key the phones report with; it may be made later.") var backendKeyFile: String?
    @Option(help: "The example app on the phones: a name from `islet demo --system`.") var system = OrderPlay.name
    @Option(help: "The app's bundle id in the islet.yaml that is written, in place of the system's.") var app: String?
    @Option(help: "The policy's startGrace in the islet.yaml that is written.") var startGrace = "15s"
    @Option(help: "Seed for tokens, ids and random faults.") var seed: UInt64 = 1
    @Option(help: "Pushes per token and minute before 429; without it, unlimited.") var tokenRate: Int?

    private var managementPort: Int { channelPort ?? (port == 0 ? 0 : SimulatorFiles.Standard.channelPort) }

    func validate() throws {
        let given = [("--port", port), ("--channel-port", managementPort), ("--control-port", controlPort)]
        for (option, port) in given where !(0...65_535).contains(port) {
            throw ValidationError("\(option) is 0 to 65535, not \(port)")
        }
        let fixed = given.map(\.1).filter { $0 > 0 }
        guard Set(fixed).count == fixed.count else {
            throw ValidationError("--port, --channel-port and --control-port differ")
        }
        guard ["127.0.0.1", "::1", "localhost"].contains(host) || (name != nil && controlTokenEnvironment != nil) else {
            throw ValidationError(
                "with --host \(host) other machines reach the simulator: give --name and --control-token-environment")
        }
        if let name, !Self.isHostName(name) {
            throw ValidationError("--name is a host name such as simulator.internal, not `\(name)`")
        }
        guard backendAddress != nil else {
            throw ValidationError("--backend is http://host:port, not `\(backend)`")
        }
        guard Systems.named(system) != nil else {
            throw ValidationError("there is no system `\(system)`: there are \(Systems.names.joined(separator: ", "))")
        }
        if let app, BundleID(app) == nil {
            throw ValidationError("`\(app)` is not a bundle id such as com.example.pizza")
        }
        guard tokenRate ?? 1 > 0 else { throw ValidationError("--token-rate is at least 1") }
        guard APIDuration(startGrace) != nil else {
            throw ValidationError("--start-grace is a duration such as 15s, not `\(startGrace)`")
        }
    }

    /// Address `host:port` of the server that the phones report to.
    var backendAddress: String? {
        guard let components = URLComponents(string: backend), let scheme = components.scheme,
            let port = components.port ?? ["http": 80, "https": 443][scheme],
            let host = components.host?.trimmingCharacters(in: CharacterSet(charactersIn: "[]")), !host.isEmpty,
            ["http", "https"].contains(scheme), ["", "/"].contains(components.path), components.query == nil
        else { return nil }
        return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// Host of the simulator in URLs.
    private var urlHost: String { name ?? (host.contains(":") ? "[\(host)]" : host) }

    private static func isHostName(_ text: String) -> Bool {
        text.count <= 253 && text.contains(where: \.isLetter)
            && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == ".") }
    }

    private func controlToken() throws -> String? {
        guard let variable = controlTokenEnvironment else { return nil }
        guard let token = ProcessInfo.processInfo.environment[variable], !token.isEmpty else {
            throw CommandError("--control-token-environment: the environment variable \(variable) is not set")
        }
        return token
    }

    private var example: ExampleApp { (Systems.named(system) ?? OrderPlay.self).app }

    func run() async throws {
        let folder = URL(fileURLWithPath: directory)
        let token = try controlToken()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let key = try SimulatorFiles.key(in: folder)
        var configuration = APNSSimulator.Configuration()
        configuration.host = host
        configuration.certificateHosts = name.map { [$0] } ?? []
        configuration.controlToken = token
        configuration.ports = [.sandbox: port]
        configuration.managementPorts = [.sandbox: managementPort]
        configuration.controlPort = controlPort
        configuration.keys = [key]
        configuration.activityTypes = example.types.map(\.onPhones)
        configuration.seed = seed
        configuration.pushesPerTokenAndMinute = tokenRate
        let keyPath = backendKeyFile ?? folder.appendingPathComponent(SimulatorFiles.Standard.backendKeyFile).path
        let caller = JSONCaller(backend) {
            FileManager.default.contents(atPath: keyPath).map {
                String(decoding: $0, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
            }
        }
        let backend = HTTPPhoneBackend(islet: caller)
        let simulator = try APNSSimulator(
            configuration, backend: backend, logger: try Output.logger("apns-simulator"))
        let ports = "\(host):\(port), \(host):\(managementPort) and \(host):\(controlPort)"
        let options = "--port, --channel-port and --control-port"
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                let services = ServiceGroup(
                    configuration: .init(
                        services: [.init(service: CancellableService(run: simulator.run))],
                        gracefulShutdownSignals: [.sigterm, .sigint], logger: try Output.logger("simulate")))
                do {
                    try await services.run()
                } catch {
                    throw CommandError.listening(on: ports, setBy: options, error)
                }
            }
            let addresses: APNSSimulator.Addresses
            do {
                addresses = try await simulator.started
            } catch {
                throw CommandError.listening(on: ports, setBy: options, error)
            }
            try SimulatorFiles(
                example: example, listen: backendAddress ?? "127.0.0.1:8080", app: app, startGrace: startGrace,
                host: urlHost
            ).write(addresses, into: folder)
            Output.line(
                JSONValue.object([
                    "apns": .string("https://\(urlHost):\(addresses.ports[.sandbox] ?? 0)"),
                    "channels": .string("https://\(urlHost):\(addresses.managementPorts[.sandbox] ?? 0)"),
                    "control": .string("http://\(urlHost):\(addresses.controlPort ?? 0)"),
                    "directory": .string(folder.path),
                ]).text)
            try await group.waitForAll()
        }
    }
}
