public import APNSModel

/// The settings of a crowd: many light phones of one app, identified by a number.
///
/// A member treats a push as a phone does, as far as that is cheap. It has one card or none, with the newest content
/// state and its timestamp. It has no app of its own, reports nothing and is always online. Budgets and settings never
/// restrict it.
///
/// A start with `input-push-channel` puts the member's card on that broadcast channel, as on iOS 18. The card then has
/// no update token, and broadcasts change it.
public struct CrowdSpecification: Sendable, Hashable {
    /// The name: 1 to 128 letters, digits, `-`, `_`, `.` or `:`. The tokens are derived from it, see ``CrowdTokens``.
    public var name: String
    /// Number of members, numbered from 0.
    public var count: Int
    /// Bundle id of the members' app.
    public var bundleID: BundleID
    /// APNs environment of the members' tokens.
    public var environment = APNSEnvironment.sandbox
    /// The Swift name of the app's attributes type. A start of another type makes no card.
    public var attributesType: String

    /// Creates a crowd in the sandbox.
    public init(name: String, count: Int, bundleID: BundleID, attributesType: String) {
        self.name = name
        self.count = count
        self.bundleID = bundleID
        self.attributesType = attributesType
    }
}

/// The number of pushes that a crowd was sent, by their effect on the members.
public struct CrowdTotals: Sendable, Hashable {
    /// Number of members.
    public internal(set) var members: Int
    /// Pushes that APNs took, whatever the phones did with them.
    public internal(set) var accepted = 0
    /// Pushes that APNs took, by priority: 10, 5 or 1.
    public internal(set) var acceptedByPriority: [Int: Int] = [:]
    /// Pushes that got a status other than 200.
    public internal(set) var refused = 0
    /// Members to which APNs took at least one push.
    public internal(set) var reached = 0
    /// Starts that made a card, including second cards.
    public internal(set) var starts = 0
    /// Starts that arrived while the member had a card already, so that its person saw two.
    public internal(set) var secondCards = 0
    /// Updates that changed a card.
    public internal(set) var updates = 0
    /// Ends that ended a card.
    public internal(set) var ends = 0
    /// Updates that phones ignored because their timestamp was not newer than the one shown.
    public internal(set) var staleIgnored = 0
    /// Pushes that phones dropped for another reason: an undecodable payload, an event that does not fit the token, or
    /// a card that has ended.
    public internal(set) var dropped = 0
    /// Pushes to device tokens.
    public internal(set) var notifications = 0
    /// Broadcasts to channels that cards of members have been on. Each counts once, and every card that it changes
    /// counts in `updates` or `ends`.
    public internal(set) var broadcasts = 0
    /// Members whose card runs now.
    public internal(set) var running = 0

    init(members: Int) {
        self.members = members
    }
}

/// One member of a crowd.
public struct CrowdMember: Sendable, Hashable {
    /// Number of pushes that APNs took for the member.
    public let accepted: Int
    /// `true` if the member has a running card.
    public let isRunning: Bool
    /// `true` if the member's latest card has ended.
    public let hasEnded: Bool
    /// The newest timestamp shown, in seconds since 1970; `nil` before the first card.
    public let timestamp: Int?
    /// The digest of the content state shown last; `nil` before the first card.
    public let digest: ContentDigest?
}

/// The number of members that show a content state.
public struct CrowdHolding: Sendable, Hashable {
    /// Digest of the content state.
    public let digest: ContentDigest
    /// Number of members that show it. A card that has ended still shows its last state.
    public let members: Int
}
