import APNSModel
import Foundation
import JSONText
import Synchronization

/// A simulator and a server as separate processes on the loopback interface, with clients for both.
final class DemoStage: Sendable {
    let directory: URL
    let simulator: ChildProcess
    let control: JSONCaller
    let islet: JSONCaller
    let isletAddress: String
    let key: String
    private let executable: URL
    private let surroundings: Surroundings
    /// Running server. A crash replaces it by another.
    private let server: Mutex<ChildProcess>

    /// Bundle ID of the order app, which tests and measurements use too.
    static let bundleID = OrderPlay.app.bundleID
    /// App of this stage.
    private let app: ExampleApp
    private static let startLimit = Duration.seconds(20)

    /// Environment of a server that differs from this process's own.
    struct Surroundings: Sendable {
        /// Start of the server's command line: a command that runs the command given as its arguments.
        var command: [String] = []
        var environment: [String: String] = [:]
    }

    /// Starts both processes in a directory. If one fails, neither keeps running.
    init(
        directory: URL, startGrace: String, executable: URL, play: any Play = OrderPlay(),
        surroundings: Surroundings = Surroundings()
    ) async throws {
        let system = type(of: play)
        app = system.app
        self.directory = directory
        self.executable = executable
        self.surroundings = surroundings
        let port = try Self.freePort()
        isletAddress = "http://127.0.0.1:\(port)"
        let keyFile = directory.appendingPathComponent("api-key")
        let simulator = try ChildProcess(
            "simulator", executable: executable,
            arguments: [
                "simulate", "--port", "0", "--control-port", "0", "--directory", directory.path, "--backend",
                isletAddress, "--backend-key-file", keyFile.path, "--system", system.name, "--start-grace", startGrace,
            ], log: directory.appendingPathComponent("simulator.log"))
        self.simulator = simulator
        do {
            let ports = try JSONValue(parsing: try await simulator.firstLine(within: Self.startLimit)).object ?? [:]
            let key = try await Self.makeKey(executable, directory, app: app.bundleID, keyFile, surroundings)
            control = JSONCaller(ports["control"]?.string ?? "")
            self.key = key
            islet = JSONCaller(isletAddress) { key }
            try await play.prepare(in: directory)
            server = Mutex(try await Self.startServer(executable, directory, surroundings, within: Self.startLimit))
        } catch {
            await simulator.stop()
            throw error
        }
    }

    private static func makeKey(
        _ executable: URL, _ directory: URL, app: String, _ file: URL, _ surroundings: Surroundings
    ) async throws -> String {
        let config = directory.appendingPathComponent("islet.yaml").path
        let command = surroundings.starting(
            executable, ["keys", "create", "--config", config, "--app", app, "--scope", "backend"])
        let maker = try ChildProcess(
            "key maker", executable: command.executable, arguments: command.arguments,
            environment: surroundings.environment, log: directory.appendingPathComponent("keys.log"))
        let key = try await maker.firstLine(within: Self.startLimit)
        guard try await maker.exitCode(within: Self.startLimit) == 0 else { throw DemoFailure("no key was made") }
        guard
            FileManager.default.createFile(
                atPath: file.path, contents: Data(key.utf8), attributes: [.posixPermissions: 0o600])
        else { throw DemoFailure("the key could not be written to \(file.path)") }
        return key
    }

    private static func startServer(
        _ executable: URL, _ directory: URL, _ surroundings: Surroundings, _ environment: [String: String] = [:],
        within limit: Duration
    ) async throws -> ChildProcess {
        let command = surroundings.starting(
            executable, ["serve", "--config", directory.appendingPathComponent("islet.yaml").path])
        let server = try ChildProcess(
            "server", executable: command.executable, arguments: command.arguments,
            environment: surroundings.environment.merging(environment) { $1 },
            log: directory.appendingPathComponent("server.log"))
        try await server.isUp(within: limit)
        return server
    }

    /// Kills the server without cleanup, unless it is already dead, and starts it again on the same database.
    ///
    /// - Parameter environment: Additional environment variables of the new server.
    func crashServer(environment: [String: String] = [:]) async throws {
        try await killServer()
        try await startServer(environment, within: Self.startLimit)
    }

    /// Kills the server without cleanup.
    func killServer() async throws {
        let old = server.withLock(\.self)
        old.kill()
        _ = try await old.exitCode(within: Self.startLimit)
    }

    var isServerRunning: Bool { server.withLock(\.self).isRunning }

    /// Stops the server gracefully.
    func stopServer() async {
        await server.withLock(\.self).stop()
    }

    /// Starts another server on the same database.
    func startServer(_ environment: [String: String] = [:], within limit: Duration) async throws {
        let new = try await Self.startServer(executable, directory, surroundings, environment, within: limit)
        server.withLock { $0 = new }
    }

    /// Process id of the running server.
    var serverProcess: Int32 { server.withLock(\.identifier) }

    func close() async {
        await server.withLock(\.self).stop()
        await simulator.stop()
    }

    /// Starts another server on the same configuration, with variables of its own.
    func startNode(_ name: String, _ environment: [String: String]) async throws -> ChildProcess {
        let command = surroundings.starting(
            executable, ["serve", "--config", directory.appendingPathComponent("islet.yaml").path])
        let node = try ChildProcess(
            name, executable: command.executable, arguments: command.arguments,
            environment: surroundings.environment.merging(environment) { $1 },
            log: directory.appendingPathComponent("\(name).log"))
        try await node.isUp(within: Self.startLimit)
        return node
    }

    /// Returns a port that is free, that this process has not had before, and that the system does not assign to
    /// outgoing connections.
    ///
    /// The system assigns ports from 32768, RFC 6335 section 6 from 49152. A server that restarts therefore finds its
    /// port free.
    static func freePort() throws -> UInt16 {
        for _ in 1...100 {
            let port = UInt16.random(in: 15_000..<32_000)
            // One that was returned before may be about to be used.
            if isFree(port), drawnPorts.withLock({ $0.insert(port).inserted }) { return port }
        }
        throw DemoFailure("no port is free on the loopback")
    }

    private static let drawnPorts = Mutex<Set<UInt16>>([])

    private static func isFree(_ port: UInt16) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { _ = Foundation.close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = port.bigEndian
        return withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    // MARK: - Phones

    /// Creates a phone through the control API.
    func addPhone(_ id: String, _ more: JSONObject = [:]) async throws {
        var body: JSONObject = [
            "id": .string(id), "user": .string(id), "bundleID": .string(app.bundleID),
            "activityTypes": .array(app.swiftNames.map(JSONValue.string)),
        ]
        for (name, value) in more { body[name] = value }
        try await control.call(.POST, "/v1/phones", .object(body))
    }

    @discardableResult
    func act(_ action: String, on phone: String, _ more: JSONObject = [:]) async throws -> JSONValue {
        var body: JSONObject = ["action": .string(action)]
        for (name, value) in more { body[name] = value }
        return try await control.call(.POST, "/v1/phones/\(phone)/actions", .object(body))
    }

    func lockScreen(of phone: String) async throws -> JSONObject {
        try await control.call(.GET, "/v1/phones/\(phone)").object?["lockScreen"]?.object ?? [:]
    }

    /// Returns the cards that run, or have ended and are still visible.
    func cards(on phone: String) async throws -> [JSONObject] {
        try await lockScreen(of: phone)["cards"]?.array?.compactMap(\.object) ?? []
    }

    /// Returns `true` if all reports of a phone have reached the server.
    func hasReported(_ phone: String) async throws -> Bool {
        try await lockScreen(of: phone)["waitingReports"]?.int == 0
    }
}

extension DemoStage.Surroundings {
    func starting(_ executable: URL, _ arguments: [String]) -> (executable: URL, arguments: [String]) {
        guard let first = command.first else { return (executable, arguments) }
        return (URL(fileURLWithPath: first), command.dropFirst() + [executable.path] + arguments)
    }
}
