import APNSModel
import LiveActivityCore
import LiveActivityDelivery
import LiveActivityStorage
import Logging
import ServiceLifecycleTestKit

/// A process of the server: the real dispatcher with a store, a sender, clocks and dice of the history.
///
/// It may die at any of its fault points. From then on its actions have no effect, and it ends as soon as it notices.
/// Its commits remain, and pushes that APNs has received may still arrive.
final class Node: @unchecked Sendable {
    unowned let world: World
    let number: Int64
    let executor = SeededExecutor()
    private(set) var isAlive = true
    /// `true` once nothing of the process is left.
    private(set) var isOver = false
    /// Time until which the process stands still, as on a paused machine. It does not notice that time has passed.
    var frozenUntil: Int64?
    /// Fault point at which the process dies, and the number of passes before that.
    var crash: (point: FaultPoint, passes: Int)?
    var wakeUp: AsyncStream<UnixTime>.Continuation?
    /// The source of the claims that the process's commits make at once.
    var claims: ClaimAtOnce.Source?
    var refreshWakeUp: AsyncStream<Void>.Continuation?
    var channelWakeUp: AsyncStream<Void>.Continuation?
    var eventWakeUp: AsyncStream<Void>.Continuation?
    private var sleepers: [Int: (entry: Int, continuation: CheckedContinuation<Void, any Error>)] = [:]
    private var sleepersMade = 0
    private var task: Task<Void, Never>?
    private var trigger: GracefulShutdownTestTrigger?

    var name: String { "node \(number)" }
    /// `true` while the process takes calls and works.
    var isUp: Bool { isAlive && !isOver && !isStopping && frozenUntil == nil }
    private(set) var isStopping = false

    init(world: World, number: Int64) {
        self.world = world
        self.number = number
    }

    /// Starts the process.
    func start() {
        let world = world
        let dispatcher = Dispatcher(
            store: NodeStore(node: self), sender: NodeSender(node: self), apps: world.scenery.apps, time: time,
            clock: VirtualClock(node: self), node: number, dice: { [world] in world.dice.next() },
            limits: world.scenery.limits, faultPoints: FaultPoints { [unowned self] in self.reach($0) },
            logger: logger)
        let (refreshes, webhooks, channels) = (refreshes(), webhooks(), channelLoop())
        task = Task(executorPreference: executor) {
            await testGracefulShutdown { trigger in
                self.trigger = trigger
                await withDiscardingTaskGroup { group in
                    if let refreshes { group.addTask { try? await refreshes.run() } }
                    if let webhooks { group.addTask { try? await webhooks.run() } }
                    if let channels { group.addTask { try? await channels.run() } }
                    try? await dispatcher.run()
                }
            }
            self.end()
        }
        world.note(name, "starts")
    }

    private func end() {
        if isAlive { world.note(name, "has stopped") }
        isOver = true
    }

    /// Shuts the process down: it claims nothing more, waits for its open answers, and ends.
    func stop() {
        isStopping = true
        world.count(.processStopped)
        world.note(name, "is asked to stop")
        trigger?.triggerGracefulShutdown()
    }

    /// Ends all effects of the process from now on.
    func die(_ why: String) {
        guard isAlive, !isOver else { return }
        isAlive = false
        frozenUntil = nil
        world.note(name, "DIES \(why)")
        world.see(.died(self))
        claims = nil
        wakeUp?.finish()
        refreshWakeUp?.finish()
        channelWakeUp?.finish()
        eventWakeUp?.finish()
        task?.cancel()
        for id in sleepers.keys.sorted() { wake(id, cancelled: true) }
    }

    func freeze(for milliseconds: Int64) {
        frozenUntil = world.now + milliseconds
        world.count(.processStoodStill)
        world.note(name, "stands still for \(milliseconds) ms")
        world.agenda.add(at: world.now + milliseconds) { [self] in
            guard let until = frozenUntil, until <= world.now else { return }
            frozenUntil = nil
            if isAlive { world.note(name, "goes on") }
        }
    }

    func reach(_ point: FaultPoint) {
        guard isAlive, let crash, crash.point == point else { return }
        self.crash?.passes -= 1
        if crash.passes <= 1 {
            self.crash = nil
            world.count { $0.deaths[point, default: 0] += 1 }
            die("at \(point.rawValue)")
        }
    }

    // MARK: - Time

    var time: TimeSource {
        TimeSource(
            wall: { [unowned self] in self.wall },
            monotonic: { [unowned self] in MonotonicTime(nanoseconds: (self.world.now + 1000) * 1_000_000) })
    }

    var wall: UnixTime { world.serverTime }

    func nextSleeper() -> Int {
        sleepersMade += 1
        return sleepersMade
    }

    func wait(_ id: Int, until time: Int64, _ continuation: CheckedContinuation<Void, any Error>) {
        guard isAlive else { return continuation.resume(throwing: CancellationError()) }
        let entry = world.agenda.add(at: max(world.now, time), in: self) { [self] in wake(id, cancelled: false) }
        sleepers[id] = (entry, continuation)
    }

    func wake(_ id: Int, cancelled: Bool) {
        guard let sleeper = sleepers.removeValue(forKey: id) else { return }
        world.agenda.cancel(sleeper.entry)
        if cancelled {
            sleeper.continuation.resume(throwing: CancellationError())
        } else {
            sleeper.continuation.resume()
        }
    }

    /// Waits inside the process until the time, or until its task is canceled.
    func rest(until time: Int64) async throws {
        let id = nextSleeper()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                if Task.isCancelled {
                    continuation.resume(throwing: CancellationError())
                } else {
                    wait(id, until: time, continuation)
                }
            }
        } onCancel: {
            wake(id, cancelled: true)
        }
    }

    /// Waits inside the process regardless of cancellation. A dead process does not wait.
    func pause(_ milliseconds: Int64) async {
        guard milliseconds > 0, isAlive else { return }
        let (id, until) = (nextSleeper(), world.now + milliseconds)
        try? await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            wait(id, until: until, continuation)
        }
    }

    // MARK: - Log

    var logger: Logger {
        var logger = Logger(label: "simulation") { _ in LogWatch(node: self) }
        logger.logLevel = .trace
        return logger
    }

    private struct LogWatch: LogHandler {
        let node: Node
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            guard node.isAlive else { return }
            let details = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            node.world.see(.logged("\(event.message) \(details.joined(separator: " "))"))
            if event.level >= .info {
                node.world.note(node.name, "log \(event.level): \(event.message) \(details.joined(separator: " "))")
            }
        }
    }
}
