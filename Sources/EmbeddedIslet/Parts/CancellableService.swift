import ServiceLifecycle

/// A service around work that runs until its task is canceled. A graceful shutdown cancels it.
package struct CancellableService: Service {
    private let body: @Sendable () async throws -> Void

    package init(run body: @escaping @Sendable () async throws -> Void) {
        self.body = body
    }

    package func run() async throws {
        try await cancelWhenGracefulShutdown { try await body() }
    }
}
