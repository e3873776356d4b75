import Foundation
import LiveActivityClient

#if canImport(ActivityKit) && !os(macOS)
    import ActivityKit
#elseif canImport(ActivityKitStandIn)
    import ActivityKitStandIn
#endif

/// The app's Live Activities: made at launch, whatever launched the app.
@available(iOS 16.2, *)
final class Orders: Sendable {
    let client: LiveActivityClient

    /// - Parameters:
    ///   - server: Islet, or the app's backend where it passes the phone's calls on.
    ///   - credential: Asks the app's backend for what lets this phone speak to the server.
    init(server: URL, credential: @escaping @Sendable () async throws -> String) {
        // What the server refused is of no use again: the backend hands out another.
        client = LiveActivityClient(server: server) { _ in try await credential() }
        client.track(OrderTrackingAttributes.self, as: "OrderTracking")
    }

    /// Follows the tokens and cards for as long as the process runs.
    func run() async { await client.run() }

    /// Ordered in the app: the card is there before the shop's backend has said a word.
    func follow(order: String, from restaurant: String) throws {
        try client.start(
            OrderTrackingAttributes(orderId: order, restaurant: restaurant),
            state: .init(status: "preparing", progress: 0.2), as: "OrderTracking")
    }

    /// What the person does in the app shows at once; the server's next state takes over.
    func postpone(order: String, by minutes: Int) throws {
        for activity in Activity<OrderTrackingAttributes>.activities where activity.attributes.orderId == order {
            var state = activity.content.state
            state.eta = (state.eta ?? 0) + minutes
            try client.update(activity, to: state)
        }
    }

    /// The person leaves: every card is gone before anything else happens.
    func signOut() { client.signOut() }
}
