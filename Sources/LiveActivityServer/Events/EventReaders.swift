import APNSModel
import LiveActivityCore
import Synchronization

/// The readers of `GET /v1/events`, protected by a lock, and the streams that wake them.
final class EventReaders: Sendable {
    enum Tick: Sendable {
        /// There is something to send, or the stream is over.
        case news
        /// Time to show that the connection is alive.
        case beat
    }

    /// A place among the readers, held until it is released.
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
        // The relay starts closed. If no service passes events on, a stream ends.
        state = Mutex(State(relay: EventRelay(limits: limits, isOpen: false)))
    }

    func open() { state.withLock { $0.relay.open() } }

    /// The number of the event up to which everything was passed on.
    var through: EventNumber { state.withLock(\.relay.through) }

    /// Number of open readers.
    var count: Int { state.withLock(\.relay.count) }
    /// Number of events sent to the streams of each app since the process started.
    var sent: [BundleID: Int] { state.withLock(\.sent) }

    func willSend(_ count: Int, to app: BundleID) { state.withLock { $0.sent[app, default: 0] += count } }

    func join(
        _ app: BundleID, _ filter: EventFilter, after number: EventNumber
    ) throws(EventRelay.Refusal) -> Reader {
        // At most one tick of each kind waits, because waking a reader once is enough.
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

    /// Ends every stream, and every stream that is requested from now on.
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
