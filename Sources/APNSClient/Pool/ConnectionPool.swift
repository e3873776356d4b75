import APNSModel
import NIOCore
import Synchronization

/// The queue and the connections of one key and endpoint: performs what `PoolMachine` decides, outside its lock.
///
/// Each place of the machine has an event loop of its own while there are enough of them.
final class ConnectionPool: ConnectionOwner {
    private struct State {
        var machine: PoolMachine
        var connections: [PoolMachine.ConnectionID: Connection] = [:]
        var reports: [PoolMachine.ConnectionID: APNSClient.ConnectionStatus] = [:]
        var clockSkew: Duration?
        var stopWaiters: [CheckedContinuation<Void, Never>] = []
    }

    private static let tick = TimeAmount.milliseconds(50)

    let key: ProviderKey
    private let context: ConnectionContext
    /// Where its timers run.
    private let eventLoop: any EventLoop
    private let placeLoops: [any EventLoop]
    private let state: Mutex<State>

    init(_ machine: PoolMachine, key: ProviderKey, _ context: ConnectionContext, on group: any EventLoopGroup) {
        self.key = key
        self.context = context
        placeLoops = Self.loops(for: machine.places.count, of: group)
        eventLoop = placeLoops.first ?? group.next()
        state = Mutex(State(machine: machine))
    }

    /// One loop after the other, from the one on whose turn it is, so that several pools do not begin at the same one.
    static func loops(for places: Int, of group: any EventLoopGroup) -> [any EventLoop] {
        let first = group.next()
        let all = Array(group.makeIterator())
        let offset = all.firstIndex { $0 === first } ?? 0
        return (0..<places).map { all.isEmpty ? first : all[(offset + $0) % all.count] }
    }

    private var now: MonotonicTime { context.time.monotonic() }

    func submit(_ attempts: [Attempt]) {
        let now = now
        perform(state.withLock { $0.machine.enqueue(attempts, now: now) })
    }

    var status: APNSClient.RouteStatus {
        state.withLock { state in
            let connections = state.reports.values.sorted { $0.number < $1.number }
            let ready = state.machine.places.compactMap(\.readyID).compactMap { state.reports[$0] }
            return APNSClient.RouteStatus(
                endpoint: context.endpoint, keyID: key.keyID, teamID: key.teamID,
                isConnected: state.machine.isConnected, openStreams: connections.reduce(0) { $0 + $1.openStreams },
                maximumStreams: ready.reduce(0) { $0 + $1.maximumStreams }, queued: state.machine.queue.count,
                clockSkew: state.clockSkew, lastError: state.machine.lastFailure, connections: connections)
        }
    }

    // MARK: Stopping

    /// Takes no more pushes, answers those that wait, and lets open streams end within a time.
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

    // MARK: Told by connections

    func pull(
        _ connection: PoolMachine.ConnectionID, _ allowance: ConnectionMachine.Allowance, now: MonotonicTime,
        into batch: inout [Attempt]
    ) {
        let actions = state.withLock { $0.machine.pull(connection, allowance, now: now, into: &batch) }
        perform(actions)
    }

    func requeue(_ attempts: [Attempt]) {
        let now = now
        perform(state.withLock { $0.machine.requeue(attempts, now: now) })
    }

    func connectionIsReady(_ connection: PoolMachine.ConnectionID) {
        state.withLock { $0.machine.ready(connection) }
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
            return state.machine.ended(connection, reason, wasUseful: wasUseful, now: now, dice: dice)
        }
        perform(actions)
        resumeIfStopped()
    }

    func connectionReports(_ connection: PoolMachine.ConnectionID, _ status: APNSClient.ConnectionStatus) {
        state.withLock { state in
            state.reports[connection] = status
            if let skew = status.clockSkew { state.clockSkew = skew }
        }
    }

    // MARK: Acting

    private func perform(_ actions: PoolMachine.Actions) {
        for (attempt, failure) in actions.fail { attempt.pending.complete(.failure(failure)) }
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

    private func dial(_ id: PoolMachine.ConnectionID, on loop: any EventLoop) {
        let connection = Connection.open(id, context, owner: self, on: loop)
        let isStopping = state.withLock { state in
            state.connections[id] = connection
            return state.machine.stage != .running
        }
        if isStopping { connection.drain() }
    }
}
