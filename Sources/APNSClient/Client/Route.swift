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
        /// Where broadcasts go, and where channels are managed. Made for connections of their own, when they are used.
        public var broadcast: BroadcastEndpoints

        /// - Parameters:
        ///   - endpoint: Apple's for the environment, unless a simulator or a proxy is meant.
        ///   - trustRoots: The operating system's, unless the endpoint has a certificate of its own authority.
        ///   - broadcast: Apple's for the environment, with `endpoint` to send to if one is given.
        public init(
            bundleID: BundleID, environment: APNSEnvironment, key: ProviderKey, endpoint: Endpoint? = nil,
            trustRoots: TrustRoots = .system, broadcast: BroadcastEndpoints? = nil
        ) {
            self.bundleID = bundleID
            self.environment = environment
            self.key = key
            self.endpoint = endpoint ?? .apple(environment)
            self.trustRoots = trustRoots
            var standard = BroadcastEndpoints.apple(environment)
            if let endpoint {
                // Another port of Apple's is still Apple's.
                let isApples = endpoint.host == Endpoint.apple(environment).host
                (standard.send, standard.sendFallback) = (endpoint, isApples ? standard.sendFallback : nil)
            }
            self.broadcast = broadcast ?? standard
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
        /// Pushes that left and have no answer yet, over all connections, as of the last 50 ms or so.
        public let openStreams: Int
        /// How many may be open at once now, over all connections: what the peer allows, 1 on each before it accepted
        /// the provider token.
        public let maximumStreams: Int
        /// Pushes that have not left, of both priorities.
        public let queued: Int
        /// How far APNs's clock is ahead of ours by its last `date` header, in whole seconds plus the time of travel;
        /// `nil` before the first. Beyond some minutes APNs may refuse the provider token.
        public let clockSkew: Duration?
        /// Why the last connection failed or ended; `nil` once a later one stands.
        public let lastError: String?
        /// The same for programs: what a proxy said, for instance.
        public let lastEnd: ConnectionEndReason?
        /// The connections that stand, the oldest first, with those that only finish their streams.
        public let connections: [ConnectionStatus]
    }

    /// How one connection does, as of the last 50 ms or so.
    public struct ConnectionStatus: Sendable, Hashable {
        /// Counts the connections of its key and endpoint from 1.
        public let number: Int
        /// Whether it opens no stream any more: the peer said GOAWAY, or it is not needed.
        public let isDraining: Bool
        /// Pushes that left on it and have no answer yet.
        public let openStreams: Int
        /// How many may be open at once now: what the peer allows, 1 before it accepted the provider token.
        public let maximumStreams: Int
        /// The `iat` of the provider token that it uses; `nil` before its first push. A connection keeps its token for
        /// 20 minutes at least, as APNs asks, and for 50 at most.
        public let tokenIssuedAt: UnixTime?
        /// How far APNs's clock is ahead of ours by the last `date` header that came on it; `nil` before the first.
        public let clockSkew: Duration?
    }
}
