import ServiceLifecycle

/// What runs until its task is cancelled, as a service: a graceful stop cancels it.
package struct CancellableService: Service {
    private let body: @Sendable () async throws -> Void

    package init(run body: @escaping @Sendable () async throws -> Void) {
        self.body = body
    }

    package func run() async throws {
        try await cancelWhenGracefulShutdown { try await body() }
    }
}
