import LiveActivityServer
import Logging
import ServiceLifecycle

/// The services of one configuration of a server.
struct Generation: Sendable {
    let server: LiveActivityServer
    /// The services that the HTTP API needs, the API itself among them.
    let api: ServiceGroup
    /// The services that deliver. Those of two generations must not run at the same time.
    let delivery: ServiceGroup

    /// - Parameter delivery: Services in the order in which they start. They stop in reverse order: first no more
    ///   claims, then no more connections.
    init(server: LiveActivityServer, delivery: [any Service], logger: Logger) {
        func group(_ services: [any Service]) -> ServiceGroup {
            ServiceGroup(configuration: .init(services: services.map { .init(service: $0) }, logger: logger))
        }
        self.server = server
        api = group([server.upkeep, server, server.sampler, server.alertWatch])
        self.delivery = group(delivery)
    }
}

/// A service that runs one group of services after another. The next one starts when the one before has stopped.
struct Succession: Service {
    /// A group, and what is called when it starts.
    struct Step: Sendable {
        let services: ServiceGroup
        let onStart: @Sendable () -> Void
    }

    let first: ServiceGroup
    private let steps: AsyncStream<Step>
    private let step: AsyncStream<Step>.Continuation

    init(_ first: ServiceGroup) {
        self.first = first
        (steps, step) = AsyncStream.makeStream(of: Step.self)
    }

    private enum Event: Sendable {
        case came(Step)
        case ended
        case noneComes
    }

    /// Replaces the group that runs. Returns when the next one starts, or when nothing runs any more.
    func replace(by services: ServiceGroup) async {
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        guard case .enqueued = step.yield(Step(services: services) { start.finish() }) else { return }
        for await _ in started {}
    }

    func run() async throws {
        defer { step.finish() }
        try await runEach()
        step.finish()
        // Came too late: nobody starts it any more.
        for await step in steps { step.onStart() }
    }

    private func runEach() async throws {
        try await withThrowingTaskGroup(of: Event.self) { group in
            func run(_ services: ServiceGroup) {
                group.addTask {
                    try await services.run()
                    return .ended
                }
            }
            func listen() {
                group.addTask {
                    for await step in steps { return .came(step) }
                    return .noneComes
                }
            }
            var (current, coming) = (first, Step?.none)
            run(first)
            listen()
            while let event = try await group.next() {
                switch event {
                case .came(let step):
                    coming = step
                    await current.triggerGracefulShutdown()
                case .ended:
                    guard let step = coming else {
                        group.cancelAll()
                        break
                    }
                    (current, coming) = (step.services, nil)
                    run(current)
                    step.onStart()
                    listen()
                case .noneComes: break
                }
            }
        }
    }
}
