import APNSModel

/// A push in the client's hands, with who waits for it. Its completion is called exactly once.
final class PendingPush: Sendable {
    typealias Completion = @Sendable (Int, Result<PushAnswer, PushFailure>) -> Void

    let push: Push
    private let index: Int
    private let completion: Completion

    init(_ push: Push, index: Int, completion: @escaping Completion) {
        self.push = push
        self.index = index
        self.completion = completion
    }

    func complete(_ result: Result<PushAnswer, PushFailure>) {
        completion(index, result)
    }

    func fail(_ code: PushFailure.Code, _ detail: String) {
        completion(index, .failure(PushFailure(code, detail)))
    }
}

/// A push on its way, and for which reasons the client itself has sent it again: each at most once.
struct Attempt: Sendable {
    /// Why the client sends a push again without asking the caller: each is a definite "not processed".
    struct Resent: OptionSet, Sendable, Hashable {
        let rawValue: UInt8

        static let refusedByPeer = Self(rawValue: 1)
        static let newConnection = Self(rawValue: 2)
        static let renewedToken = Self(rawValue: 4)
        static let keptToken = Self(rawValue: 8)
    }

    let pending: PendingPush
    var resent: Resent = []

    var push: Push { pending.push }
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
