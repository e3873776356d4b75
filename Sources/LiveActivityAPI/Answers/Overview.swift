/// The answer of `GET /v1/overview`: how the server does, as samples of its counters and gauges over the last quarter
/// of an hour. Counters begin at 0 with the process: what happened between two samples is their difference.
public struct Overview: Sendable, Hashable, Codable {
    /// When the process began.
    public var startedAt: Instant
    /// Its version.
    public var version: String
    /// Seconds between two samples.
    public var interval: Int
    /// The oldest first.
    public var samples: [Sample]
    /// The ways to APNs of the caller's app that are not well; none: all are.
    public var routes: [RouteState]

    /// One reading.
    public struct Sample: Sendable, Hashable, Codable {
        /// When it was taken.
        public var at: Instant
        /// Pushes of the caller's app whose outcome is known, by verdict (docs/metrics.md).
        public var pushes: [String: Int]
        /// Those that were not accepted, by reason.
        public var reasons: [String: Int]
        /// From the commit of a state to APNs's acceptance, in seconds, of all apps.
        public var lag: Histogram
        /// From the commit of a state to the end of an attempt that did not bring it to APNs and that another may
        /// follow, in seconds, of all apps: what says in an outage how late states are.
        public var failedLag: Histogram?
        /// Seconds that the earliest due work waits; absent: the database did not answer.
        public var queueAge: Double?
        /// Pushes handed to the client whose outcome is not known.
        public var inFlight: Int
        /// Pushes in the client that have not left.
        public var queued: Int
        /// Commands that wait to be written.
        public var waiting: Int?
        /// Connections to APNs that take pushes.
        public var connections: Int
        /// Pushes on them without an answer.
        public var streams: Int
        /// Pushes that APNs allows on them at once.
        public var streamLimit: Int
        /// Resident memory of the process, in bytes; absent where the system does not tell.
        public var memory: Int?
        /// What pushes left of the budgets of the caller's app's phones.
        public var budgets: Budgets?

        /// A reading of nothing.
        public init(at: Instant, pushes: [String: Int], reasons: [String: Int], lag: Histogram) {
            self.at = at
            self.pushes = pushes
            self.reasons = reasons
            self.lag = lag
            inFlight = 0
            queued = 0
            connections = 0
            streams = 0
            streamLimit = 0
        }
    }

    /// How often a value fell into each range.
    public struct Histogram: Sendable, Hashable, Codable {
        /// Upper bounds, inclusive; the last range has none.
        public var bounds: [Double]
        /// One more than there are bounds, from the process's begin on.
        public var counts: [Int]

        /// Counts of ranges.
        public init(bounds: [Double], counts: [Int]) {
            self.bounds = bounds
            self.counts = counts
        }
    }

    /// What phones may still get, after each push that used their budgets: of what they may get at once, from 0 to 1.
    public struct Budgets: Sendable, Hashable, Codable {
        /// Of pushes of priority 10; absent: there was none yet.
        public var high: Histogram?
        /// Of starts; absent: there was none yet.
        public var start: Histogram?
        /// Starts that were put off, since the phone's budget was used up.
        public var startsPutOff: Int

        /// What was left, and what was put off.
        public init(high: Histogram?, start: Histogram?, startsPutOff: Int) {
            self.high = high
            self.start = start
            self.startsPutOff = startsPutOff
        }
    }

    /// A way to APNs that is not well.
    public struct RouteState: Sendable, Hashable, Codable {
        /// `sandbox` or `production`.
        public var environment: String
        /// `halted` (a person must mend it) or `inTrouble` (it goes on by itself).
        public var state: String
        /// The stable code of why.
        public var code: String
        /// The same in words.
        public var text: String
        /// Since when.
        public var since: Instant
        /// When the next push is risked.
        public var nextAttemptAt: Instant

        /// A way that is not well.
        public init(
            environment: String, state: String, code: String, text: String, since: Instant, nextAttemptAt: Instant
        ) {
            self.environment = environment
            self.state = state
            self.code = code
            self.text = text
            self.since = since
            self.nextAttemptAt = nextAttemptAt
        }
    }

    /// Samples, and what is not well.
    public init(startedAt: Instant, version: String, interval: Int, samples: [Sample], routes: [RouteState]) {
        self.startedAt = startedAt
        self.version = version
        self.interval = interval
        self.samples = samples
        self.routes = routes
    }
}
