import ServiceLifecycle

/// What runs until its task is cancelled, as a service: a graceful stop cancels it.
struct CancellableService: Service {
    private let body: @Sendable () async throws -> Void

    init(run body: @escaping @Sendable () async throws -> Void) {
        self.body = body
    }

    func run() async throws {
        try await cancelWhenGracefulShutdown { try await body() }
    }
}
