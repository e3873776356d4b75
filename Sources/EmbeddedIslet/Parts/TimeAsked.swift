import APNSClient
import APNSModel
import JSONText
import LiveActivityDelivery
import ServiceLifecycle

/// Runs the dispatcher once APNs has said what time it is, so that not even the first pushes of a machine whose clock
/// is wrong carry its time: a start from the past shows nothing and would be spent.
///
/// It asks by a push that nobody can get (a token of zeros, not kept, of low priority): APNs says the time with its
/// refusal. Without an answer the machine's clock has to do.
struct TimeAsked: Service {
    private static let limit = Duration.milliseconds(1500)
    private static let nobody = String(repeating: "0", count: 64)

    private let dispatcher: Dispatcher
    private let client: APNSClient
    private let route: APNSClient.Route?
    private let time: TimeSource
    private let dice: @Sendable () -> UInt64

    init(
        before dispatcher: Dispatcher, of client: APNSClient, _ route: APNSClient.Route?, _ time: TimeSource,
        _ dice: @escaping @Sendable () -> UInt64
    ) {
        self.dispatcher = dispatcher
        self.client = client
        self.route = route
        self.time = time
        self.dice = dice
    }

    func run() async throws {
        // What comes of it is heard by `APNSClient.Options.dateReceived`.
        if let route, let push = question(for: route) { _ = try? await client.send(push) }
        try await dispatcher.run()
    }

    private func question(for route: APNSClient.Route) -> Push? {
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
