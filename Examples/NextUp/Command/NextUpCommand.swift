import APNSClient
import APNSModel
import ArgumentParser
import EmbeddedIslet
import Foundation
import Hummingbird
import Logging
import NextUp
import ServiceLifecycle
import UnixSignals

/// Islet inside a backend: one process with the HTTP API for phones, the delivery, and the backend's own calls.
@main
struct NextUpCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "next-up",
        abstract: "Shows each person what is next today: a backend with Islet inside.",
        discussion: "Prints an API key of the scope `device`, for the app to report with, and both addresses.")

    @Option(help: "The .p8 file of the developer portal.") var keyFile: String
    @Option(help: "The key's id.") var keyID: String
    @Option(help: "The team's id.") var teamID: String
    @Option(help: "The app's bundle id.") var bundleID = "com.example.nextup"
    @Option(help: "Something that behaves like APNs: https://host:port.") var endpoint: String?
    @Option(help: "The certificates in PEM form that the endpoint's must lead to.") var trustRoots: String?
    @Option(help: "Where Islet's HTTP API listens on the loopback; 0 takes a free port.") var port = 8080
    @Option(help: "Where goals and check-ins are taken on the loopback.") var backendPort = 8090
    @Option(help: "The directory of database and goals.") var directory = "."

    func run() async throws {
        guard let app = BundleID(bundleID) else { throw ValidationError("`\(bundleID)` is no bundle id") }
        let folder = URL(fileURLWithPath: directory)
        let book = try GoalBook(file: folder.appendingPathComponent("goals.json"))
        let server = try IsletServer(configuration(app, folder), providers: ["NextUp": NextUpProvider(book)])
        print("key \(try await server.makeKey(for: app, scope: .device))")
        let backend = NextUpBackend(book) { people in
            for person in people {
                // A failed refresh is repeated at the next midnight or change.
                do { try await server.refresh(person, of: app) } catch { Self.log.error("no refresh: \(error)") }
            }
        }
        let calls = Application(
            router: backend.router(), configuration: .init(address: .hostname("127.0.0.1", port: backendPort)),
            logger: Self.log)
        let group = ServiceGroup(
            services: [server, calls], gracefulShutdownSignals: [.sigterm, .sigint], logger: Self.log)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            if let address = await server.address {
                print("islet listening on \(address), goals and check-ins on http://127.0.0.1:\(backendPort)")
            }
            try await tasks.waitForAll()
        }
    }

    private static let log: Logger = {
        var log = Logger(label: "next-up")
        log.logLevel = .warning
        return log
    }()

    private func configuration(_ app: BundleID, _ folder: URL) throws -> IsletServer.Configuration {
        let key = try ProviderKey(
            keyID: keyID, teamID: teamID, p8: String(contentsOfFile: keyFile, encoding: .utf8))
        let route = APNSClient.Route(
            bundleID: app, environment: .sandbox, key: key, endpoint: try endpoint.map { try .init($0) },
            trustRoots: trustRoots.map { .file($0) } ?? .system)
        var kind = IsletServer.Kind(
            "NextUp", attributesType: "NextUpAttributes",
            startAlert: PushAlert(title: .text("Next up"), body: .text("Your focus for today")))
        kind.restart = .never
        var configuration = IsletServer.Configuration(apps: [app: [kind]], routes: [route])
        configuration.port = port
        configuration.database = folder.appendingPathComponent("next-up.db").path
        return configuration
    }
}
