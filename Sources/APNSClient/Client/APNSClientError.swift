/// Why a client cannot be made or run; the description says what to change.
public struct APNSClientError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// Its name.
        public let description: String

        /// The text is not `https://host:port`.
        public static let invalidEndpoint = Self(description: "invalidEndpoint")
        /// The trust roots are missing, or are not PEM certificates.
        public static let invalidTrustRoots = Self(description: "invalidTrustRoots")
        /// The proxy cannot be one.
        public static let invalidProxy = Self(description: "invalidProxy")
        /// The text is no bundle id.
        public static let invalidBundleID = Self(description: "invalidBundleID")
        /// Two routes name the same app and environment.
        public static let duplicateRoute = Self(description: "duplicateRoute")
        /// An option is outside its range.
        public static let invalidOption = Self(description: "invalidOption")
        /// `run()` was called a second time.
        public static let alreadyRunning = Self(description: "alreadyRunning")
    }

    /// What is wrong, for programs.
    public let code: Code
    /// For people: holds no key or token.
    public let detail: String

    init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// What is wrong, for people.
    public var description: String { detail }
}
