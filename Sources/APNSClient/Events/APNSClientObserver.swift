public import APNSModel

/// Hears what a client does with pushes: for metrics and for logs. Every method has an empty default. What becomes of a
/// broadcast or a channel's call is told to its caller alone.
///
/// It is called on NIO's event loops, for `queueChanged` and for a push that is not taken also on the thread that
/// submits: it must be quick, must not block, and may be called by several threads at once. It never gets a token, a
/// key or a payload.
///
/// A client without an observer pays nothing for this but a comparison with `nil`. With one, each push costs one
/// allocation of about 200 bytes, three readings of the monotonic clock, and the calls.
public protocol APNSClientObserver: Sendable {
    /// A connection may be used: TLS stands, and the peer's SETTINGS came.
    ///
    /// - Parameter duration: From the first attempt to connect.
    func connectionOpened(_ connection: APNSClient.ConnectionInfo, after duration: Duration)

    /// A connection could not be used. The client tries again by itself.
    func connectionFailed(_ connection: APNSClient.ConnectionInfo, reason: APNSClient.ConnectionEndReason)

    /// A connection that had been opened ended.
    ///
    /// - Parameter duration: How long it could be used.
    func connectionClosed(
        _ connection: APNSClient.ConnectionInfo, reason: APNSClient.ConnectionEndReason, after duration: Duration)

    /// A connection sends another provider token from here on.
    ///
    /// - Parameter issuedAt: Its `iat`.
    func providerTokenRenewed(_ connection: APNSClient.ConnectionInfo, issuedAt: UnixTime)

    /// A push left; a push that the client sends again leaves again.
    ///
    /// - Parameter duration: How long it waited in the client since it was submitted.
    func pushSent(_ push: APNSClient.PushInfo, after duration: Duration)

    /// APNs answered, a refusal included, and the caller is told so.
    ///
    /// - Parameters:
    ///   - answer: Its `verdict` says what it means.
    ///   - duration: Since the push left for the last time.
    func pushAnswered(_ push: APNSClient.PushInfo, answer: PushAnswer, after duration: Duration)

    /// A push ended without an answer, and the caller is told so.
    ///
    /// - Parameter duration: Since it was submitted.
    func pushFailed(_ push: APNSClient.PushInfo, failure: PushFailure, after duration: Duration)

    /// Pushes were taken into a queue, or out of it.
    ///
    /// Called by one thread at a time for each key and endpoint: the last depth that is told is the newest. Changes
    /// during a call are told together after it.
    ///
    /// - Parameter depth: How many wait now for this key and endpoint.
    func queueChanged(_ endpoint: APNSClient.Endpoint, keyID: String, depth: Int)
}

extension APNSClientObserver {
    /// Nothing.
    public func connectionOpened(_ connection: APNSClient.ConnectionInfo, after duration: Duration) {}
    /// Nothing.
    public func connectionFailed(
        _ connection: APNSClient.ConnectionInfo, reason: APNSClient.ConnectionEndReason
    ) {}
    /// Nothing.
    public func connectionClosed(
        _ connection: APNSClient.ConnectionInfo, reason: APNSClient.ConnectionEndReason, after duration: Duration
    ) {}
    /// Nothing.
    public func providerTokenRenewed(_ connection: APNSClient.ConnectionInfo, issuedAt: UnixTime) {}
    /// Nothing.
    public func pushSent(_ push: APNSClient.PushInfo, after duration: Duration) {}
    /// Nothing.
    public func pushAnswered(_ push: APNSClient.PushInfo, answer: PushAnswer, after duration: Duration) {}
    /// Nothing.
    public func pushFailed(_ push: APNSClient.PushInfo, failure: PushFailure, after duration: Duration) {}
    /// Nothing.
    public func queueChanged(_ endpoint: APNSClient.Endpoint, keyID: String, depth: Int) {}
}

extension APNSClient {
    /// Which connection an observer is told of.
    public struct ConnectionInfo: Sendable, Hashable {
        /// Where it goes.
        public let endpoint: Endpoint
        /// The id of its key.
        public let keyID: String
        /// The team of its key.
        public let teamID: String
        /// Counts the connections of its key and endpoint from 1.
        public let number: Int
    }

    /// Which push an observer is told of: nothing of its token or payload.
    public struct PushInfo: Sendable, Hashable {
        /// The value of `apns-id`.
        public let id: PushID
        /// The app and the push type.
        public let topic: Topic
        /// Sandbox or production.
        public let environment: APNSEnvironment
        /// The value of `apns-priority`.
        public let priority: PushPriority
        /// The size of the body.
        public let payloadBytes: Int

        init(_ request: PushRequest) {
            id = request.id
            topic = request.topic
            environment = request.environment
            priority = request.priority
            payloadBytes = request.payload.count
        }
    }

    /// Why a connection ended.
    public struct ConnectionEndReason: Sendable, Hashable, CustomStringConvertible {
        /// The kinds there are.
        public enum Code: Sendable, Hashable {
            /// It was not needed any more, or the peer said GOAWAY, and its last push was answered.
            case drained
            /// The peer broke HTTP/2.
            case protocolViolation
            /// No answer came to a PING.
            case keepAliveTimedOut
            /// The peer read nothing of what waited for it.
            case writeTimedOut
            /// The peer, or the network, closed it.
            case closedByPeer
            /// A proxy did not open the way.
            case proxy(ProxyError)
            /// It could not be made, or was lost: the name, TCP, TLS.
            case failed
            /// The client stopped before its last push was answered.
            case stopped
        }

        /// What happened, for programs.
        public let code: Code
        /// For people: holds no secret.
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
