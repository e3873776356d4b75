public import APNSModel

extension APNSClient {
    /// Limits and times; the defaults suit Apple's service.
    public struct Options: Sendable {
        /// How many pushes of one priority may wait, per key and endpoint; one more fails with `overloaded`. High ones
        /// (`apns-priority` 10) and low ones (5) have this room each.
        public var maximumQueuedPushes = 100_000
        /// While high and low priority pushes wait, one in so many that leave is of low priority, so that none starves;
        /// the others are high. At least 2.
        public var lowPriorityTurn = 8
        /// How many connections may take pushes, per key and endpoint, between 1 and 64; each has an event loop of its
        /// own as long as there are enough. Another one is made only when those there have all the streams that the
        /// peer allows them and pushes wait: Apple encourages several, and blocks who opens and closes them often.
        public var maximumConnections = 2
        /// A connection that took no push for so long is closed, unless it is the only one: that is kept open, as Apple
        /// asks.
        public var idleConnectionLifetime = Duration.seconds(300)
        /// How many pushes may be without answer on one connection, at most 10,000; the peer may allow fewer.
        public var maximumConcurrentStreams = 1_000
        /// How long a TCP connection, and after it TLS and the peer's first frame, may take each.
        public var connectTimeout = Duration.seconds(10)
        /// A connection whose peer reads nothing of what waits for it for so long is replaced.
        public var writeTimeout = Duration.seconds(10)
        /// A PING is sent after this silence while answers are awaited.
        public var keepAliveWhileBusy = Duration.seconds(15)
        /// A PING is sent after this silence while nothing is awaited.
        public var keepAliveWhileIdle = Duration.seconds(60)
        /// A connection that was idle and silent for so long is asked by a PING before it takes a push: that push waits
        /// for one journey there and back, and is not lost on a connection that died unnoticed. One that does not
        /// answer within 3 seconds is replaced.
        public var verifyAfterIdle = Duration.seconds(10)
        /// A connection that does not answer a PING for so long is replaced.
        public var keepAliveTimeout = Duration.seconds(10)
        /// The wait after a connection failed: it doubles with every failure, less up to a half of it at random.
        public var reconnectDelay = Duration.milliseconds(100)
        /// The longest wait between two attempts to connect.
        public var maximumReconnectDelay = Duration.seconds(5)
        /// How long `run()` waits for open answers when it is stopped.
        public var shutdownGrace = Duration.seconds(10)

        /// The HTTP proxy that all connections go through; none when `nil`. Environment variables are not looked at.
        public var proxy: Proxy?

        /// Hears the time on APNs's clock (`date`, whole seconds) from its answers: of each connection, each date
        /// once, so at most once a second. Called on event loops: it must be quick and must not block.
        public var dateReceived: (@Sendable (UnixTime) -> Void)?

        /// The defaults.
        public init() {}

        func validate() throws(APNSClientError) {
            guard maximumQueuedPushes > 0 else {
                throw APNSClientError(.invalidOption, "maximumQueuedPushes is at least 1")
            }
            guard (1...10_000).contains(maximumConcurrentStreams) else {
                throw APNSClientError(.invalidOption, "maximumConcurrentStreams is between 1 and 10000")
            }
            guard lowPriorityTurn >= 2 else {
                throw APNSClientError(.invalidOption, "lowPriorityTurn is at least 2")
            }
            guard (1...64).contains(maximumConnections) else {
                throw APNSClientError(.invalidOption, "maximumConnections is between 1 and 64")
            }
            let times = [
                idleConnectionLifetime, writeTimeout, connectTimeout, keepAliveWhileBusy, keepAliveWhileIdle,
                verifyAfterIdle, keepAliveTimeout, reconnectDelay, maximumReconnectDelay,
            ]
            guard times.allSatisfy({ $0 > .zero && $0 <= .seconds(86_400) }), shutdownGrace >= .zero else {
                throw APNSClientError(.invalidOption, "times are positive and at most a day")
            }
        }
    }
}
