/// The answer of every call that changes an activity: the effect of the change on the activity's phones.
public struct ActivityAnswer: Sendable, Hashable, Codable {
    /// The revision of the desired state after the call.
    public var revision: Int
    /// `true` if the call changed the desired state. `false` for a repeated call.
    public var changed: Bool
    /// The phase of the activity, such as `active` or `ended`.
    public var phase: String
    /// The number of phones by what follows on them.
    public var phones: Phones
    /// The reasons why phones wait or get nothing, the most frequent first.
    public var reasons: [ReasonCount]
    /// ``phones`` and ``reasons`` in a sentence.
    public var summary: String?
    /// `true` if the counts are estimated from a sample, because the activity has too many phones. `nil` if they are
    /// exact.
    public var estimated: Bool?
    /// In a dry run, the number of phones beyond the 10,000 that are counted. `nil` if all are counted.
    public var more: Int?
    /// `true` if a call with a greater `sequence` came before, so that this one changed nothing. Otherwise `nil`.
    public var superseded: Bool?
    /// `true` if the call was a dry run: nothing was changed, and the answer says what would follow. Otherwise `nil`.
    public var dryRun: Bool?
    /// In a dry run, what follows on each phone, one page of them.
    public var devices: [DeviceVerdict]?
    /// In a dry run, the cursor of the next page of phones. `nil` if this is the last page.
    public var next: String?

    /// Numbers of phones by what follows on them.
    public struct Phones: Sendable, Hashable, Codable {
        /// A card is started.
        public var start: Int
        /// The existing card is updated or ended.
        public var update: Int
        /// Something follows later. A token, a budget or the app is awaited.
        public var pending: Int
        /// Nothing follows.
        public var none: Int
        /// An ordinary notification is sent because a card cannot be shown. `nil` if this happens on no phone.
        public var fallback: Int?

        /// Creates the counts.
        public init(start: Int, update: Int, pending: Int, none: Int, fallback: Int? = nil) {
            self.fallback = fallback
            self.start = start
            self.update = update
            self.pending = pending
            self.none = none
        }
    }

    /// The number of phones for which one reason holds.
    public struct ReasonCount: Sendable, Hashable, Codable {
        /// The stable code of the reason, such as `nothing-to-update`.
        public var reason: String
        /// The number of phones.
        public var count: Int

        /// Creates a reason with its count.
        public init(reason: String, count: Int) {
            self.reason = reason
            self.count = count
        }
    }

    /// Creates an answer to a call that is not a dry run.
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

/// The course that the server takes on one phone, and its reason.
public struct DeviceVerdict: Sendable, Hashable, Codable {
    /// The id of the device.
    public var device: String
    /// The user of the device.
    public var user: String
    /// One of `start`, `update`, `fallback`, `pending` and `none`, as counted in ``ActivityAnswer/Phones``.
    public var course: String
    /// The reason.
    public var reason: Reason

    /// Creates the verdict on one phone.
    public init(device: String, user: String, course: String, reason: Reason) {
        self.device = device
        self.user = user
        self.course = course
        self.reason = reason
    }
}
