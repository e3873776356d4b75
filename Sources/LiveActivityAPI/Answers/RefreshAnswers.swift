/// The answer to `POST /v1/users/{user}/refresh` and `POST /v1/refreshes`.
public struct RefreshAskedAnswer: Sendable, Hashable, Codable {
    /// The computations that are due now: one for each person with a device, and type. They go on in the background.
    public var asked: Int

    /// So many computations.
    public init(asked: Int) {
        self.asked = asked
    }
}

/// The answer to `GET /v1/users/{user}/refresh`: what stands of a person's computations.
public struct RefreshView: Sendable, Hashable, Codable {
    /// By type, in the order of their names; those that were never asked for are not there.
    public var refreshes: [Refresh]

    /// One type's computation.
    public struct Refresh: Sendable, Hashable, Codable {
        /// The activity type.
        public var type: String
        /// How often it was asked for.
        public var asked: Int
        /// How many of these asks are answered.
        public var done: Int
        /// Whether it goes on now.
        public var running: Bool
        /// When it is computed next: at once when that is past; absent: when somebody asks.
        public var dueAt: Instant?
        /// When it was computed last.
        public var finishedAt: Instant?
        /// Failures in a row.
        public var tries: Int
        /// Why the last one failed; absent: it did not.
        public var failure: String?

        package init(
            type: String, asked: Int, done: Int, running: Bool, dueAt: Instant?, finishedAt: Instant?, tries: Int,
            failure: String?
        ) {
            self.type = type
            self.asked = asked
            self.done = done
            self.running = running
            self.dueAt = dueAt
            self.finishedAt = finishedAt
            self.tries = tries
            self.failure = failure
        }
    }

    package init(refreshes: [Refresh]) {
        self.refreshes = refreshes
    }
}
