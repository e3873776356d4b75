package import APNSClient
package import APNSModel
package import LiveActivityCore
package import LiveActivityDelivery
package import LiveActivityProviders
package import LiveActivityServer
package import LiveActivityStorage
package import Logging
package import ServiceLifecycle
package import StorageSQLite

/// What a server consists of, and how its parts are connected: the same for `islet serve` and for who embeds it.
package struct ServerParts: Sendable {
    /// A backend that computes a type's states.
    package struct Backend: Sendable {
        package var app: BundleID
        package var type: String
        package var target: HTTPProvider.Target

        package init(app: BundleID, type: String, target: HTTPProvider.Target) {
            self.app = app
            self.type = type
            self.target = target
        }
    }

    package var apps: [AppSettings]
    package var routes: [APNSClient.Route]
    package var host = "127.0.0.1"
    package var port = 8080
    /// `GET /metrics` answers.
    package var metrics = true
    package var version: String
    /// The pool of connections to APNs.
    package var connections = APNSClient.Options()
    /// How long what is over is kept.
    package var keep = PruneLimits()
    package var backends: [Backend] = []
    package var providers: [RefreshService.Provider] = []
    package var refreshes = RefreshService.Limits()
    package var delivery = Dispatcher.Limits()
    package var zones: any ZoneSource = ZoneDirectory()
    package var time = APNSClient.liveTime
    package var faultPoints = FaultPoints()
    package var logger: Logger

    package init(apps: [AppSettings], routes: [APNSClient.Route], version: String, logger: Logger) {
        self.apps = apps
        self.routes = routes
        self.version = version
        self.logger = logger
    }

    /// The services in the order in which they start, which is that of stopping from the last to the first: no more
    /// requests, then no more claims, then no more connections.
    package func services(
        _ store: SQLiteStore, _ client: APNSClient,
        onListening: @escaping @Sendable (LiveActivityServer.Address) async -> Void
    ) -> [any Service] {
        let dice: @Sendable () -> UInt64 = { .random(in: 0 ... .max) }
        let registry = MetricsRegistry()
        let node = Int64(bitPattern: dice())
        let dispatcher = Dispatcher(
            store: store, sender: client, apps: apps, time: time, node: node, dice: dice, limits: delivery,
            faultPoints: faultPoints, metrics: DeliveryMetrics(factory: registry), logger: logger)
        var serving = LiveActivityServer.Configuration(apps: apps)
        serving.host = host
        serving.port = port
        let routes = routes
        serving.delivery = DeliverySources(
            routes: { dispatcher.troubledRoutes }, connections: { ConnectionReading.readings(of: client, routes) })
        if metrics {
            serving.metrics = MetricsSources(registry: registry, version: version, startedAt: time.wall()) {
                ConnectionReading.readings(of: client, routes)
            }
        }
        let server = LiveActivityServer(
            configuration: serving, store: store, time: time, dice: dice, logger: logger, onListening: onListening)
        let cleanUp = CleanUp(store: store, apps: apps, limits: keep, logger: logger)
        let pruner = Pruner(time: time, logger: logger) { now throws(StorageError) in try await cleanUp.page(at: now) }
        var services: [any Service] = [CancellableService(run: client.run)]
        var all = providers
        if !backends.isEmpty {
            let connections = ProviderConnections()
            services.append(connections)
            all += asked(connections)
        }
        services += [dispatcher, pruner]
        if !all.isEmpty {
            services.append(
                RefreshService(
                    store: store, providers: all, zones: zones, time: time, node: node, dice: dice,
                    limits: refreshes, metrics: RefreshMetrics(factory: registry), logger: logger))
        }
        return services + [server]
    }

    private func asked(_ connections: ProviderConnections) -> [RefreshService.Provider] {
        backends.compactMap { backend in
            guard let type = apps.first(where: { $0.bundleID == backend.app })?.types[backend.type],
                let provider = HTTPProvider(backend.target, connections)
            else { return nil }
            return RefreshService.Provider(
                app: backend.app, type: type, deadline: backend.target.timeout, ask: provider.answer)
        }
    }
}
