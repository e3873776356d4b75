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
    /// The same in a sentence.
    public var summary: String?
    /// Whether the counts are worked out from a sample of the phones, which are too many to look at; absent: they are
    /// exact.
    public var estimated: Bool?
    /// Of a dry run: the phones beyond those counted here, which are 10,000 at most; absent: none.
    public var more: Int?
    /// Whether the call came after one with a greater `sequence`, and changed nothing; absent: no.
    public var superseded: Bool?
    /// Whether nothing was done: the answer says what would be; absent: no.
    public var dryRun: Bool?
    /// Of a dry run: what follows on each phone, one page of them.
    public var devices: [DeviceVerdict]?
    /// Of a dry run: the cursor of the next page of phones; absent: this is the last.
    public var next: String?

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
        /// An ordinary notification goes out in place of a card that cannot be shown; absent: on none.
        public var fallback: Int?

        /// The counts of one answer.
        public init(start: Int, update: Int, pending: Int, none: Int, fallback: Int? = nil) {
            self.fallback = fallback
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

/// What follows on one phone, and why.
public struct DeviceVerdict: Sendable, Hashable, Codable {
    /// The id of the device.
    public var device: String
    /// The user of the device.
    public var user: String
    /// `start`, `update`, `fallback`, `pending` or `none`, as they are counted in ``ActivityAnswer/Phones``.
    public var course: String
    /// Why.
    public var reason: Reason

    /// The verdict on one phone.
    public init(device: String, user: String, course: String, reason: Reason) {
        self.device = device
        self.user = user
        self.course = course
        self.reason = reason
    }
}
