import APNSClient
import APNSModel
import ArgumentParser
import LiveActivityDelivery
import LiveActivityServer
import Logging
import ServiceLifecycle
import StorageSQLite
import UnixSignals

/// `islet serve`: the server.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs the server: the HTTP API, and delivery through APNs.",
        discussion: """
            Prints the address it listens on. SIGTERM and SIGINT stop it gracefully: open requests are answered, \
            pushes on their way are settled. A kill loses nothing that was answered.
            Log level: ISLET_LOG_LEVEL (trace, debug, info, notice, warning, error).
            """)

    @OptionGroup var file: ConfigurationOption

    func run() async throws {
        let settings = try file.settings()
        let logger = Output.logger("islet")
        let store = try SQLiteStore(path: settings.databasePath)
        defer { store.close() }
        let client = try APNSClient(routes: settings.routes, logger: logger)
        let time = APNSClient.liveTime
        let dice: @Sendable () -> UInt64 = { .random(in: 0 ... .max) }
        let dispatcher = Dispatcher(
            store: store, sender: client, apps: settings.apps, time: time, node: Int64(bitPattern: dice()), dice: dice,
            logger: logger)
        var serving = LiveActivityServer.Configuration(apps: settings.apps)
        serving.host = settings.host
        serving.port = settings.port
        let server = LiveActivityServer(configuration: serving, store: store, time: time, dice: dice, logger: logger) {
            Output.line("islet listening on \($0)")
        }
        // Stopped from the last to the first: no more requests, then no more claims, then no more connections.
        let services: [any Service] = [CancellableService(run: client.run), dispatcher, server]
        let group = ServiceGroup(
            configuration: .init(
                services: services.map { .init(service: $0) }, gracefulShutdownSignals: [.sigterm, .sigint],
                logger: logger))
        do {
            try await group.run()
        } catch {
            let host = settings.host.contains(":") ? "[\(settings.host)]" : settings.host
            throw CommandError.listening(on: "\(host):\(settings.port)", setBy: "`listen`", error)
        }
    }
}
