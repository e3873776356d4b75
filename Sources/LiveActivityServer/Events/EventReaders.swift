import APNSModel
import LiveActivityCore
import Synchronization

/// The readers of `GET /v1/events` with their lock, and what wakes each.
final class EventReaders: Sendable {
    enum Tick: Sendable {
        /// There is something to send, or it is over.
        case news
        /// The connection is to be seen alive.
        case beat
    }

    /// One place among the readers, until it is dropped.
    final class Reader: Sendable {
        let id: EventRelay.ReaderID
        let ticks: AsyncStream<Tick>
        private let readers: EventReaders

        fileprivate init(_ id: EventRelay.ReaderID, _ ticks: AsyncStream<Tick>, _ readers: EventReaders) {
            self.id = id
            self.ticks = ticks
            self.readers = readers
        }

        deinit { readers.leave(id) }
    }

    private struct State {
        var relay: EventRelay
        var ticks: [EventRelay.ReaderID: AsyncStream<Tick>.Continuation] = [:]
        var sent: [BundleID: Int] = [:]
    }

    private let state: Mutex<State>

    init(_ limits: EventRelay.Limits) {
        // Where nobody hands events on, a stream has an end.
        state = Mutex(State(relay: EventRelay(limits: limits, isOpen: false)))
    }

    func open() { state.withLock { $0.relay.open() } }

    /// Everything up to it was handed on.
    var through: EventNumber { state.withLock(\.relay.through) }

    /// How many are open.
    var count: Int { state.withLock(\.relay.count) }
    /// How many events were given to the streams of each app, since the process began.
    var sent: [BundleID: Int] { state.withLock(\.sent) }

    func willSend(_ count: Int, to app: BundleID) { state.withLock { $0.sent[app, default: 0] += count } }

    func join(
        _ app: BundleID, _ filter: EventFilter, after number: EventNumber
    ) throws(EventRelay.Refusal) -> Reader {
        // One of each waits at most: to be woken twice is to be woken once.
        let (ticks, continuation) = AsyncStream.makeStream(of: Tick.self, bufferingPolicy: .bufferingNewest(2))
        let id = try state.withLock { state throws(EventRelay.Refusal) in
            let id = try state.relay.join(app, filter, after: number)
            state.ticks[id] = continuation
            return id
        }
        continuation.yield(.news)
        return Reader(id, ticks, self)
    }

    func next(_ id: EventRelay.ReaderID) -> EventRelay.Step { state.withLock { $0.relay.next(id) } }

    func found(_ events: [StoredEvent], through number: EventNumber, for id: EventRelay.ReaderID) {
        state.withLock { $0.relay.found(events, through: number, for: id) }
    }

    func offer(_ events: [StoredEvent], after before: EventNumber, through number: EventNumber) {
        let concerned = state.withLock { state in
            state.relay.offer(events, after: before, through: number).compactMap { state.ticks[$0] }
        }
        for reader in concerned { reader.yield(.news) }
    }

    func beat() {
        for reader in state.withLock({ Array($0.ticks.values) }) { reader.yield(.beat) }
    }

    /// Ends every stream, and those that are asked for from now on.
    func close() {
        let all = state.withLock { state in state.relay.close().compactMap { state.ticks[$0] } }
        for reader in all { reader.yield(.news) }
    }

    private func leave(_ id: EventRelay.ReaderID) {
        let ticks = state.withLock { state -> AsyncStream<Tick>.Continuation? in
            state.relay.leave(id)
            return state.ticks.removeValue(forKey: id)
        }
        ticks?.finish()
    }
}
