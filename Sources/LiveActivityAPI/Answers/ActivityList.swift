/// The answer of `GET /v1/activities`: the app's activities in the order of their creation, or the newest first.
public struct ActivityList: Sendable, Hashable, Codable {
    /// The activities of one page. It may be empty even if there is a next page.
    public var activities: [Row]
    /// The cursor of the next page. `nil` if this is the last page.
    public var next: String?

    /// One activity.
    public struct Row: Sendable, Hashable, Codable {
        /// The id that the backend chose.
        public var activity: String
        /// The activity type.
        public var type: String
        /// The phase of the activity: `announced`, `active` or `ended`.
        public var phase: String
        /// The number of the activity's run, from 1.
        public var run: Int
        /// The revision of the desired state.
        public var revision: Int
        /// The time when the activity was first set. `nil` after a reopening.
        public var createdAt: Instant?
        /// The time when the desired state last changed.
        public var updatedAt: Instant
        /// The number of phones of the activity. `nil` if it was not counted.
        public var phones: Int?

        /// Creates a row.
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

    /// Creates one page of activities.
    public init(activities: [Row], next: String? = nil) {
        self.activities = activities
        self.next = next
    }
}
