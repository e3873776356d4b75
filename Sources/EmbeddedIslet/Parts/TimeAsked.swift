import APNSClient
import APNSModel
import JSONText
import LiveActivityDelivery
import ServiceLifecycle

/// A service that runs other services after APNs has said the time.
///
/// On a machine with a wrong clock, even the first pushes must not carry its time. A phone ignores a start from the
/// past, so that start would be wasted.
struct TimeAsked: Service {
    private let services: [any Service]
    private let question: TimeQuestion
    private let first: @Sendable () async -> Void
    private let isNeeded: @Sendable () -> Bool

    /// Creates a service around others.
    ///
    /// - Parameters:
    ///   - services: Services that wait for the answer.
    ///   - isNeeded: Returns `false` if the time is known already, from a configuration before.
    ///   - first: Work that runs first and does not wait for the answer.
    init(
        before services: [any Service], _ question: TimeQuestion, isNeeded: @escaping @Sendable () -> Bool,
        first: @escaping @Sendable () async -> Void
    ) {
        self.services = services
        self.question = question
        self.first = first
        self.isNeeded = isNeeded
    }

    func run() async throws {
        await first()
        if isNeeded() { await question.ask() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for service in services { group.addTask { try await service.run() } }
            try await group.waitForAll()
        }
    }
}

/// Asks APNs for the time with a push that reaches nobody: a token of zeros, low priority, no storage.
///
/// APNs refuses the push, and its answer carries the date. Without an answer within 5 seconds, the server uses the
/// clocks it has.
struct TimeQuestion: Sendable {
    private static let limit = Duration.seconds(5)
    private static let nobody = String(repeating: "0", count: 64)

    private let client: APNSClient
    private let route: APNSClient.Route?
    private let time: TimeSource
    private let dice: @Sendable () -> UInt64

    /// Creates a question.
    ///
    /// - Parameter route: Route to ask on. With `nil`, ``ask()`` does nothing.
    init(
        to client: APNSClient, _ route: APNSClient.Route?, _ time: TimeSource, _ dice: @escaping @Sendable () -> UInt64
    ) {
        self.client = client
        self.route = route
        self.time = time
        self.dice = dice
    }

    /// `true` if there is a route to ask on.
    var isPossible: Bool { route != nil }

    /// Returns when APNs has answered or after 5 seconds, and at once during a graceful shutdown.
    func ask() async {
        guard let route, let push = push(to: route) else { return }
        let (answered, answer) = AsyncStream.makeStream(of: Void.self)
        // `APNSClient.Options.dateReceived` receives the date of the answer.
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
