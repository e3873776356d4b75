import APNSClient
import APNSModel
import JSONText
import LiveActivityDelivery
import ServiceLifecycle

/// Runs services once APNs has said what time it is, so that not even the first pushes of a machine whose clock is
/// wrong carry its time: a start from the past shows nothing and would be spent.
struct TimeAsked: Service {
    private let services: [any Service]
    private let question: TimeQuestion
    private let first: @Sendable () async -> Void

    /// - Parameter first: What does not wait for the answer.
    init(
        before services: [any Service], _ question: TimeQuestion, first: @escaping @Sendable () async -> Void
    ) {
        self.services = services
        self.question = question
        self.first = first
    }

    func run() async throws {
        await first()
        await question.ask()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for service in services { group.addTask { try await service.run() } }
            try await group.waitForAll()
        }
    }
}

/// Asks APNs what time it is, by a push that nobody can get (a token of zeros, not kept, of low priority): APNs says
/// the time with its refusal. Without an answer the clocks at hand have to do.
struct TimeQuestion: Sendable {
    private static let limit = Duration.seconds(5)
    private static let nobody = String(repeating: "0", count: 64)

    private let client: APNSClient
    private let route: APNSClient.Route?
    private let time: TimeSource
    private let dice: @Sendable () -> UInt64

    /// - Parameter route: `nil` asks nothing.
    init(
        to client: APNSClient, _ route: APNSClient.Route?, _ time: TimeSource, _ dice: @escaping @Sendable () -> UInt64
    ) {
        self.client = client
        self.route = route
        self.time = time
        self.dice = dice
    }

    /// There is somebody to ask.
    var isPossible: Bool { route != nil }

    /// Returns when there is an answer, or its time is over; at once when the process is to stop.
    func ask() async {
        guard let route, let push = push(to: route) else { return }
        let (answered, answer) = AsyncStream.makeStream(of: Void.self)
        // What comes of it is heard by `APNSClient.Options.dateReceived`.
        client.submit([push]) { _, _ in answer.finish() }
        await withGracefulShutdownHandler {
            for await _ in answered {}
        } onGracefulShutdown: {
            answer.finish()
        }
    }

    private func push(to route: APNSClient.Route) -> Push? {
        guard let token = try? UpdateToken(hex: Self.nobody),
            let payload = try? UpdatePayload(timestamp: time.wall(), contentState: EncodedObject([:]))
        else { return nil }
        let request = PushRequest.update(
            payload, to: token,
            PushRequest.Envelope(
                bundleID: route.bundleID, environment: route.environment, priority: .low, expiration: .once,
                id: PushID(random: dice(), dice())))
        let end = time.monotonic() + Self.limit
        return Push(request, sendBefore: end, answerBy: end)
    }
}
