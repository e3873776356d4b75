import APNSClient
import APNSModel
import ArgumentParser
import LiveActivityDelivery
import LiveActivityServer
import LiveActivityStorage
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
        let faultPoints = try FaultInjection.points()
        let store = try SQLiteStore(path: settings.databasePath, faultPoints: faultPoints)
        defer { store.close() }
        let client = try APNSClient(routes: settings.routes, options: settings.connections, logger: logger)
        let time = APNSClient.liveTime
        let registry = MetricsRegistry()
        let dice: @Sendable () -> UInt64 = { .random(in: 0 ... .max) }
        let dispatcher = Dispatcher(
            store: store, sender: client, apps: settings.apps, time: time, node: Int64(bitPattern: dice()), dice: dice,
            faultPoints: faultPoints, metrics: DeliveryMetrics(factory: registry), logger: logger)
        var serving = LiveActivityServer.Configuration(apps: settings.apps)
        serving.host = settings.host
        serving.port = settings.port
        serving.delivery = DeliverySources(
            routes: { dispatcher.troubledRoutes },
            connections: { ConnectionReading.readings(of: client, settings.routes) })
        if settings.metrics {
            serving.metrics = MetricsSources(
                registry: registry, version: Islet.version, startedAt: time.wall()
            ) { ConnectionReading.readings(of: client, settings.routes) }
        }
        let server = LiveActivityServer(configuration: serving, store: store, time: time, dice: dice, logger: logger) {
            Output.line("islet listening on \($0)")
        }
        let cleanUp = CleanUp(store: store, apps: settings.apps, limits: settings.keep, logger: logger)
        let pruner = Pruner(time: time, logger: logger) { now throws(StorageError) in try await cleanUp.page(at: now) }
        // Stopped from the last to the first: no more requests, then no more claims, then no more connections.
        let services: [any Service] = [CancellableService(run: client.run), dispatcher, pruner, server]
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
