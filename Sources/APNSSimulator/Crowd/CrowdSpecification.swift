public import APNSModel

/// What a crowd is: many light phones of one app, told apart by a number.
///
/// A member judges a push as a phone does as far as that costs nothing: it holds one card or none, with the newest
/// content state and its timestamp; it has no app of its own, reports nothing, is always online, and its budgets and
/// its settings never get in the way.
public struct CrowdSpecification: Sendable, Hashable {
    /// Its name: 1 to 128 letters, digits, `-`, `_`, `.` or `:`. The tokens follow from it, see ``CrowdTokens``.
    public var name: String
    /// How many members it has, numbered from 0.
    public var count: Int
    /// The app that all have.
    public var bundleID: BundleID
    /// Which APNs their tokens are of.
    public var environment = APNSEnvironment.sandbox
    /// The Swift name of the attributes type that the app has; a start of another one makes no card.
    public var attributesType: String

    /// A crowd of the sandbox.
    public init(name: String, count: Int, bundleID: BundleID, attributesType: String) {
        self.name = name
        self.count = count
        self.bundleID = bundleID
        self.attributesType = attributesType
    }
}

/// What a crowd was sent and what became of it, all members together.
public struct CrowdTotals: Sendable, Hashable {
    /// How many members there are.
    public internal(set) var members: Int
    /// Pushes that APNs took, whatever the phone did with them.
    public internal(set) var accepted = 0
    /// Of them, how many came with each priority: 10, 5 or 1.
    public internal(set) var acceptedByPriority: [Int: Int] = [:]
    /// Pushes that were answered with another status than 200.
    public internal(set) var refused = 0
    /// Members that were sent at least one push that was taken.
    public internal(set) var reached = 0
    /// Starts that made a card, second ones among them.
    public internal(set) var starts = 0
    /// Starts that came while the member had a card already: its person saw two.
    public internal(set) var secondCards = 0
    /// Updates that changed a card.
    public internal(set) var updates = 0
    /// Ends that ended a card.
    public internal(set) var ends = 0
    /// Updates whose timestamp was not newer than the one shown: the phone ignored them.
    public internal(set) var staleIgnored = 0
    /// What a phone drops for another reason: an undecodable payload, an event that does not fit the token, a card that
    /// has ended.
    public internal(set) var dropped = 0
    /// Pushes to device tokens.
    public internal(set) var notifications = 0
    /// Members with a card that runs now.
    public internal(set) var running = 0

    init(members: Int) {
        self.members = members
    }
}

/// One member of a crowd.
public struct CrowdMember: Sendable, Hashable {
    /// Pushes that APNs took for it.
    public let accepted: Int
    /// Whether it has a card that runs.
    public let isRunning: Bool
    /// Whether its latest card has ended.
    public let hasEnded: Bool
    /// The newest timestamp shown, in seconds since 1970; `nil` before the first card.
    public let timestamp: Int?
    /// The digest of the content state shown last; `nil` before the first card.
    public let digest: ContentDigest?
}

/// How many members hold a content state.
public struct CrowdHolding: Sendable, Hashable {
    /// The content state.
    public let digest: ContentDigest
    /// How many hold it; a card that has ended still shows its last one.
    public let members: Int
}
