public import JSONText

/// The answer of `POST /v1/types/{type}/what-if`: what a recorded day would have been under another policy.
public struct WhatIfAnswer: Sendable, Hashable, Codable {
    /// The stretch of time that was played.
    public var from: Instant
    /// Where it ends.
    public var to: Instant
    /// How many activities were played.
    public var activities: Int
    /// How many changes of theirs.
    public var changes: Int
    /// On how many phones.
    public var phones: Int
    /// There was more than one trial plays: the activities that something happened of last were taken.
    public var isPart: Bool
    /// The policy that was tried, whole, in the words of the configuration.
    public var policy: JSONObject
    /// What went out really, of the same activities.
    public var sent: Figures
    /// What is played under the present policy.
    public var now: Figures
    /// The same under the policy that was tried.
    public var then: Figures
    /// What is not recorded, and what was taken in its place: in words, for a person.
    public var unknown: [String]

    /// What went out, and what became of the changes.
    public struct Figures: Sendable, Hashable, Codable {
        /// Starts, updates and ends together.
        public var pushes: Int
        /// Pushes that start a card.
        public var starts: Int
        /// Pushes that update one.
        public var updates: Int
        /// Pushes that end one.
        public var ends: Int
        /// Ordinary notifications in place of a card.
        public var fallbacks: Int
        /// Pushes of priority 10.
        public var high: Int
        /// Pushes of priority 5.
        public var low: Int
        /// Pushes with an alert; a start has one, unless it renews a card.
        public var alerts: Int
        /// The pushes by why they went out, as codes.
        public var reasons: [String: Int]
        /// What became of the changes.
        public var changes: Changes
        /// Seconds from a change to the push that carried it; absent: there was none.
        public var delay: Delay?
        /// Activities that the server ended, since nobody set them any more.
        public var endedIdle: Int
        /// Only of what is played: cards that had to wait, by why.
        public var held: [String: Int]?
        /// Only of what is played: pushes that went at low priority for want of something.
        public var lowered: Lowered?
        /// Only of what is played: changes that would have been refused.
        public var refused: Int?

        /// Figures; what only a played day has is absent.
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

    /// What became of the changes that backends made.
    public struct Changes: Sendable, Hashable, Codable {
        /// A push carried them.
        public var sent: Int
        /// They went out together with a later one.
        public var together: Int
        /// Neither they nor a later one went out.
        public var unsent: Int

        /// Changes by what became of them.
        public init(sent: Int, together: Int, unsent: Int) {
            self.sent = sent
            self.together = together
            self.unsent = unsent
        }
    }

    /// Seconds from a change to the first push to a phone that carried it.
    public struct Delay: Sendable, Hashable, Codable {
        /// Half of the pushes took no longer.
        public var p50: Double
        /// 95 of a hundred took no longer.
        public var p95: Double
        /// The longest.
        public var longest: Double

        /// Delays in seconds.
        public init(p50: Double, p95: Double, longest: Double) {
            self.p50 = p50
            self.p95 = p95
            self.longest = longest
        }
    }

    /// Pushes that would have been of high priority.
    public struct Lowered: Sendable, Hashable, Codable {
        /// Another of high priority had gone to the card within `highPriorityInterval`.
        public var byInterval: Int
        /// The phone's budget was used up.
        public var byBudget: Int

        /// Pushes by what lowered them.
        public init(byInterval: Int, byBudget: Int) {
            self.byInterval = byInterval
            self.byBudget = byBudget
        }
    }

    /// A day under two policies, and as it was.
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
