public import APNSModel

/// Receives the events of a client, for metrics and logs.
///
/// Every method has an empty default implementation. Broadcasts and channel calls have no events: their outcome goes to
/// the caller alone.
///
/// The client calls these methods on event loops of NIO. It calls `queueChanged`, and `pushFailed` for a push that it
/// does not accept, also on the thread that submits. An implementation must be quick, must not block, and must accept
/// calls from several threads at once. It never receives a token, a key or a payload.
///
/// A client without an observer only pays for a comparison with `nil`. With an observer, each push costs one allocation
/// of about 200 bytes, three readings of the monotonic clock, and the calls.
public protocol APNSClientObserver: Sendable {
    /// A connection is ready for pushes: TLS is established, and the peer's SETTINGS frame has arrived.
    ///
    /// - Parameter duration: Time since the client began to connect.
    func connectionOpened(_ connection: APNSClient.ConnectionInfo, after duration: Duration)

    /// A connection failed before it was ready. The client tries again by itself.
    func connectionFailed(_ connection: APNSClient.ConnectionInfo, reason: APNSClient.ConnectionEndReason)

    /// A connection that had been opened ended.
    ///
    /// - Parameter duration: Time for which the connection was ready.
    func connectionClosed(
        _ connection: APNSClient.ConnectionInfo, reason: APNSClient.ConnectionEndReason, after duration: Duration)

    /// A connection begins to use another provider token.
    ///
    /// - Parameter issuedAt: The claim `iat` of the token.
    func providerTokenRenewed(_ connection: APNSClient.ConnectionInfo, issuedAt: UnixTime)

    /// A push was written to a connection. If the client sends the push again, it calls this method again.
    ///
    /// - Parameter duration: Time since the push was submitted.
    func pushSent(_ push: APNSClient.PushInfo, after duration: Duration)

    /// APNs answered a push, perhaps with a refusal, and the caller receives that answer.
    ///
    /// - Parameters:
    ///   - answer: The answer of APNs. Its `verdict` says what it means.
    ///   - duration: Time since the client last sent the push.
    func pushAnswered(_ push: APNSClient.PushInfo, answer: PushAnswer, after duration: Duration)

    /// A push ended without an answer, and the caller receives that failure.
    ///
    /// - Parameter duration: Time since the push was submitted.
    func pushFailed(_ push: APNSClient.PushInfo, failure: PushFailure, after duration: Duration)

    /// Pushes were added to a queue or removed from it.
    ///
    /// For each key and endpoint, one thread at a time makes this call, so the last reported depth is the newest.
    /// Changes during a call are reported together after it.
    ///
    /// - Parameter depth: Number of pushes that now wait for this key and endpoint.
    func queueChanged(_ endpoint: APNSClient.Endpoint, keyID: String, depth: Int)
}

extension APNSClientObserver {
    /// Does nothing.
    public func connectionOpened(_ connection: APNSClient.ConnectionInfo, after duration: Duration) {}
    /// Does nothing.
    public func connectionFailed(
        _ connection: APNSClient.ConnectionInfo, reason: APNSClient.ConnectionEndReason
    ) {}
    /// Does nothing.
    public func connectionClosed(
        _ connection: APNSClient.ConnectionInfo, reason: APNSClient.ConnectionEndReason, after duration: Duration
    ) {}
    /// Does nothing.
    public func providerTokenRenewed(_ connection: APNSClient.ConnectionInfo, issuedAt: UnixTime) {}
    /// Does nothing.
    public func pushSent(_ push: APNSClient.PushInfo, after duration: Duration) {}
    /// Does nothing.
    public func pushAnswered(_ push: APNSClient.PushInfo, answer: PushAnswer, after duration: Duration) {}
    /// Does nothing.
    public func pushFailed(_ push: APNSClient.PushInfo, failure: PushFailure, after duration: Duration) {}
    /// Does nothing.
    public func queueChanged(_ endpoint: APNSClient.Endpoint, keyID: String, depth: Int) {}
}

extension APNSClient {
    /// The connection that an event is about.
    public struct ConnectionInfo: Sendable, Hashable {
        /// The endpoint of the connection.
        public let endpoint: Endpoint
        /// The id of the key that signs the connection's provider tokens.
        public let keyID: String
        /// The id of the key's team.
        public let teamID: String
        /// Sequence number of the connection among those of its key and endpoint, beginning with 1.
        public let number: Int
    }

    /// The push that an event is about, without its token and payload.
    public struct PushInfo: Sendable, Hashable {
        /// The value of `apns-id`.
        public let id: PushID
        /// The app and the push type.
        public let topic: Topic
        /// The APNs environment: sandbox or production.
        public let environment: APNSEnvironment
        /// The value of `apns-priority`.
        public let priority: PushPriority
        /// Size of the body in bytes.
        public let payloadBytes: Int

        init(_ request: PushRequest) {
            id = request.id
            topic = request.topic
            environment = request.environment
            priority = request.priority
            payloadBytes = request.payload.count
        }
    }

    /// The reason why a connection ended.
    public struct ConnectionEndReason: Sendable, Hashable, CustomStringConvertible {
        /// The kinds of reasons.
        public enum Code: Sendable, Hashable {
            /// The connection was no longer needed, or the peer sent GOAWAY. All of its pushes were answered.
            case drained
            /// The peer violated HTTP/2.
            case protocolViolation
            /// The peer did not answer a PING.
            case keepAliveTimedOut
            /// The peer did not read the bytes that waited for it.
            case writeTimedOut
            /// The peer or the network closed the connection.
            case closedByPeer
            /// A proxy did not open a tunnel.
            case proxy(ProxyError)
            /// The connection could not be made, or it was lost. The cause is name resolution, TCP or TLS.
            case failed
            /// The client stopped before the connection's last push was answered.
            case stopped
        }

        /// The kind of reason, for programs.
        public let code: Code
        /// A description for people. It contains no secret.
        public let description: String

        init(_ end: ConnectionEnd) {
            description = end.text
            code =
                switch end {
                case .drained: .drained
                case .violation: .protocolViolation
                case .keepAliveTimedOut: .keepAliveTimedOut
                case .writeTimedOut: .writeTimedOut
                case .closedByPeer: .closedByPeer
                case .proxy(let error): .proxy(error)
                case .failed: .failed
                case .stopped: .stopped
                }
        }
    }
}
