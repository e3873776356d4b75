public import JSONText

/// The answer of `POST /v1/types/{type}/what-if`: a recorded day, replayed under another policy.
public struct WhatIfAnswer: Sendable, Hashable, Codable {
    /// The start of the recorded time.
    public var from: Instant
    /// The end of the recorded time.
    public var to: Instant
    /// The number of activities that were replayed.
    public var activities: Int
    /// The number of changes to these activities.
    public var changes: Int
    /// The number of phones of these activities.
    public var phones: Int
    /// `true` if the recorded time has more activities than one trial replays. The most recently active ones were
    /// taken.
    public var isPart: Bool
    /// The complete policy that was tried, in the form of the configuration.
    public var policy: JSONObject
    /// The figures of the recorded day: what was actually sent for the same activities.
    public var sent: Figures
    /// The result of the replay under the present policy.
    public var now: Figures
    /// The result of the replay under the policy that was tried.
    public var then: Figures
    /// Sentences for people about what is not recorded, and what the replay assumes instead.
    public var unknown: [String]

    /// Numbers of pushes, and what happened to the changes.
    public struct Figures: Sendable, Hashable, Codable {
        /// Starts, updates and ends together.
        public var pushes: Int
        /// Pushes that start a card.
        public var starts: Int
        /// Pushes that update a card.
        public var updates: Int
        /// Pushes that end a card.
        public var ends: Int
        /// Ordinary notifications in place of a card.
        public var fallbacks: Int
        /// Pushes of priority 10.
        public var high: Int
        /// Pushes of priority 5.
        public var low: Int
        /// Pushes with an alert. Every start has one, unless it renews a card.
        public var alerts: Int
        /// The pushes by the code of the reason why they were sent.
        public var reasons: [String: Int]
        /// The changes by what happened to them.
        public var changes: Changes
        /// The seconds from a change to the push that carried it. `nil` if there was no such push.
        public var delay: Delay?
        /// The number of activities that the server ended because nobody set them any more.
        public var endedIdle: Int
        /// In a replay, the cards that had to wait, by the code of the reason. `nil` for what was actually sent.
        public var held: [String: Int]?
        /// In a replay, the pushes that were sent at low instead of high priority. `nil` for what was actually sent.
        public var lowered: Lowered?
        /// In a replay, the changes that would have been refused. `nil` for what was actually sent.
        public var refused: Int?

        /// Creates figures without the properties that only a replay has.
        public init(
            pushes: Int, starts: Int, updates: Int, ends: Int, fallbacks: Int, high: Int, low: Int, alerts: Int,
            reasons: [String: Int], changes: Changes, endedIdle: Int
        ) {
            self.pushes = pushes
            self.starts = starts
            self.updates = updates
            self.ends = ends
            self.fallbacks = fallbacks
            self.high = high
            self.low = low
            self.alerts = alerts
            self.reasons = reasons
            self.changes = changes
            self.endedIdle = endedIdle
        }
    }

    /// The numbers of changes that backends made, by what happened to them.
    public struct Changes: Sendable, Hashable, Codable {
        /// The number of changes that a push carried.
        public var sent: Int
        /// The number of changes that were sent together with a later one.
        public var together: Int
        /// The number of changes that were not sent, and that no later sent change replaced.
        public var unsent: Int

        /// Creates the numbers of changes.
        public init(sent: Int, together: Int, unsent: Int) {
            self.sent = sent
            self.together = together
            self.unsent = unsent
        }
    }

    /// The seconds from a change to the first push to a phone that carried it.
    public struct Delay: Sendable, Hashable, Codable {
        /// The median: half of the pushes took no longer.
        public var p50: Double
        /// The 95th percentile: 95 of 100 pushes took no longer.
        public var p95: Double
        /// The longest delay.
        public var longest: Double

        /// Creates delays in seconds.
        public init(p50: Double, p95: Double, longest: Double) {
            self.p50 = p50
            self.p95 = p95
            self.longest = longest
        }
    }

    /// Pushes that were sent at low instead of high priority.
    public struct Lowered: Sendable, Hashable, Codable {
        /// Pushes to a card that had received a push of high priority within `highPriorityInterval`.
        public var byInterval: Int
        /// Pushes to a phone whose budget was used up.
        public var byBudget: Int

        /// Creates the numbers of these pushes.
        public init(byInterval: Int, byBudget: Int) {
            self.byInterval = byInterval
            self.byBudget = byBudget
        }
    }

    /// Creates an answer.
    public init(
        from: Instant, to: Instant, activities: Int, changes: Int, phones: Int, isPart: Bool, policy: JSONObject,
        sent: Figures, now: Figures, then: Figures, unknown: [String]
    ) {
        self.from = from
        self.to = to
        self.activities = activities
        self.changes = changes
        self.phones = phones
        self.isPart = isPart
        self.policy = policy
        self.sent = sent
        self.now = now
        self.then = then
        self.unknown = unknown
    }
}
