/// The answer of `GET /v1/overview`: samples of the server's counters and gauges from the last 15 minutes.
///
/// Counters start at 0 with the process. The difference between two samples is what happened between them.
public struct Overview: Sendable, Hashable, Codable {
    /// The time when the process started.
    public var startedAt: Instant
    /// The version of the server.
    public var version: String
    /// The seconds between two samples.
    public var interval: Int
    /// The samples, the oldest first.
    public var samples: [Sample]
    /// The routes of the caller's app that have a problem. Empty if there are none.
    public var routes: [RouteState]

    /// One reading of the counters and gauges.
    public struct Sample: Sendable, Hashable, Codable {
        /// The time of the reading.
        public var at: Instant
        /// Pushes of the caller's app whose result is known, by verdict (docs/metrics.md).
        public var pushes: [String: Int]
        /// Pushes of the caller's app that were not accepted, by reason.
        public var reasons: [String: Int]
        /// The seconds from the commit of a state to APNs's acceptance of it, of all apps.
        public var lag: Histogram
        /// The seconds from the commit of a state to the end of a failed attempt that another may follow, of all apps.
        ///
        /// It shows how late states are during an outage. Attempts that brought the state to APNs are not in it.
        public var failedLag: Histogram?
        /// The seconds for which the earliest due work has waited. `nil` if the database did not answer.
        public var queueAge: Double?
        /// The number of pushes that were handed to the client and whose result is not known.
        public var inFlight: Int
        /// The number of pushes in the client that have not left.
        public var queued: Int
        /// The number of commands that wait to be written. `nil` if the database did not answer.
        public var waiting: Int?
        /// The number of connections to APNs that accept pushes.
        public var connections: Int
        /// The number of pushes on these connections that have no answer yet.
        public var streams: Int
        /// The number of pushes that APNs allows on these connections at the same time.
        public var streamLimit: Int
        /// The resident memory of the process, in bytes. `nil` where the operating system does not report it.
        public var memory: Int?
        /// The remaining budgets of the phones of the caller's app.
        public var budgets: Budgets?

        /// Creates a reading whose gauges are 0.
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

    /// The number of values in each range.
    public struct Histogram: Sendable, Hashable, Codable {
        /// The upper bounds of the ranges, inclusive. The last range has none.
        public var bounds: [Double]
        /// The number of values in each range since the process started. There is one more count than there are bounds.
        public var counts: [Int]

        /// Creates a histogram.
        public init(bounds: [Double], counts: [Int]) {
            self.bounds = bounds
            self.counts = counts
        }
    }

    /// The remaining budgets of phones, measured after each push that used them.
    ///
    /// Each value is a share of what a phone may receive at once, from 0 to 1.
    public struct Budgets: Sendable, Hashable, Codable {
        /// The remaining budget after pushes of priority 10. `nil` if there has been no such push.
        public var high: Histogram?
        /// The remaining budget after starts. `nil` if there has been no start.
        public var start: Histogram?
        /// The number of starts that were postponed because the phone's budget was used up.
        public var startsPutOff: Int

        /// Creates the figures of budgets.
        public init(high: Histogram?, start: Histogram?, startsPutOff: Int) {
            self.high = high
            self.start = start
            self.startsPutOff = startsPutOff
        }
    }

    /// A route to APNs that has a problem.
    public struct RouteState: Sendable, Hashable, Codable {
        /// The APNs environment: `sandbox` or `production`.
        public var environment: String
        /// The state: `halted` (a person must repair it) or `inTrouble` (it continues by itself).
        public var state: String
        /// The stable code of the reason.
        public var code: String
        /// The reason in a sentence.
        public var text: String
        /// The time since which the problem exists.
        public var since: Instant
        /// The time of the next push that tests the route.
        public var nextAttemptAt: Instant

        /// Creates the state of a route.
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

    /// Creates an overview.
    public init(startedAt: Instant, version: String, interval: Int, samples: [Sample], routes: [RouteState]) {
        self.startedAt = startedAt
        self.version = version
        self.interval = interval
        self.samples = samples
        self.routes = routes
    }
}
