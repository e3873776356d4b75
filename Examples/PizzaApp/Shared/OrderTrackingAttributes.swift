import LiveActivityAttributes

#if os(iOS) && !targetEnvironment(macCatalyst)
    import ActivityKit
#elseif canImport(ActivityKitStandIn)
    import ActivityKitStandIn
#endif

// This file belongs to the app's target and to the widget extension's.

/// The attributes of an order's Live Activity. The server's configuration names the type: `attributesType:
/// OrderTrackingAttributes`, `activityIDAttribute: /orderId`.
@available(iOS 16.1, *)
// article: attributes
nonisolated struct OrderTrackingAttributes: IdentifiedActivityAttributes {
    struct ContentState: Codable, Hashable, Sendable {
        var status: String
        var progress: Double
        var eta: Int?
    }

    var orderId: String
    var restaurant: String

    var liveActivityID: String? { orderId }
}
// end
