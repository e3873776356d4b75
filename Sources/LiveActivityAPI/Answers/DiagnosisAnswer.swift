public import JSONText

/// The answer of `GET /v1/devices/{device}/diagnosis`: the reasons why something did not arrive on one phone.
public struct DiagnosisAnswer: Sendable, Hashable, Codable {
    /// The id of the device.
    public var device: String
    /// The user of the device. `nil` if no such device is registered.
    public var user: String?
    /// The time of the diagnosis.
    public var at: Instant
    /// The gravest severity among the findings.
    public var verdict: Severity
    /// The findings, the gravest first.
    public var findings: [Finding]

    /// The severity of a finding.
    public enum Severity: String, Sendable, Hashable, Codable, CaseIterable {
        /// Worth knowing.
        case note
        /// Something is wrong, but pushes still arrive.
        case warning
        /// Nothing more is sent now. It continues by itself.
        case waiting
        /// Nothing arrives until somebody acts, or nothing is to arrive any more.
        case blocked
    }

    /// One finding.
    public struct Finding: Sendable, Hashable, Codable {
        /// The stable id for programs.
        public var id: String
        /// The severity.
        public var severity: Severity
        /// The activity that the finding is about. `nil` if it is about the device as a whole.
        public var activity: String?
        /// The sentence for people.
        public var text: String
        /// A way to fix it. `nil` if nothing is to be done.
        public var fix: String?
        /// The values that prove the finding.
        public var evidence: JSONObject

        /// Creates a finding.
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

    /// Creates the diagnosis of one device.
    public init(device: String, user: String? = nil, at: Instant, verdict: Severity, findings: [Finding]) {
        self.device = device
        self.user = user
        self.at = at
        self.verdict = verdict
        self.findings = findings
    }
}
