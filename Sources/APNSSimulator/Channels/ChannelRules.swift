public import APNSModel

/// The rules of APNs for broadcast channels. Each is a switch, because Apple does not publish all of them.
public struct ChannelRules: Sendable, Hashable {
    /// Apps with the Broadcast Capability; `nil` means every app. Calls for another app get `FeatureNotEnabled`.
    ///
    /// An app that loses the capability loses its channels too (Apple, "Setting up broadcast push notifications").
    public var broadcastApps: Set<BundleID>?
    /// Maximum number of channels of an app in an environment. The next creation gets `CannotCreateChannelConfig`.
    public var channelsPerApp = 10_000
    /// Number of broadcasts that a channel takes in a second of the clock before `TooManyRequests`. `nil` sets no
    /// limit, because Apple publishes none.
    public var broadcastsPerSecond: Int?
    /// `true` if a card that subscribes gets the message that APNs has stored. Apple does not say whether it does.
    public var lateSubscribersGetStored = false

    /// Creates the standard rules.
    public init() {}
}
