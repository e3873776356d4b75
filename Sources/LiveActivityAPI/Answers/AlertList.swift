/// The answer of `GET /v1/alerts`: the alerts that fire now, as the server itself evaluates them.
public struct AlertList: Sendable, Hashable, Codable {
    /// The time when the rules were last evaluated. `nil` if this has not happened since the process started.
    public var evaluatedAt: Instant?
    /// The alerts of the caller's app and of the whole server, in the order of docs/metrics.md.
    public var alerts: [Alert]

    /// An alert that fires.
    public struct Alert: Sendable, Hashable, Codable {
        /// The name of its rule.
        public var name: String
        /// The urgency: `page` (act now) or `ticket` (act on a working day).
        public var severity: String
        /// The time since which the rule's expression holds.
        public var since: Instant
        /// The value of the rule's expression.
        public var value: Double
        /// The app, environment, type or webhook that the alert is about. Empty if it is about the whole server.
        public var labels: [String: String]
        /// A summary of one line.
        public var summary: String
        /// The meaning of the alert, and what to do.
        public var meaning: String

        /// Creates an alert.
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

    /// Creates a list of alerts.
    public init(evaluatedAt: Instant?, alerts: [Alert]) {
        self.evaluatedAt = evaluatedAt
        self.alerts = alerts
    }
}
