import APNSModel
import NIOCore
import Synchronization

/// The queue and the connections of one key and endpoint. Performs the decisions of `PoolMachine` outside its lock.
///
/// Each place of the machine has its own event loop while there are enough of them.
final class ConnectionPool: ConnectionOwner {
    private struct State {
        var machine: PoolMachine
        var connections: [PoolMachine.ConnectionID: Connection] = [:]
        var reports: [PoolMachine.ConnectionID: APNSClient.ConnectionStatus] = [:]
        var clockSkew: Duration?
        /// Time at which each connection was dialed, or from which it was ready. Only set if there is an observer.
        var since: [PoolMachine.ConnectionID: (isOpen: Bool, time: MonotonicTime)] = [:]
        var lastEnd: APNSClient.ConnectionEndReason?
        var queueTelling = QueueTelling.silent
        var stopWaiters: [CheckedContinuation<Void, Never>] = []
    }

    /// State of the reports of the queue's depth. One thread reports at a time, so the last reported depth is the
    /// newest.
    private enum QueueTelling {
        case silent, telling
        /// The queue changed during a report.
        case outdated
    }

    private static let tick = TimeAmount.milliseconds(50)
    /// Maximum number of reports by one thread in a row. After that, an event loop continues with them after its other
    /// work.
    private static let tellings = 16

    let key: ProviderKey
    private let context: ConnectionContext
    private let observer: (any APNSClientObserver)?
    /// The event loop of the pool's timers.
    private let eventLoop: any EventLoop
    private let placeLoops: [any EventLoop]
    private let state: Mutex<State>

    init(
        _ machine: PoolMachine, key: ProviderKey, _ context: ConnectionContext, on group: any EventLoopGroup,
        observer: (any APNSClientObserver)? = nil
    ) {
        self.key = key
        self.observer = observer
        self.context = context
        placeLoops = Self.loops(for: machine.places.count, of: group)
        eventLoop = placeLoops.first ?? group.next()
        state = Mutex(State(machine: machine))
    }

    /// Returns event loops in order, beginning with the group's next one, so that several pools begin at different
    /// loops.
    static func loops(for places: Int, of group: any EventLoopGroup) -> [any EventLoop] {
        let first = group.next()
        let all = Array(group.makeIterator())
        let offset = all.firstIndex { $0 === first } ?? 0
        return (0..<places).map { all.isEmpty ? first : all[(offset + $0) % all.count] }
    }

    private var now: MonotonicTime { context.time.monotonic() }

    /// Takes the pushes of a batch at these indices.
    func submit(_ batch: PendingBatch, _ indices: Range<Int>) {
        perform(state.withLock { $0.machine.enqueue(indices.lazy.map { Attempt(batch, $0) }, now: now) })
        reportQueue()
    }

    var status: APNSClient.RouteStatus {
        state.withLock { state in
            let connections = state.reports.values.sorted { $0.number < $1.number }
            let ready = state.machine.places.compactMap(\.readyID).compactMap { state.reports[$0] }
            return APNSClient.RouteStatus(
                endpoint: context.endpoint, keyID: key.keyID, teamID: key.teamID,
                isConnected: state.machine.isConnected, openStreams: connections.reduce(0) { $0 + $1.openStreams },
                maximumStreams: ready.reduce(0) { $0 + $1.maximumStreams }, queued: state.machine.queue.count,
                clockSkew: state.clockSkew, lastError: state.machine.lastFailure, lastEnd: state.lastEnd,
                connections: connections)
        }
    }

    // MARK: Stopping

    /// Stops the pool: takes no more pushes, fails the waiting ones, and gives open streams this time to end.
    func stop(within grace: Duration) {
        let (actions, connections) = state.withLock { state in
            (state.machine.stop(), Array(state.connections.values))
        }
        perform(actions)
        for connection in connections { connection.drain() }
        resumeIfStopped()
        eventLoop.scheduleTask(in: .nanoseconds(max(0, grace.wholeNanoseconds))) { self.closeAll() }
    }

    /// Returns when every connection is closed after `stop`.
    func stopped() async {
        await withCheckedContinuation { continuation in
            state.withLock { $0.stopWaiters.append(continuation) }
            resumeIfStopped()
        }
    }

    private func closeAll() {
        let connections = state.withLock { Array($0.connections.values) }
        for connection in connections { connection.close(.stopped) }
    }

    private func resumeIfStopped() {
        let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            guard state.machine.stage == .stopped else { return [] }
            defer { state.stopWaiters = [] }
            return state.stopWaiters
        }
        for waiter in waiters { waiter.resume() }
    }

    // MARK: Reports of connections

    func pull(
        _ connection: PoolMachine.ConnectionID, _ allowance: ConnectionMachine.Allowance, now: MonotonicTime,
        into batch: inout [Attempt]
    ) {
        let actions = state.withLock { $0.machine.pull(connection, allowance, now: now, into: &batch) }
        perform(actions)
        if !batch.isEmpty { reportQueue() }
    }

    func requeue(_ attempts: [Attempt]) {
        let now = now
        perform(state.withLock { $0.machine.requeue(attempts, now: now) })
        reportQueue()
    }

    func connectionHasRoom(_ connection: PoolMachine.ConnectionID) {
        state.withLock { $0.machine.hasRoom(connection) }
    }

    func connectionIsReady(_ connection: PoolMachine.ConnectionID) {
        state.withLock { state in
            state.machine.ready(connection)
            state.lastEnd = nil
        }
        reportOpened(connection)
    }

    func connectionRetires(_ connection: PoolMachine.ConnectionID, wasUseful: Bool) {
        let (now, dice) = (now, context.dice())
        perform(
            state.withLock { $0.machine.retire(connection, wasUseful: wasUseful, now: now, dice: dice) })
    }

    func connectionEnded(_ connection: PoolMachine.ConnectionID, _ end: ConnectionEnd, wasUseful: Bool) {
        let (now, dice) = (now, context.dice())
        let reason: String? = end == .drained ? nil : end.text
        let actions = state.withLock { state in
            state.connections[connection] = nil
            state.reports[connection] = nil
            if end != .drained { state.lastEnd = APNSClient.ConnectionEndReason(end) }
            return state.machine.ended(connection, reason, wasUseful: wasUseful, now: now, dice: dice)
        }
        reportEnded(connection, end)
        perform(actions)
        resumeIfStopped()
    }

    func connectionRenewedToken(_ connection: PoolMachine.ConnectionID, issuedAt: UnixTime) {
        observer?.providerTokenRenewed(info(connection), issuedAt: issuedAt)
    }

    func connectionReports(_ connection: PoolMachine.ConnectionID, _ status: APNSClient.ConnectionStatus) {
        state.withLock { state in
            state.reports[connection] = status
            if let skew = status.clockSkew { state.clockSkew = skew }
        }
    }

    // MARK: Actions

    private func perform(_ actions: PoolMachine.Actions) {
        for (attempt, failure) in actions.fail { attempt.complete(.failure(failure)) }
        if !actions.fail.isEmpty { reportQueue() }
        if let id = actions.wake { state.withLock { $0.connections[id] }?.wake() }
        if let id = actions.drain { state.withLock { $0.connections[id] }?.drain() }
        if let dial = actions.dial {
            let loop = placeLoops[dial.place]
            loop.execute { self.dial(dial.id, on: loop) }
        }
        if actions.armTimer {
            eventLoop.scheduleTask(in: Self.tick) {
                let now = self.now
                self.perform(self.state.withLock { $0.machine.tick(now) })
            }
        }
    }

    // MARK: The observer

    private func info(_ connection: PoolMachine.ConnectionID) -> APNSClient.ConnectionInfo {
        APNSClient.ConnectionInfo(
            endpoint: context.endpoint, keyID: key.keyID, teamID: key.teamID, number: connection)
    }

    private func reportQueue() {
        guard let observer else { return }
        let isMine = state.withLock { state in
            defer { state.queueTelling = state.queueTelling == .silent ? .telling : .outdated }
            return state.queueTelling == .silent
        }
        if isMine { tellQueue(observer) }
    }

    /// Reports the depth, and again if it changed meanwhile. No lock is held during the observer's call.
    private func tellQueue(_ observer: any APNSClientObserver) {
        for _ in 0..<Self.tellings {
            let depth = state.withLock { state in
                state.queueTelling = .telling
                return state.machine.queue.count
            }
            observer.queueChanged(context.endpoint, keyID: key.keyID, depth: depth)
            let isOver = state.withLock { state in
                guard state.queueTelling == .telling else { return false }
                state.queueTelling = .silent
                return true
            }
            if isOver { return }
        }
        eventLoop.execute { self.tellQueue(observer) }
    }

    private func reportOpened(_ connection: PoolMachine.ConnectionID) {
        guard let observer else { return }
        let now = now
        let dialed = state.withLock { state in
            defer { state.since[connection] = (true, now) }
            return state.since[connection]?.time ?? now
        }
        observer.connectionOpened(info(connection), after: now - dialed)
    }

    private func reportEnded(_ connection: PoolMachine.ConnectionID, _ end: ConnectionEnd) {
        guard let observer else { return }
        let before = state.withLock { $0.since.removeValue(forKey: connection) }
        let reason = APNSClient.ConnectionEndReason(end)
        if let before, before.isOpen {
            observer.connectionClosed(info(connection), reason: reason, after: now - before.time)
        } else {
            observer.connectionFailed(info(connection), reason: reason)
        }
    }

    private func dial(_ id: PoolMachine.ConnectionID, on loop: any EventLoop) {
        if observer != nil {
            let now = now
            state.withLock { $0.since[id] = (false, now) }
        }
        let connection = Connection.open(id, context, owner: self, on: loop)
        let isStopping = state.withLock { state in
            state.connections[id] = connection
            return state.machine.stage != .running
        }
        if isStopping { connection.drain() }
    }
}
