import LiveActivityServer
import ServiceLifecycle
import Testing

/// Runs a server on a port of its own, with the rows of a fixture. It stops when the body has ended.
func withListeningServer(
    limits: LiveActivityServer.Limits = .unhurried, certificates: Certificates? = nil,
    _ body: @escaping @Sendable (Fixture, LiveActivityServer.Address) async throws -> Void
) async throws {
    try await withStoppingServer(limits: limits, certificates: certificates) { fixture, address, stop in
        try await body(fixture, address)
        await stop()
    }
}

/// Runs a server like `withListeningServer` that the body stops.
func withStoppingServer(
    limits: LiveActivityServer.Limits = .unhurried, certificates: Certificates? = nil,
    configure: @escaping @Sendable (inout LiveActivityServer.Configuration) -> Void = { _ in },
    _ body:
        @escaping @Sendable (
            Fixture, LiveActivityServer.Address, _ stop: @escaping @Sendable () async -> Void
        ) async throws -> Void
) async throws {
    try await withServer(limits: limits) { fixture in
        let (addresses, found) = AsyncStream.makeStream(of: LiveActivityServer.Address.self)
        var configuration = LiveActivityServer.Configuration(apps: [pizza])
        configuration.port = 0
        configuration.limits = limits
        configuration.certificates = certificates
        configuration.metrics = MetricsSources(
            registry: MetricsRegistry(), version: "1", startedAt: fixture.clock.now)
        configure(&configuration)
        let server = LiveActivityServer(
            configuration: configuration, store: fixture.store, time: fixture.clock.source, dice: { 1 },
            logger: quiet, onListening: { found.yield($0) })
        let group = ServiceGroup(configuration: .init(services: [server, server.relay], logger: quiet))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            let address = try #require(await addresses.first { _ in true })
            let listening = Fixture(
                server: server, store: fixture.store, clock: fixture.clock, client: fixture.client, keys: fixture.keys,
                revoked: fixture.revoked, otherApp: fixture.otherApp)
            try await body(listening, address) { await group.triggerGracefulShutdown() }
            try await tasks.waitForAll()
        }
    }
}
