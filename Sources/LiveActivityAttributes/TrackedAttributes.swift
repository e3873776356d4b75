#if os(iOS) && !targetEnvironment(macCatalyst)
    public import ActivityKit
#elseif canImport(ActivityKitStandIn)
    public import ActivityKitStandIn
#endif

#if (os(iOS) && !targetEnvironment(macCatalyst)) || canImport(ActivityKitStandIn)
    /// Attributes that name the activity that a Live Activity shows.
    ///
    /// The activity's id is the one that the backend chose, such as an order's number. With it the client recognizes
    /// two Live Activities that show the same activity, and matches the server's answers. Name the same attribute as
    /// `activityIDAttribute` in the server's configuration.
    ///
    /// ```swift
    /// extension OrderTrackingAttributes: IdentifiedActivityAttributes {
    ///     var liveActivityID: String? { orderId }
    /// }
    /// ```
    @available(iOS 16.1, *)
    public protocol IdentifiedActivityAttributes: ActivityAttributes {
        /// The activity's id, or `nil` if the attributes do not contain it.
        var liveActivityID: String? { get }
        /// The broadcast channel whose pushes the Live Activity shows (iOS 18), or `nil` if it has an update token.
        ///
        /// Return the channel here if the attributes contain it, because iOS does not tell an app on which channel a
        /// push started the Live Activity.
        var liveActivityChannel: String? { get }
    }

    @available(iOS 16.1, *)
    extension IdentifiedActivityAttributes {
        /// No channel: the Live Activity has an update token.
        public var liveActivityChannel: String? { nil }
    }

    /// Attributes with a place for the server's own tag, for types whose own attributes do not contain the activity's
    /// id.
    @available(iOS 16.1, *)
    public protocol IsletAttributes: IdentifiedActivityAttributes {
        /// The server's tag. The server fills it in the attributes of a Live Activity that it starts. The app leaves it
        /// `nil`, or names the activity that it starts.
        var islet: IsletTag? { get }
    }

    @available(iOS 16.1, *)
    extension IsletAttributes {
        /// The id of the activity that the tag names.
        public var liveActivityID: String? { islet?.activity }
    }
#endif

/// A tag that the server writes into the attributes of a Live Activity that it starts.
public struct IsletTag: Codable, Hashable, Sendable {
    /// The activity's id.
    public var activity: String

    /// Creates the tag of this activity.
    public init(activity: String) {
        self.activity = activity
    }
}
