/// Why the simulator did not do what was asked.
public struct SimulatorError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What kind of mistake it is; stable, for programs.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code as text: `unknown-phone`.
        public let text: String

        /// There is no phone with that id.
        public static let unknownPhone = Code(text: "unknown-phone")
        /// A phone with that id exists already.
        public static let phoneExists = Code(text: "phone-exists")
        /// There is no crowd of that name.
        public static let unknownCrowd = Code(text: "unknown-crowd")
        /// A crowd of that name exists already.
        public static let crowdExists = Code(text: "crowd-exists")
        /// More phones than the simulator's limit.
        public static let tooManyPhones = Code(text: "too-many-phones")
        /// The phone cannot do that now; the detail says why in ActivityKit's or iOS's terms.
        public static let actionRefused = Code(text: "action-refused")
        /// A key that cannot be read.
        public static let badKey = Code(text: "bad-key")
        /// A value out of its range.
        public static let badValue = Code(text: "bad-value")
        /// What was waited for did not come in time.
        public static let timedOut = Code(text: "timed-out")
        /// The simulator has stopped, or never started.
        public static let notRunning = Code(text: "not-running")

        /// The code as text.
        public var description: String { text }
    }

    /// What kind of mistake it is.
    public let code: Code
    /// What is wrong, for people; never a token, key or payload.
    public let detail: String

    init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// Code and detail.
    public var description: String { "\(code): \(detail)" }
}
