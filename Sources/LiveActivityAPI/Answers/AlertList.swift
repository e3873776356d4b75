/// The answer of `GET /v1/alerts`: what somebody should look at now, as the server itself sees it.
public struct AlertList: Sendable, Hashable, Codable {
    /// When the rules were last looked at; absent: not since the process began.
    public var evaluatedAt: Instant?
    /// Those that fire, of the caller's app and of the whole server, in the order of docs/metrics.md.
    public var alerts: [Alert]

    /// One that fires.
    public struct Alert: Sendable, Hashable, Codable {
        /// The name of its rule.
        public var name: String
        /// `page` (now) or `ticket` (on a working day).
        public var severity: String
        /// Since when it is so.
        public var since: Instant
        /// What the rule's expression comes to.
        public var value: Double
        /// Which app, environment, type or webhook it is about; none: the whole server.
        public var labels: [String: String]
        /// In a line.
        public var summary: String
        /// What it means, and what to do.
        public var meaning: String

        /// An alert that fires.
        public init(
            name: String, severity: String, since: Instant, value: Double, labels: [String: String], summary: String,
            meaning: String
        ) {
            self.name = name
            self.severity = severity
            self.since = since
            self.value = value
            self.labels = labels
            self.summary = summary
            self.meaning = meaning
        }
    }

    /// Alerts, and when they were looked for.
    public init(evaluatedAt: Instant?, alerts: [Alert]) {
        self.evaluatedAt = evaluatedAt
        self.alerts = alerts
    }
}
