public import JSONText

/// The answer of `GET /v1/devices/{device}/diagnosis`: why something did not arrive on one phone, finding by finding.
public struct DiagnosisAnswer: Sendable, Hashable, Codable {
    /// The id of the device.
    public var device: String
    /// The user of the device; absent: no such device is registered.
    public var user: String?
    /// When it was looked.
    public var at: Instant
    /// The gravest severity among the findings.
    public var verdict: Severity
    /// What was found, the gravest first.
    public var findings: [Finding]

    /// How bad a finding is.
    public enum Severity: String, Sendable, Hashable, Codable, CaseIterable {
        /// Worth knowing.
        case note
        /// It works, but something is off.
        case warning
        /// Nothing more goes out now; it goes on by itself.
        case waiting
        /// Nothing arrives before somebody does something, or nothing is to arrive any more.
        case blocked
    }

    /// One thing that was found.
    public struct Finding: Sendable, Hashable, Codable {
        /// The stable name, for programs.
        public var id: String
        /// How bad it is.
        public var severity: Severity
        /// The activity it is about; absent: the device as a whole.
        public var activity: String?
        /// The sentence, for people.
        public var text: String
        /// What to do; absent: nothing.
        public var fix: String?
        /// The values that show it.
        public var evidence: JSONObject

        /// One finding.
        public init(
            id: String, severity: Severity, activity: String? = nil, text: String, fix: String? = nil,
            evidence: JSONObject = [:]
        ) {
            self.id = id
            self.severity = severity
            self.activity = activity
            self.text = text
            self.fix = fix
            self.evidence = evidence
        }
    }

    /// The findings on one device.
    public init(device: String, user: String? = nil, at: Instant, verdict: Severity, findings: [Finding]) {
        self.device = device
        self.user = user
        self.at = at
        self.verdict = verdict
        self.findings = findings
    }
}
