import APNSModel
import APNSSimulator
import EmbeddedIslet
import Foundation
import JSONText
import LiveActivityServer
import LiveActivityStorage
import Logging
import NIOHTTP1
import OutboundHTTP
import ServiceLifecycle
import StorageSQL
import StorageSQLite

/// A simulator in this process, with phones of an example app, and the configuration of a server that uses it.
struct DeveloperStage {
    let folder: URL
    let example: ExampleApp
    /// Address `host:port` that the server will listen on.
    let listen: String

    private static let answerBytes = 16 << 20
    private static let timeLimit = Duration.seconds(10)

    /// Runs the simulator, and runs the body once the simulator listens. Ends when either ends.
    func run(_ body: @escaping @Sendable (Settings, SimulatorControl, String) async throws -> Void) async throws {
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let key = try SimulatorFiles.key(in: folder)
        var configuration = APNSSimulator.Configuration()
        configuration.ports = [.sandbox: 0]
        configuration.controlPort = 0
        configuration.keys = [key]
        configuration.activityTypes = example.types.map(\.onPhones)
        let keyFile = folder.appendingPathComponent("api-key").path
        let backend = HTTPPhoneBackend(
            islet: JSONCaller("http://\(listen)") {
                FileManager.default.contents(atPath: keyFile).map { String(decoding: $0, as: UTF8.self) }
            })
        let simulator = try APNSSimulator(configuration, backend: backend, logger: try Output.logger("apns-simulator"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await simulator.run() }
            let addresses = try await simulator.started
            try SimulatorFiles(example: example, listen: listen, startGrace: "2s")
                .write(addresses, into: folder)
            // Variables are for another server: with its storage, this one would serve that server's database.
            let settings = try ConfigurationLoader.load(
                folder.appendingPathComponent("islet.yaml").path, environment: [:])
            let apiKey = try await makeKey(settings, keyFile)
            let control = "http://\(addresses.host):\(addresses.controlPort ?? 0)"
            try await addPhones(JSONCaller(control))
            group.addTask { try await body(settings, Self.control(control), apiKey) }
            // One of them ends first, by a signal or a fault. The other must end too.
            _ = try await group.next()
            group.cancelAll()
        }
    }

    /// Creates the API key for the phones and for the person at the console.
    private func makeKey(_ settings: Settings, _ file: String) async throws -> String {
        guard let app = BundleID(example.bundleID) else { throw CommandError("\(example.bundleID) is no bundle id") }
        let store = try settings.database.open(for: .serving, tokenKeys: settings.tokenKeys)
        defer { store.close() }
        let now = UnixTime(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
        let (key, _) = try await Keys.make(app: app, scope: .backend, name: nil, in: store, at: now)
        guard
            FileManager.default.createFile(
                atPath: file, contents: Data(key.text.utf8), attributes: [.posixPermissions: 0o600])
        else { throw CommandError("\(file) cannot be written") }
        return key.text
    }

    private func addPhones(_ control: JSONCaller) async throws {
        for (name, more) in [("ada", ["appState": "foreground"]), ("bob", [:])] as [(String, JSONObject)] {
            var body: JSONObject = [
                "id": .string(name), "user": .string(name), "bundleID": .string(example.bundleID),
                "activityTypes": .array(example.swiftNames.map(JSONValue.string)),
            ]
            for (member, value) in more { body[member] = value }
            try await control.call(.POST, "/v1/phones", .object(body))
        }
    }

    private static func control(_ base: String) -> SimulatorControl {
        let client = OutboundClient()
        return SimulatorControl { method, path, body in
            guard let url = OutboundURL(base + path) else { throw CommandError("\(base) is no URL of a simulator") }
            let headers: HTTPHeaders = body.isEmpty ? [:] : ["content-type": "application/json"]
            let answer = try await client.call(
                OutboundRequest(
                    HTTPMethod(rawValue: method), url, headers, body: body.isEmpty ? nil : body, timeout: timeLimit,
                    maximumAnswerBytes: answerBytes))
            guard !answer.isCut else { throw OutboundError.tooLong(answerBytes) }
            return (answer.status, answer.headers.first(name: "content-type") ?? "application/json", answer.body)
        }
    }
}
