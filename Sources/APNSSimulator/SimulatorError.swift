/// An error of a call to the simulator.
public struct SimulatorError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A stable code for programs.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code as text: `unknown-phone`.
        public let text: String

        /// No phone has that id.
        public static let unknownPhone = Code(text: "unknown-phone")
        /// A phone with that id exists already.
        public static let phoneExists = Code(text: "phone-exists")
        /// APNs has no channel with that id.
        public static let unknownChannel = Code(text: "unknown-channel")
        /// No crowd has that name.
        public static let unknownCrowd = Code(text: "unknown-crowd")
        /// A crowd with that name exists already.
        public static let crowdExists = Code(text: "crowd-exists")
        /// The simulator's limit of phones or crowd members would be exceeded.
        public static let tooManyPhones = Code(text: "too-many-phones")
        /// The phone cannot do that now. The detail says why, in the terms of ActivityKit or iOS.
        public static let actionRefused = Code(text: "action-refused")
        /// The key cannot be read.
        public static let badKey = Code(text: "bad-key")
        /// The value is out of its range.
        public static let badValue = Code(text: "bad-value")
        /// The wait ended without the condition being met.
        public static let timedOut = Code(text: "timed-out")
        /// The simulator has stopped, or never started.
        public static let notRunning = Code(text: "not-running")

        /// The code as text.
        public var description: String { text }
    }

    /// The code of the error.
    public let code: Code
    /// Description of the error for people, without tokens, keys or payloads.
    public let detail: String

    init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// The code and the detail.
    public var description: String { "\(code): \(detail)" }
}
