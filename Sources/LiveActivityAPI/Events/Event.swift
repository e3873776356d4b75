/// Something that happened to a card, a token or a key: one `data` of `GET /v1/events`, and the body of a webhook.
public struct Event: Sendable, Hashable, Codable {
    /// Its number, which grows with each event; what `Last-Event-ID` takes.
    public var id: String
    /// What happened, in the words of ``Kind``; a later version may have more of them.
    public var type: String
    /// When.
    public var timestamp: Instant
    /// The app's bundle id.
    public var app: String
    /// The activity; absent: it is about none, or that was erased since.
    public var activity: String?
    /// Which life of the activity, from 1.
    public var run: Int?
    /// The revision that it was about.
    public var revision: Int?
    /// The device; absent: it is about none, or that was erased since.
    public var device: String?
    /// Why, as a code: those of reasons in answers.
    public var reason: String?
    /// Which token is dead: `update`, `push-to-start` or `device`.
    public var token: String?
    /// Where the key is halted: `sandbox` or `production`.
    public var environment: String?

    /// What happens.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// A card came to be: APNs took its start, or a phone reported it.
        case started
        /// A phone reported that it shows the newest state.
        case held
        /// The person swiped the card away.
        case dismissed
        /// The card is over: its end was accepted, or a phone or APNs said so.
        case ended
        /// A second card took the place of one whose 8 hours came to their end.
        case renewed
        /// APNs said that a token is dead.
        case tokenDead = "token-dead"
        /// An ordinary notification went out in place of a card.
        case fellBack = "fell-back"
        /// APNs refused a push for a fault of ours: it is not sent again.
        case parked
        /// Nothing leaves for an app and environment until a person mends the key.
        case keyHalted = "key-halted"
    }

    /// What happened; nil: something that this version does not know.
    public var kind: Kind? { Kind(rawValue: type) }

    /// An event with what every one has.
    public init(id: String, type: String, timestamp: Instant, app: String) {
        self.id = id
        self.type = type
        self.timestamp = timestamp
        self.app = app
    }
}
