/// An error in the configuration or use of a client. Its description says what to change.
public struct APNSClientError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of error.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name of the code.
        public let description: String

        /// The string is not `https://host:port`, or its host or port is not valid.
        public static let invalidEndpoint = Self(description: "invalidEndpoint")
        /// The trust roots are missing, or are not PEM certificates.
        public static let invalidTrustRoots = Self(description: "invalidTrustRoots")
        /// The proxy's address or credentials are not valid.
        public static let invalidProxy = Self(description: "invalidProxy")
        /// The string is not a bundle id.
        public static let invalidBundleID = Self(description: "invalidBundleID")
        /// Two routes name the same app and environment.
        public static let duplicateRoute = Self(description: "duplicateRoute")
        /// An option is outside its range.
        public static let invalidOption = Self(description: "invalidOption")
        /// `run()` was called a second time.
        public static let alreadyRunning = Self(description: "alreadyRunning")
    }

    /// The kind of error, for programs.
    public let code: Code
    /// A description for people. It contains no key or token.
    public let detail: String

    init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// A description for people, equal to `detail`.
    public var description: String { detail }
}
