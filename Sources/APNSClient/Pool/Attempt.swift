import APNSModel

/// A push in the client's hands, with who waits for it. Its completion is called exactly once.
final class PendingPush: Sendable {
    typealias Completion = @Sendable (Int, Result<PushAnswer, PushFailure>) -> Void

    let push: Push
    /// For the observer, if there is one.
    let trace: PushTrace?
    private let index: Int
    private let completion: Completion

    init(_ push: Push, index: Int, trace: PushTrace? = nil, completion: @escaping Completion) {
        self.push = push
        self.trace = trace
        self.index = index
        self.completion = completion
    }

    func complete(_ result: Result<PushAnswer, PushFailure>) {
        trace?.completed(result)
        completion(index, result)
    }

    func fail(_ code: PushFailure.Code, _ detail: String) {
        complete(.failure(PushFailure(code, detail)))
    }
}

/// A push on its way, and for which reasons the client itself has sent it again.
struct Attempt: Sendable {
    /// What APNs answered when the client sent a push again without asking the caller: each at most once.
    struct Resent: OptionSet, Sendable, Hashable {
        let rawValue: UInt8

        static let newConnection = Self(rawValue: 1)
        static let renewedToken = Self(rawValue: 2)
        static let keptToken = Self(rawValue: 4)
    }

    /// How often a push is sent again after the peer did not process it (RFC 9113 section 8.7): a service that is being
    /// restarted may say GOAWAY on one connection after the other, and the caller shall see nothing of it.
    static let maximumRefusals: UInt8 = 4

    let pending: PendingPush
    var resent: Resent = []
    /// How often the peer did not process it.
    var refusals: UInt8 = 0
    /// Its place among all pushes of its pool.
    var order: UInt64 = 0

    var push: Push { pending.push }
    var wasResent: Bool { !resent.isEmpty || refusals > 0 }
}

/// What came of a push on one stream of one connection.
struct Settlement {
    enum Outcome: Hashable {
        case answered(PushAnswer)
        /// The peer said that it did not process it (RFC 9113 section 8.7).
        case refused(String)
        /// It left, wholly or in part, and no answer came.
        case unknown(String)
    }

    let attempt: Attempt
    let streamID: UInt32
    let outcome: Outcome
}
