import Foundation
import LiveActivityClient

#if os(iOS) && !targetEnvironment(macCatalyst)
    import ActivityKit
#elseif canImport(ActivityKitStandIn)
    import ActivityKitStandIn
#endif

/// The orders of the app's person and the Live Activities that show them.
@available(iOS 16.2, *)
struct Orders: Sendable {
    let client: IsletClient

    /// The orders that have a Live Activity.
    var shown: [String] { Activity<OrderTrackingAttributes>.activities.map(\.attributes.orderId) }

    /// Signs a person in.
    func signIn(_ user: String) {
        // article: person
        client.signIn(user: user)  // at every launch, too
        // end
    }

    /// Signs the person out.
    func signOut() {
        // article: person
        client.signOut()  // takes every Live Activity away at once, then tells the server, as often as it takes
        // end
    }

    /// Starts the Live Activity of an order from the app, before the shop's backend has set anything.
    func follow(order: String, from restaurant: String) async throws {
        // article: start
        try await client.start(
            OrderTrackingAttributes(orderId: order, restaurant: restaurant),
            state: .init(status: "preparing", progress: 0.2))
        // end
    }

    /// Starts the Live Activity of an order that the shop's backend has set and that the person wants to follow now.
    func join(order: String) async throws {
        // article: join
        try await client.join(order, as: OrderTrackingAttributes.self)
        // end
    }

    /// Changes an order's Live Activities at once. The server's next state replaces the change.
    func postpone(order: String, by minutes: Int) async throws {
        // article: change
        for activity in Activity<OrderTrackingAttributes>.activities where activity.attributes.orderId == order {
            var state = activity.content.state
            state.eta = (state.eta ?? 0) + minutes
            try await client.update(activity, to: state)
        }
        // end
    }

    /// Reports that the person tapped a Live Activity. Its link contains the order.
    func open(_ link: URL) async throws {
        // article: open
        let order = link.lastPathComponent
        for activity in Activity<OrderTrackingAttributes>.activities where activity.attributes.orderId == order {
            try await client.opened(activity)
        }
        // end
    }
}
