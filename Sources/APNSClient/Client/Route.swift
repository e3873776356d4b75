public import APNSModel

extension APNSClient {
    /// The key and endpoint for the pushes of one app in one environment.
    ///
    /// Routes with the same key, endpoint and trust roots share their connections.
    public struct Route: Sendable {
        /// The exact bundle id of the app.
        public var bundleID: BundleID
        /// The APNs environment of the tokens that use this route.
        public var environment: APNSEnvironment
        /// The key that signs the provider tokens.
        public var key: ProviderKey
        /// The endpoint for pushes.
        public var endpoint: Endpoint
        /// The certificate authorities that the connections trust.
        public var trustRoots: TrustRoots
        /// The endpoints for broadcasts and channel management. They have connections of their own, opened on first
        /// use.
        public var broadcast: BroadcastEndpoints

        /// Creates a route.
        ///
        /// - Parameters:
        ///   - bundleID: The exact bundle id of the app.
        ///   - environment: The APNs environment of the tokens that use this route.
        ///   - key: The key that signs the provider tokens.
        ///   - endpoint: The endpoint for pushes. The default is Apple's for the environment.
        ///   - trustRoots: The trusted certificate authorities. The default is the operating system's.
        ///   - broadcast: The endpoints for broadcasts and channels. The default is Apple's for the environment, but
        ///     broadcasts go to `endpoint` if one is given.
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
                // Apple's host on another port is still Apple's service, so the fallback remains.
                let isApples = endpoint.host == Endpoint.apple(environment).host
                (standard.send, standard.sendFallback) = (endpoint, isApples ? standard.sendFallback : nil)
            }
            self.broadcast = broadcast ?? standard
        }
    }

    /// The state of the connections of one key and endpoint, for health checks and consoles. It contains no secret.
    public struct RouteStatus: Sendable, Hashable {
        /// The endpoint of the connections.
        public let endpoint: Endpoint
        /// The id of the key.
        public let keyID: String
        /// The id of the key's team.
        public let teamID: String
        /// `true` if at least one connection accepts pushes.
        public let isConnected: Bool
        /// Number of pushes that were sent and have no answer yet, over all connections. The value may be about 50 ms
        /// old.
        public let openStreams: Int
        /// Number of pushes that may be unanswered at once, over all connections that accept pushes.
        ///
        /// Each connection contributes what the peer allows, or 1 until APNs has accepted its provider token.
        public let maximumStreams: Int
        /// Number of pushes that were not sent yet, of all priorities.
        public let queued: Int
        /// Difference of APNs's clock to the local clock, or `nil` before the first answer. Positive if APNs's clock is
        /// ahead.
        ///
        /// It comes from the last `date` header, in whole seconds, and includes the time of travel. APNs may refuse the
        /// provider token if the difference exceeds some minutes.
        public let clockSkew: Duration?
        /// The reason why the last connection failed or ended, or `nil` after a later one became ready.
        public let lastError: String?
        /// The reason in `lastError` as a value for programs, such as the answer of a proxy.
        public let lastEnd: ConnectionEndReason?
        /// The open connections, oldest first. They include those that only finish their streams.
        public let connections: [ConnectionStatus]
    }

    /// The state of one connection. The values may be about 50 ms old.
    public struct ConnectionStatus: Sendable, Hashable {
        /// Sequence number of the connection among those of its key and endpoint, beginning with 1.
        public let number: Int
        /// `true` if the connection opens no more streams, because the peer sent GOAWAY or the connection is not
        /// needed.
        public let isDraining: Bool
        /// Number of pushes that were sent on the connection and have no answer yet.
        public let openStreams: Int
        /// Number of pushes that may be unanswered at once: what the peer allows, or 1 until APNs has accepted the
        /// provider token.
        public let maximumStreams: Int
        /// The claim `iat` of the connection's provider token, or `nil` before its first push.
        ///
        /// A connection keeps its token for at least 20 minutes, as APNs asks, and at most 50 minutes.
        public let tokenIssuedAt: UnixTime?
        /// Difference of APNs's clock to the local clock by the connection's last `date` header, or `nil` before the
        /// first. Positive if APNs's clock is ahead.
        public let clockSkew: Duration?
    }
}
