import APNSModel

/// Pushes that were submitted together, in the client's hands, with who waits for them: told exactly once of each.
///
/// One object for all of them: a push of many costs no allocation of its own.
final class PendingBatch: Sendable {
    typealias Completion = @Sendable (Int, Result<PushAnswer, PushFailure>) -> Void

    typealias Continuation = UnsafeContinuation<Result<PushAnswer, PushFailure>, Never>

    /// The only push, or the first of `all`: in its place it costs a push of its own no array.
    private let first: Push
    /// Empty when there is one alone.
    private let all: [Push]
    /// For the observer, one for each push; empty without one.
    private let traces: [PushTrace]
    private let completion: Completion?
    /// For a single push: without a closure around it, which would be an allocation. Unchecked for the same reason.
    /// Set before anybody else has the batch.
    nonisolated(unsafe) var continuation: Continuation?

    /// - Parameter pushes: All of them, beginning with `first`.
    init(
        _ first: Push, of pushes: [Push], traces: [PushTrace] = [], completion: @escaping Completion
    ) {
        self.first = first
        all = pushes
        self.traces = traces
        self.completion = completion
    }

    init(_ push: consuming Push, traces: [PushTrace]) {
        first = push
        all = []
        self.traces = traces
        completion = nil
    }

    var indices: Range<Int> { 0..<max(1, all.count) }

    /// A part of a push where it lies: a copy of the whole counts references to each of its parts.
    @inline(__always)
    func part<Part>(_ index: Int, _ part: (borrowing Push) -> Part) -> Part {
        all.isEmpty ? part(first) : part(all[index])
    }

    func wasSent(_ index: Int, at now: MonotonicTime) {
        if !traces.isEmpty { traces[index].sent(at: now) }
    }

    func complete(_ index: Int, _ result: Result<PushAnswer, PushFailure>) {
        if !traces.isEmpty { traces[index].completed(result) }
        completion?(index, result)
        continuation?.resume(returning: result)
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

    var hex: String { part { $0.request.destination.hex } }
    var topic: Topic { part { $0.request.topic } }
    var bundleID: BundleID { part { $0.request.topic.bundleID } }
    var pushType: PushType { part { $0.request.topic.pushType } }
    var id: PushID { part { $0.request.id } }
    var expiration: PushExpiration { part { $0.request.expiration } }
    var collapseID: CollapseID? { part { $0.request.collapseID } }
    var payload: [UInt8] { part { $0.request.payload } }
    var priority: PushPriority { part { $0.request.priority } }
    var sendBefore: MonotonicTime { part { $0.sendBefore } }
    var answerBy: MonotonicTime { part { $0.answerBy } }

    @inline(__always)
    private func part<Part>(_ part: (borrowing Push) -> Part) -> Part { batch.part(index, part) }

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
