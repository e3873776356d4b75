/// The answer of `POST /v1/activities/{activity}/audience`.
public struct AudienceAnswer: Sendable, Hashable, Codable {
    /// The number of people who joined.
    public var added: Int
    /// The number of people who left.
    public var removed: Int
    /// The number of people in the call who already belonged to the audience.
    public var unchanged: Int
    /// The number of people who belong to the audience now.
    public var members: Int
    /// The revision of the desired state. A change of the audience does not change it.
    public var revision: Int
    /// The phase of the activity.
    public var phase: String
    /// The number of phones by what follows on them. `nil` for a streamed page.
    public var phones: ActivityAnswer.Phones?
    /// The reasons why phones wait or get nothing, the most frequent first. `nil` for a streamed page.
    public var reasons: [ActivityAnswer.ReasonCount]?
    /// ``phones`` and ``reasons`` in a sentence. `nil` for a streamed page.
    public var summary: String?
    /// `true` if the counts are estimated from a sample, because the activity has too many phones. `nil` if they are
    /// exact.
    public var estimated: Bool?
    /// The number of phones that are not counted here. `nil` if all are counted.
    public var more: Int?
    /// `true` if the call was a dry run: nothing was changed, and the answer says what would follow. Otherwise `nil`.
    public var dryRun: Bool?
    /// In a dry run, what follows on each phone, one page of them.
    public var devices: [DeviceVerdict]?
    /// In a dry run, the cursor of the next page of phones. `nil` if this is the last page.
    public var next: String?

    /// Creates the counts of one change.
    public init(added: Int, removed: Int, unchanged: Int, members: Int, revision: Int, phase: String) {
        self.added = added
        self.removed = removed
        self.unchanged = unchanged
        self.members = members
        self.revision = revision
        self.phase = phase
    }
}
