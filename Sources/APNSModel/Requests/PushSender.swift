/// Where pushes go: implemented by `APNSClient`, used by whatever decides what to push.
public protocol PushSender: Sendable {
    /// Sends one push and waits for APNs's answer.
    ///
    /// - Throws: `PushFailure` when there is no answer. An answer of APNs, refusals included, is returned.
    func send(_ push: Push) async throws(PushFailure) -> PushAnswer

    /// Sends many pushes; `completion` is called exactly once for each, in any order, on any thread, with its index.
    ///
    /// It returns at once. What does not fit the sender's queue is completed with `PushFailure.Code.overloaded`.
    func submit(_ pushes: [Push], completion: @escaping @Sendable (Int, Result<PushAnswer, PushFailure>) -> Void)
}

/// A request with its limits in time.
public struct Push: Sendable {
    /// What is sent, and where to.
    public let request: PushRequest
    /// It leaves before this instant or not at all: a claim's lease, checked just before the bytes leave.
    ///
    /// Both instants are of the sender's own clock: of an `APNSClient` the `time` that it was made with.
    public let sendBefore: MonotonicTime
    /// Its outcome is reported by this instant at the latest, whatever the peer does. It owns every wait and retry.
    public let answerBy: MonotonicTime

    /// A `sendBefore` later than `answerBy` is brought forward to it.
    public init(_ request: PushRequest, sendBefore: MonotonicTime, answerBy: MonotonicTime) {
        self.request = request
        self.sendBefore = min(sendBefore, answerBy)
        self.answerBy = answerBy
    }
}

/// Why a push has no answer.
public struct PushFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// What happened. Only `unknownFate` leaves open whether APNs has the push.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// It did not leave before `Push.sendBefore`.
        case notSentInTime
        /// No connection could be made.
        case cannotConnect
        /// The peer said that it did not process it (REFUSED_STREAM, or a stream above GOAWAY's last; RFC 9113 8.7).
        case refusedByPeer
        /// The sender's queue is full.
        case overloaded
        /// The sender is stopping; the push did not leave.
        case stopping
        /// No key is configured for the push's app and environment, so it did not leave.
        case notConfigured
        /// It left, wholly or in part, and no answer came: connection lost, or `Push.answerBy` passed.
        case unknownFate
    }

    /// What happened, for programs to switch over.
    public let code: Code
    /// For logs: never a token, key or payload.
    public let detail: String

    /// For implementations of `PushSender`; they keep secrets out of `detail`.
    public init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// Whether APNs may have the push.
    public var mayHaveArrived: Bool { code == .unknownFate }

    /// Code and detail in one line, fit for logs.
    public var description: String { "\(code.rawValue): \(detail)" }
}
