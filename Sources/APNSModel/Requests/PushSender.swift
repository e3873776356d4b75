/// A sender of pushes. `APNSClient` implements it, and code that decides what to push uses it.
public protocol PushSender: Sendable {
    /// Sends one push and waits for the answer of APNs, which may be a refusal.
    ///
    /// - Throws: `PushFailure` if there is no answer.
    func send(_ push: Push) async throws(PushFailure) -> PushAnswer

    /// Sends many pushes. Calls `completion` exactly once for each, with its index, in any order and on any thread.
    ///
    /// The method returns immediately. Pushes that do not fit the sender's queue complete with
    /// `PushFailure.Code.overloaded`.
    func submit(_ pushes: [Push], completion: @escaping @Sendable (Int, Result<PushAnswer, PushFailure>) -> Void)
}

/// A request with its time limits.
public struct Push: Sendable {
    /// The request.
    public let request: PushRequest
    /// Time before which the push must leave. Otherwise it is never sent. Checked immediately before the bytes are
    /// written.
    ///
    /// A lease sets this limit, for example. Both instants belong to the sender's clock: for an `APNSClient`, the
    /// `time` that it was created with.
    public let sendBefore: MonotonicTime
    /// Latest time at which the outcome is reported, whatever the peer does. It includes every wait and retry.
    public let answerBy: MonotonicTime

    /// Creates a push. If `sendBefore` is later than `answerBy`, it becomes `answerBy`.
    public init(_ request: PushRequest, sendBefore: MonotonicTime, answerBy: MonotonicTime) {
        self.request = request
        self.sendBefore = min(sendBefore, answerBy)
        self.answerBy = answerBy
    }
}

/// The reason why a push has no answer.
public struct PushFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of failures. Only after `unknownFate` is it open whether APNs has the push.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// The push did not leave before `Push.sendBefore`.
        case notSentInTime
        /// No connection could be made.
        case cannotConnect
        /// The peer did not process the push: REFUSED_STREAM, or a stream after the last one of a GOAWAY (RFC 9113
        /// section 8.7).
        case refusedByPeer
        /// The sender's queue is full.
        case overloaded
        /// The sender is stopping. The push was not sent.
        case stopping
        /// No key is configured for the push's app and environment. The push was not sent.
        case notConfigured
        /// The push was sent, completely or in part, and no answer came. The connection was lost, or `Push.answerBy`
        /// passed.
        case unknownFate
    }

    /// The kind of failure, for programs.
    public let code: Code
    /// A description for logs. It never contains a token, key or payload.
    public let detail: String

    /// Creates a failure. For implementations of `PushSender`, which must keep secrets out of `detail`.
    public init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// `true` if APNs may have the push.
    public var mayHaveArrived: Bool { code == .unknownFate }

    /// Code and detail in one line, for logs.
    public var description: String { "\(code.rawValue): \(detail)" }
}
