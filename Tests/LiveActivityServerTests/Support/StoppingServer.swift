import LiveActivityServer
import ServiceLifecycle
import Testing

/// A server whose stopping the test decides.
func withStoppingServer(
    limits: LiveActivityServer.Limits = .unhurried, certificates: Certificates? = nil,
    _ body:
        @escaping @Sendable (
            Fixture, LiveActivityServer.Address, _ stop: @escaping @Sendable () async -> Void
        ) async throws -> Void
) async throws {
    try await withServer { fixture in
        let (addresses, found) = AsyncStream.makeStream(of: LiveActivityServer.Address.self)
        var configuration = LiveActivityServer.Configuration(apps: [pizza])
        configuration.port = 0
        configuration.limits = limits
        configuration.certificates = certificates
        let server = LiveActivityServer(
            configuration: configuration, store: fixture.store, time: fixture.clock.source, dice: { 1 },
            logger: quiet, onListening: { found.yield($0) })
        let group = ServiceGroup(configuration: .init(services: [server, server.relay], logger: quiet))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            let address = try #require(await addresses.first { _ in true })
            try await body(fixture, address) { await group.triggerGracefulShutdown() }
            try await tasks.waitForAll()
        }
    }
}
