/// The answer of `GET /v1/activities`: an app's activities in the order in which they were made, or the
/// newest first.
public struct ActivityList: Sendable, Hashable, Codable {
    /// One page of them. It may be empty although there is a next one.
    public var activities: [Row]
    /// The cursor of the next page; absent: this is the last.
    public var next: String?

    /// One activity.
    public struct Row: Sendable, Hashable, Codable {
        /// The id that the backend chose.
        public var activity: String
        /// The activity type.
        public var type: String
        /// Where the activity is in its life: `announced`, `active` or `ended`.
        public var phase: String
        /// Which life of the activity this is, from 1.
        public var run: Int
        /// The revision of the desired state.
        public var revision: Int
        /// When the activity was first set; absent after a reopening.
        public var createdAt: Instant?
        /// When its desired state last changed.
        public var updatedAt: Instant
        /// How many phones it is on; absent: not counted.
        public var phones: Int?

        /// One activity.
        public init(
            activity: String, type: String, phase: String, run: Int, revision: Int, createdAt: Instant? = nil,
            updatedAt: Instant, phones: Int? = nil
        ) {
            self.activity = activity
            self.type = type
            self.phase = phase
            self.run = run
            self.revision = revision
            self.createdAt = createdAt
            self.updatedAt = updatedAt
            self.phones = phones
        }
    }

    /// One page of activities.
    public init(activities: [Row], next: String? = nil) {
        self.activities = activities
        self.next = next
    }
}
