import APNSModel

/// Pushes that were submitted together, with the callers that wait for them. Each caller gets exactly one result per
/// push.
///
/// One object holds all of them, so a push of many costs no allocation of its own.
final class PendingBatch: Sendable {
    typealias Completion = @Sendable (Int, Result<PushAnswer, PushFailure>) -> Void

    // A checked one costs an allocation, so only debug builds have it: there a push with two results ends the process.
    // In other builds it would damage memory.
    #if DEBUG
        typealias Continuation = CheckedContinuation<Result<PushAnswer, PushFailure>, Never>
    #else
        typealias Continuation = UnsafeContinuation<Result<PushAnswer, PushFailure>, Never>
    #endif

    /// The only push, or the first of `all`. Stored here, a single push needs no array.
    private let first: Push
    /// All pushes, or empty if there is only one.
    private let all: [Push]
    /// The traces for the observer, one for each push, or empty without an observer.
    private let traces: [PushTrace]
    private let completion: Completion?
    /// The continuation of a single push, without the allocation of a closure. It is set before any other thread has
    /// the batch.
    nonisolated(unsafe) var continuation: Continuation?

    /// - Parameter pushes: All pushes, beginning with `first`.
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

    /// Reads a part of a push in place. A copy of the whole push would count references to each of its parts.
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

/// A push in progress, with the reasons for which the client has sent it again.
struct Attempt: Sendable {
    /// The answers of APNs after which the client sends a push again by itself. Each counts once per push.
    struct Resent: OptionSet, Sendable, Hashable {
        let rawValue: UInt8

        static let newConnection = Self(rawValue: 1)
        static let renewedToken = Self(rawValue: 2)
        static let keptToken = Self(rawValue: 4)
    }

    /// Maximum number of retries after the peer did not process the push (RFC 9113 section 8.7). A restarting service
    /// may send GOAWAY on several connections in a row, which the caller should not notice.
    static let maximumRefusals: UInt8 = 4

    private let batch: PendingBatch
    private let index: Int
    var resent: Resent = []
    /// Number of times the peer did not process the push.
    var refusals: UInt8 = 0
    /// Position among all pushes of the pool.
    var order: UInt64 = 0

    /// Creates the attempt of the batch's push at `index`.
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

/// The outcome of a push on one stream of one connection.
struct Settlement {
    enum Outcome: Hashable {
        case answered(PushAnswer)
        /// The peer did not process the push (RFC 9113 section 8.7).
        case refused(String)
        /// The push was sent, completely or in part, and no answer came.
        case unknown(String)
    }

    let attempt: Attempt
    let streamID: UInt32
    let outcome: Outcome
}
