public import APNSModel

extension APNSClient {
    /// Which key and endpoint the pushes of one app in one environment take.
    ///
    /// Routes with the same key, endpoint and trust roots share their connections.
    public struct Route: Sendable {
        /// The app, by its exact bundle id.
        public var bundleID: BundleID
        /// The environment of the tokens that take the route.
        public var environment: APNSEnvironment
        /// Signs the provider tokens.
        public var key: ProviderKey
        /// Where the connection goes.
        public var endpoint: Endpoint
        /// Whom the connection trusts.
        public var trustRoots: TrustRoots

        /// - Parameters:
        ///   - endpoint: Apple's for the environment, unless a simulator or a proxy is meant.
        ///   - trustRoots: The operating system's, unless the endpoint has a certificate of its own authority.
        public init(
            bundleID: BundleID, environment: APNSEnvironment, key: ProviderKey, endpoint: Endpoint? = nil,
            trustRoots: TrustRoots = .system
        ) {
            self.bundleID = bundleID
            self.environment = environment
            self.key = key
            self.endpoint = endpoint ?? .apple(environment)
            self.trustRoots = trustRoots
        }
    }

    /// How the connections of one key and endpoint do: for health checks and consoles. Holds no secret.
    public struct RouteStatus: Sendable, Hashable {
        /// Where the connections go.
        public let endpoint: Endpoint
        /// The id of their key.
        public let keyID: String
        /// The team of their key.
        public let teamID: String
        /// Whether a connection stands that takes pushes.
        public let isConnected: Bool
        /// Pushes that left and have no answer yet, as of the last 50 ms or so.
        public let openStreams: Int
        /// How many may be open at once now: what the peer allows, 1 before it accepted the provider token.
        public let maximumStreams: Int
        /// Pushes that have not left.
        public let queued: Int
        /// How far APNs's clock is ahead of ours by its last `date` header, in whole seconds plus the time of travel;
        /// `nil` before the first. Beyond some minutes APNs may refuse the provider token.
        public let clockSkew: Duration?
        /// Why the last connection failed or ended; `nil` once a later one stands.
        public let lastError: String?
    }
}
