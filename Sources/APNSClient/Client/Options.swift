public import APNSModel

extension APNSClient {
    /// Limits and times of a client. The defaults suit Apple's service.
    public struct Options: Sendable {
        /// Maximum number of waiting pushes of one priority, per key and endpoint. A push beyond it fails with
        /// `overloaded`.
        ///
        /// High-priority pushes (`apns-priority` 10) and the others (5 and 1) each have this limit.
        public var maximumQueuedPushes = 100_000
        /// Share of low-priority pushes while both priorities wait: one push in this many is of low priority. This
        /// prevents starvation. At least 2.
        public var lowPriorityTurn = 8
        /// Maximum number of connections that accept pushes, per key and endpoint, from 1 to 64.
        ///
        /// Each connection has its own event loop while there are enough of them. The client opens another connection
        /// only if pushes wait and all existing connections use all streams that the peer allows. Apple encourages
        /// several connections, but blocks clients that open and close them often.
        public var maximumConnections = 2
        /// Time without a push after which a connection is closed. The only connection stays open, as Apple asks.
        public var idleConnectionLifetime = Duration.seconds(300)
        /// Maximum number of unanswered pushes on one connection, from 1 to 10,000. The peer may allow fewer.
        public var maximumConcurrentStreams = 1_000
        /// Maximum time for each step of connecting: TCP, TLS, and the peer's first frame.
        public var connectTimeout = Duration.seconds(10)
        /// Time after which a connection is replaced if its peer does not read the bytes that wait for it.
        public var writeTimeout = Duration.seconds(10)
        /// Time of silence after which the client sends a PING while answers are outstanding.
        public var keepAliveWhileBusy = Duration.seconds(15)
        /// Time of silence after which the client sends a PING while no answer is outstanding.
        public var keepAliveWhileIdle = Duration.seconds(60)
        /// Time of silence after which an idle connection must answer a PING before it gets a push.
        ///
        /// The push waits for one round trip, but is not lost on a connection that died unnoticed. A connection that
        /// does not answer within 3 seconds is replaced.
        public var verifyAfterIdle = Duration.seconds(10)
        /// Time after which a connection is replaced if it does not answer a PING.
        public var keepAliveTimeout = Duration.seconds(10)
        /// Wait after a failed connection. It doubles with every failure, and jitter shortens it by up to a half.
        public var reconnectDelay = Duration.milliseconds(100)
        /// Maximum wait between two attempts to connect.
        public var maximumReconnectDelay = Duration.seconds(5)
        /// Time for which `run()` and `shutdown()` wait for outstanding answers.
        public var shutdownGrace = Duration.seconds(10)

        /// The HTTP proxy for all connections, or `nil` for none. The client ignores environment variables.
        public var proxy: Proxy?

        /// Receives APNs's time from the `date` header of its answers, in whole seconds.
        ///
        /// Each connection reports each date once, so at most once a second. The calls are made on event loops: the
        /// closure must be quick and must not block.
        public var dateReceived: (@Sendable (UnixTime) -> Void)?

        /// Creates options with the default values.
        public init() {}

        func validate() throws(APNSClientError) {
            guard maximumQueuedPushes > 0 else {
                throw APNSClientError(.invalidOption, "maximumQueuedPushes must be at least 1")
            }
            guard (1...10_000).contains(maximumConcurrentStreams) else {
                throw APNSClientError(.invalidOption, "maximumConcurrentStreams must be between 1 and 10000")
            }
            guard lowPriorityTurn >= 2 else {
                throw APNSClientError(.invalidOption, "lowPriorityTurn must be at least 2")
            }
            guard (1...64).contains(maximumConnections) else {
                throw APNSClientError(.invalidOption, "maximumConnections must be between 1 and 64")
            }
            let times = [
                idleConnectionLifetime, writeTimeout, connectTimeout, keepAliveWhileBusy, keepAliveWhileIdle,
                verifyAfterIdle, keepAliveTimeout, reconnectDelay, maximumReconnectDelay,
            ]
            guard times.allSatisfy({ $0 > .zero && $0 <= .seconds(86_400) }), shutdownGrace >= .zero else {
                throw APNSClientError(.invalidOption, "each duration must be positive and at most one day")
            }
        }
    }
}
