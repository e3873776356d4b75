/// The answer of `POST /v1/activities/{activity}/audience`.
public struct AudienceAnswer: Sendable, Hashable, Codable {
    /// How many people joined.
    public var added: Int
    /// How many people left.
    public var removed: Int
    /// How many of the people it named belonged to it already.
    public var unchanged: Int
    /// How many people belong to it now.
    public var members: Int
    /// The revision of the desired state, which an audience does not change.
    public var revision: Int
    /// Where the activity is in its life.
    public var phase: String
    /// What follows on how many phones; absent where pages are streamed.
    public var phones: ActivityAnswer.Phones?
    /// Why phones wait or get nothing, the most frequent first.
    public var reasons: [ActivityAnswer.ReasonCount]?
    /// The same in a sentence; absent where pages are streamed.
    public var summary: String?
    /// Whether the counts are worked out from a sample of the phones, which are too many to look at; absent: they are
    /// exact.
    public var estimated: Bool?
    /// The phones beyond those counted here; absent: none.
    public var more: Int?
    /// Whether nothing was done: the answer says what would be; absent: no.
    public var dryRun: Bool?
    /// Of a dry run: what follows on each phone, one page of them.
    public var devices: [DeviceVerdict]?
    /// Of a dry run: the cursor of the next page of phones; absent: this is the last.
    public var next: String?

    /// The counts of one change.
    public init(added: Int, removed: Int, unchanged: Int, members: Int, revision: Int, phase: String) {
        self.added = added
        self.removed = removed
        self.unchanged = unchanged
        self.members = members
        self.revision = revision
        self.phase = phase
    }
}
