/// The answer of every call that changes an activity: what the change means for its phones.
public struct ActivityAnswer: Sendable, Hashable, Codable {
    /// The revision of the desired state after the call.
    public var revision: Int
    /// Whether the call changed anything; a repeated call did not.
    public var changed: Bool
    /// Where the activity is in its life, such as `active` or `ended`.
    public var phase: String
    /// What follows on how many phones.
    public var phones: Phones
    /// Why phones wait or get nothing, the most frequent first.
    public var reasons: [ReasonCount]
    /// The phones beyond those counted here, which are 1,000 at most; absent: none.
    public var more: Int?

    /// How many phones get what.
    public struct Phones: Sendable, Hashable, Codable {
        /// A card is started.
        public var start: Int
        /// The card that is there is updated, or ended.
        public var update: Int
        /// Something follows later: a token, a budget or the app is awaited.
        public var pending: Int
        /// Nothing follows.
        public var none: Int

        /// The counts of one answer.
        public init(start: Int, update: Int, pending: Int, none: Int) {
            self.start = start
            self.update = update
            self.pending = pending
            self.none = none
        }
    }

    /// How many phones one reason holds for.
    public struct ReasonCount: Sendable, Hashable, Codable {
        /// The stable code of the reason, such as `nothing-to-update`.
        public var reason: String
        /// The number of phones.
        public var count: Int

        /// A reason and its count.
        public init(reason: String, count: Int) {
            self.reason = reason
            self.count = count
        }
    }

    /// The answer to one change.
    public init(
        revision: Int, changed: Bool, phase: String, phones: Phones, reasons: [ReasonCount], more: Int? = nil
    ) {
        self.revision = revision
        self.changed = changed
        self.phase = phase
        self.phones = phones
        self.reasons = reasons
        self.more = more
    }
}
