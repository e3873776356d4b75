import APNSClient
import LiveActivityCore
package import LiveActivityServer
import Logging
package import ServiceLifecycle
import StorageSQL
import Synchronization
package import UnixSignals

// Running a server, and changing its configuration meanwhile.
extension IsletServer {
    /// Serves as the main service of a process. The given signals stop it.
    ///
    /// SIGHUP reloads the certificates, and the configuration if there is a reload.
    package func run(
        signals: [UnixSignal], reload: Reload? = nil, onListening: @escaping @Sendable (String) -> Void
    ) async throws {
        defer {
            listening.end()
            store.close()
        }
        let listening = listening
        var services = services { address in
            listening.begin(address.description)
            onListening(address.description)
        }
        let parts = parts
        // Only a program of its own traps SIGHUP: in another process, the signals belong to that process.
        if !signals.isEmpty {
            services.append(
                HangUps(
                    watch: parts.certificateWatch, logger: parts.logger, reload: reload, parts: { self.parts },
                    change: change, note: note))
        }
        services.append(LossWatch(losses: store.database.losses))
        let group = ServiceGroup(
            configuration: .init(
                services: services.map { .init(service: $0) }, gracefulShutdownSignals: signals,
                logger: parts.logger))
        try await group.run()
    }

    /// Returns the services in the order in which they start.
    ///
    /// They stop in reverse order: first no more requests, then no more claims, then no more connections.
    package func services(
        onListening: @escaping @Sendable (LiveActivityServer.Address) async -> Void
    ) -> [any Service] {
        let parts = parts
        let listeners = NodeListeners(
            parts.listening, servesMetrics: parts.metrics, desk: desk, time: parts.time, logger: parts.logger,
            onListening: onListening)
        note(isRefused: false)
        var services: [any Service] = parts.companions + [delivery, api]
        if let watch = parts.certificateWatch { services.append(watch) }
        // Streams must end first, because the listeners wait for them when they stop.
        return services + listeners.all + [memory.relay(store, parts.limits, parts.logger), memory.livePages]
    }

    /// Serves at the desk until the first element comes, or as ``run()`` does.
    func run(until stop: AsyncStream<Void>) async throws {
        defer {
            // A change that comes now must not seat answers of a closed database.
            isOver.withLock { $0 = true }
            desk.vacate()
            store.close()
        }
        let parts = parts
        // Calls are answered while the server that stops finishes its pushes.
        let services: [any Service] = [
            api, memory.relay(store, parts.limits, parts.logger), delivery, memory.livePages,
        ]
        let group = ServiceGroup(
            configuration: .init(services: services.map { .init(service: $0) }, logger: parts.logger))
        async let _: Void = {
            for await _ in stop { return await group.triggerGracefulShutdown() }
        }()
        try await group.run()
    }

    /// Goes on with a changed configuration.
    ///
    /// Calls are answered by it at once, on the connections that are open; open event streams stay. Delivery goes on
    /// when the pushes on their way are settled. Then the method returns.
    ///
    /// - Throws: `APNSClientError` for an invalid route. Then nothing has changed.
    func change(to parts: ServerParts) async throws {
        await changes.acquire()
        defer { changes.release() }
        let client = try parts.makeClient()
        let next = parts.generation(store, client, desk: desk, memory: memory, registry: registry)
        let isSeated = isOver.withLock { isOver in
            if !isOver { next.server.takeSeat() }
            return !isOver
        }
        guard isSeated else { return }
        current.withLock { $0 = parts }
        await api.replace(by: next.api)
        await delivery.replace(by: next.delivery)
        registry.forget(.channelsInUse)
    }

    /// Shows in the metrics whether the last configuration was refused.
    func note(isRefused: Bool) { registry.note(configurationIsRefused: isRefused) }
}
