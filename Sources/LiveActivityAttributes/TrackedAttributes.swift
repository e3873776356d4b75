#if os(iOS) && !targetEnvironment(macCatalyst)
    public import ActivityKit
#elseif canImport(ActivityKitStandIn)
    public import ActivityKitStandIn
#endif

#if (os(iOS) && !targetEnvironment(macCatalyst)) || canImport(ActivityKitStandIn)
    /// Attributes that say what a Live Activity shows: the id that the backend chose, such as an order's number.
    ///
    /// By it the client knows two that show the same, and which one an answer of the server is about. Name the same
    /// attribute as `activityIDAttribute` in the server's configuration.
    ///
    /// ```swift
    /// extension OrderTrackingAttributes: IdentifiedActivityAttributes {
    ///     var liveActivityID: String? { orderId }
    /// }
    /// ```
    @available(iOS 16.1, *)
    public protocol IdentifiedActivityAttributes: ActivityAttributes {
        /// The activity's id; `nil` where the attributes do not say it.
        var liveActivityID: String? { get }
        /// The broadcast channel whose pushes it shows (iOS 18), where the attributes say it: iOS does not tell an app
        /// of the channel that a push started it on. `nil`: it has a token.
        var liveActivityChannel: String? { get }
    }

    @available(iOS 16.1, *)
    extension IdentifiedActivityAttributes {
        /// The channel is `nil`, where the attributes do not say otherwise: the Live Activity has a token.
        public var liveActivityChannel: String? { nil }
    }

    /// Attributes with a place for the server's own tag, where none of their own is the activity's id.
    @available(iOS 16.1, *)
    public protocol IsletAttributes: IdentifiedActivityAttributes {
        /// Filled by the server. The app leaves it `nil`, or names the activity that it starts.
        var islet: IsletTag? { get }
    }

    @available(iOS 16.1, *)
    extension IsletAttributes {
        /// The activity that the tag names.
        public var liveActivityID: String? { islet?.activity }
    }
#endif

/// The tag that the server writes into the attributes of a Live Activity that it starts.
public struct IsletTag: Codable, Hashable, Sendable {
    /// The activity's id.
    public var activity: String

    /// The tag of this activity.
    public init(activity: String) {
        self.activity = activity
    }
}
