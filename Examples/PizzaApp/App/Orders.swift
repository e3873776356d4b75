import Foundation
import LiveActivityClient

#if os(iOS) && !targetEnvironment(macCatalyst)
    import ActivityKit
#elseif canImport(ActivityKitStandIn)
    import ActivityKitStandIn
#endif

/// The orders of the app's person, and the Live Activities that show them.
@available(iOS 16.2, *)
struct Orders: Sendable {
    let client: IsletClient

    /// The orders that have a Live Activity.
    var shown: [String] { Activity<OrderTrackingAttributes>.activities.map(\.attributes.orderId) }

    /// Somebody is there.
    func signIn(_ user: String) {
        // article: person
        client.signIn(user: user)  // at every launch, too
        // end
    }

    /// The person leaves.
    func signOut() {
        // article: person
        client.signOut()  // takes every Live Activity away at once, then tells the server, as often as it takes
        // end
    }

    /// Ordered in the app: the Live Activity is there before the shop's backend has said a word.
    func follow(order: String, from restaurant: String) async throws {
        // article: start
        try await client.start(
            OrderTrackingAttributes(orderId: order, restaurant: restaurant),
            state: .init(status: "preparing", progress: 0.2))
        // end
    }

    /// What the person does in the app shows at once; the server's next state takes over.
    func postpone(order: String, by minutes: Int) async throws {
        // article: change
        for activity in Activity<OrderTrackingAttributes>.activities where activity.attributes.orderId == order {
            var state = activity.content.state
            state.eta = (state.eta ?? 0) + minutes
            try await client.update(activity, to: state)
        }
        // end
    }

    /// The person has tapped a Live Activity: its link has the order.
    func open(_ link: URL) async throws {
        // article: open
        let order = link.lastPathComponent
        for activity in Activity<OrderTrackingAttributes>.activities where activity.attributes.orderId == order {
            try await client.opened(activity)
        }
        // end
    }
}
