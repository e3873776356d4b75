extension APNSClient {
    /// Limits and times; the defaults suit Apple's service.
    public struct Options: Sendable {
        /// How many pushes may wait, per key and endpoint; one more fails with `overloaded`.
        public var maximumQueuedPushes = 100_000
        /// How many pushes may be without answer on one connection, at most 10,000; the peer may allow fewer.
        public var maximumConcurrentStreams = 1_000
        /// How long a TCP connection, and after it TLS and the peer's first frame, may take each.
        public var connectTimeout = Duration.seconds(10)
        /// A PING is sent after this silence while answers are awaited.
        public var keepAliveWhileBusy = Duration.seconds(15)
        /// A PING is sent after this silence while nothing is awaited.
        public var keepAliveWhileIdle = Duration.seconds(60)
        /// A connection that does not answer a PING for so long is replaced.
        public var keepAliveTimeout = Duration.seconds(10)
        /// The wait after a connection failed: it doubles with every failure, less up to a half of it at random.
        public var reconnectDelay = Duration.milliseconds(100)
        /// The longest wait between two attempts to connect.
        public var maximumReconnectDelay = Duration.seconds(5)
        /// How long `run()` waits for open answers when it is stopped.
        public var shutdownGrace = Duration.seconds(10)

        /// The defaults.
        public init() {}

        func validate() throws(APNSClientError) {
            guard maximumQueuedPushes > 0 else {
                throw APNSClientError(.invalidOption, "maximumQueuedPushes is at least 1")
            }
            guard (1...10_000).contains(maximumConcurrentStreams) else {
                throw APNSClientError(.invalidOption, "maximumConcurrentStreams is between 1 and 10000")
            }
            let times = [
                connectTimeout, keepAliveWhileBusy, keepAliveWhileIdle, keepAliveTimeout, reconnectDelay,
                maximumReconnectDelay,
            ]
            guard times.allSatisfy({ $0 > .zero && $0 <= .seconds(86_400) }), shutdownGrace >= .zero else {
                throw APNSClientError(.invalidOption, "times are positive and at most a day")
            }
        }
    }
}
