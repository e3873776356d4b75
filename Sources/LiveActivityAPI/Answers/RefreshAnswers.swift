/// The answer of `POST /v1/users/{user}/refresh` and `POST /v1/refreshes`.
public struct RefreshAskedAnswer: Sendable, Hashable, Codable {
    /// The number of computations that are due now: one for each type and person with a device.
    ///
    /// They run in the background.
    public var asked: Int

    /// Creates an answer.
    public init(asked: Int) {
        self.asked = asked
    }
}

/// The answer of `GET /v1/users/{user}/refresh`: the state of a person's computations.
public struct RefreshView: Sendable, Hashable, Codable {
    /// The computations by type, sorted by the types' names. Types that were never asked for are missing.
    public var refreshes: [Refresh]

    /// The computation of one type.
    public struct Refresh: Sendable, Hashable, Codable {
        /// The activity type.
        public var type: String
        /// The number of requests for it.
        public var asked: Int
        /// The number of these requests that are answered.
        public var done: Int
        /// `true` if the computation is running.
        public var running: Bool
        /// The time of the next computation. A time in the past means at once.
        ///
        /// `nil` while the computation runs, or if nothing is due until somebody asks.
        public var dueAt: Instant?
        /// The time of the last computation.
        public var finishedAt: Instant?
        /// The number of failures in a row.
        public var tries: Int
        /// The reason why the last computation failed. `nil` if it did not fail.
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
