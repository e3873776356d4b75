import APNSModel

/// Pushes that were submitted together, in the client's hands, with who waits for them: told exactly once of each.
///
/// One object for all of them: a push of many costs no allocation of its own.
final class PendingBatch: Sendable {
    typealias Completion = @Sendable (Int, Result<PushAnswer, PushFailure>) -> Void

    private enum Waiter: Sendable {
        case completion(Completion)
        /// For a single push: without a closure around it, which would be an allocation. Unchecked for the same reason.
        case continuation(UnsafeContinuation<Result<PushAnswer, PushFailure>, Never>)
    }

    let pushes: [Push]
    /// For the observer, one for each push; empty without one.
    private let traces: [PushTrace]
    private let waiter: Waiter

    init(_ pushes: [Push], traces: [PushTrace] = [], completion: @escaping Completion) {
        self.pushes = pushes
        self.traces = traces
        waiter = .completion(completion)
    }

    init(
        one pushes: [Push], traces: [PushTrace],
        continuation: UnsafeContinuation<Result<PushAnswer, PushFailure>, Never>
    ) {
        self.pushes = pushes
        self.traces = traces
        waiter = .continuation(continuation)
    }

    func wasSent(_ index: Int, at now: MonotonicTime) {
        if !traces.isEmpty { traces[index].sent(at: now) }
    }

    func complete(_ index: Int, _ result: Result<PushAnswer, PushFailure>) {
        if !traces.isEmpty { traces[index].completed(result) }
        switch waiter {
        case .completion(let completion): completion(index, result)
        case .continuation(let continuation): continuation.resume(returning: result)
        }
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

    private let batch: PendingBatch
    private let index: Int
    var resent: Resent = []
    /// How often the peer did not process it.
    var refusals: UInt8 = 0
    /// Its place among all pushes of its pool.
    var order: UInt64 = 0

    /// The push at that index.
    init(_ batch: PendingBatch, _ index: Int) {
        self.batch = batch
        self.index = index
    }

    /// The push in its place: a copy of the whole counts references to each of its parts.
    var push: Push { _read { yield batch.pushes[index] } }

    var hex: String { push.request.destination.hex }
    var topic: Topic { push.request.topic }
    var id: PushID { push.request.id }
    var expiration: PushExpiration { push.request.expiration }
    var collapseID: CollapseID? { push.request.collapseID }
    var payload: [UInt8] { push.request.payload }
    var priority: PushPriority { push.request.priority }
    var sendBefore: MonotonicTime { push.sendBefore }
    var answerBy: MonotonicTime { push.answerBy }

    var wasResent: Bool { !resent.isEmpty || refusals > 0 }

    func wasSent(at now: MonotonicTime) {
        batch.wasSent(index, at: now)
    }

    func complete(_ result: Result<PushAnswer, PushFailure>) {
        batch.complete(index, result)
    }

    func fail(_ code: PushFailure.Code, _ detail: String) {
        complete(.failure(PushFailure(code, detail)))
    }
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
