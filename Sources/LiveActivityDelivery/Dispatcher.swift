package import APNSModel
package import LiveActivityCore
package import LiveActivityStorage
package import LiveActivityTracing
package import Logging
import ServiceLifecycle

/// Claims what is behind, sends it, and settles the answers: the loop that closes the difference.
///
/// It claims when a commit of somebody else made work due, or when the time comes that a lane waits for; its own claims
/// wake nobody. On a graceful stop it claims nothing more, waits for the answers it awaits (a lease at most) and
/// settles them.
package struct Dispatcher: Service {
    package struct Limits: Sendable {
        package var claim = ClaimWork.Limits()
        package var notifications = ClaimNotifications.Limits()
        /// Pushes on their way at once.
        package var pace = Pacer.Limits()
        /// A push leaves within this time of its claim or not at all.
        package var sendWithin = Duration.seconds(8)
        /// Its outcome is known within this time of its claim; less than the claim's lease.
        package var answerWithin = Duration.seconds(12)
        /// After `answerWithin` a straggler's outcome is written within this time, before that phone is tried again.
        package var writeWithin = Duration.seconds(8)
        /// After this time a flight is settled without its stragglers, so that one slow answer delays one phone.
        package var settleAfter = Duration.milliseconds(1500)
        /// How long to wait when the store fails.
        package var storagePause = Duration.seconds(1)
        /// The longest sleep: another process's commit may make work due without waking this one.
        package var look = Duration.seconds(60)
        /// Cards ended at once to make room for others: as many share a commit.
        package var evictionsAtOnce = 100
        /// Attempts to settle one flight before its lease runs out and it is rescued.
        package var settleAttempts = 5

        package init() {}
    }

    let store: any WorkStore
    let sender: any PushSender
    let apps: [BundleID: AppSettings]
    let time: TimeSource
    let clock: any Clock<Duration>
    let dice: @Sendable () -> UInt64
    let limits: Limits
    let faultPoints: FaultPoints
    let metrics: DeliveryMetrics
    let traces: Traces?
    let logger: Logger
    let room: FlightRoom
    let circuits: Circuits
    private let node: Int64
    private let beforeClaim: @Sendable () async -> Void
    private let signal = Signal()

    /// - Parameters:
    ///   - node: A number of this process alone: flights of another are abandoned, since the store has one process.
    ///   - dice: Random words for jitter and push ids.
    ///   - traces: Where spans go; `nil`: there are none.
    ///   - beforeClaim: Awaited when something is due, before it is claimed with the time of then.
    package init(
        store: any WorkStore, sender: any PushSender, apps: [AppSettings], time: TimeSource,
        clock: any Clock<Duration> = ContinuousClock(), node: Int64, dice: @escaping @Sendable () -> UInt64,
        limits: Limits = Limits(), faultPoints: FaultPoints = FaultPoints(),
        metrics: DeliveryMetrics = DeliveryMetrics(), traces: Traces? = nil, logger: Logger,
        beforeClaim: @escaping @Sendable () async -> Void = {}
    ) {
        self.store = store
        self.sender = sender
        self.apps = Dictionary(apps.map { ($0.bundleID, $0) }, uniquingKeysWith: { first, _ in first })
        self.time = time
        self.clock = clock
        self.node = node
        self.dice = dice
        self.limits = limits
        self.faultPoints = faultPoints
        self.metrics = metrics
        self.traces = traces
        self.logger = logger
        self.beforeClaim = beforeClaim
        room = FlightRoom(limits.pace)
        circuits = Circuits(logger: logger)
    }

    /// The routes that are not well now, and why: for readiness, answers and metrics.
    package var troubledRoutes: [PushRoute: CircuitBoard.Status] { circuits.status(at: time.wall()) }

    package func run() async throws {
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                group.addTask {
                    for await _ in store.wakeUps { signal.raise() }
                }
                await claimUntilStopped(&group)
                // Flights on their way finish by themselves; the listener for wake-ups must be told.
                group.cancelAll()
            }
        } onGracefulShutdown: {
            signal.stop()
        }
    }

    private func claimUntilStopped(_ group: inout DiscardingTaskGroup) async {
        // What a process that is gone had on its way is looked for first, due or not.
        var hasMore = true
        while !signal.isStopped && !Task.isCancelled {
            do throws(StorageError) {
                guard let due = try await workDue(lanes: hasMore) else { continue }
                await beforeClaim()
                // Cancelled: the lease is the write-ahead of what was claimed, and the next process rescues it.
                guard var grant = await room.grant(at: time.wall), !signal.isStopped else { break }
                if due.notifications, let departure = try await claimNotifications(&grant) {
                    room.enter(departure.counts)
                    group.addTask { await fly(departure) }
                }
                guard due.lanes, grant.pushes > 0, !signal.isStopped else { continue }
                let claimed = try await claim(grant)
                hasMore = claimed.hasMore
                for departure in claimed.departures {
                    room.enter(departure.flight)
                    group.addTask { await fly(departure) }
                }
                // After the flights: what was claimed has seconds to leave, and does not wait for other commits.
                if !claimed.evictions.isEmpty { group.addTask { await evict(claimed.evictions) } }
            } catch {
                // A read that the end of the service cut off is no fault.
                if Task.isCancelled { return }
                logger.error("work could not be claimed", metadata: ["error": "\(error)"])
                await signal.wait(for: limits.storagePause, on: clock)
            }
        }
        await room.drained()
    }

    /// Finds the kinds of work that have to be claimed now; `nil` after a sleep, when that may have changed.
    ///
    /// - Parameter hasMore: Lanes are known to be due.
    private func workDue(lanes hasMore: Bool) async throws(StorageError) -> (lanes: Bool, notifications: Bool)? {
        let notification = try await store.nextNotificationAt()
        let lane = hasMore ? nil : try await store.nextWakeAt()
        let now = time.wall()
        let isLaneDue = hasMore || lane.map { $0 <= now } ?? false
        let isNotificationDue = notification.map { $0 <= now } ?? false
        if isLaneDue || isNotificationDue { return (isLaneDue, isNotificationDue) }
        let due = [lane, notification].compactMap { $0 }.min()
        await signal.wait(for: min(due.map { $0 - now } ?? limits.look, limits.look), on: clock)
        return nil
    }

    private func claim(
        _ grant: Pacer.Grant
    ) async throws(StorageError) -> (departures: [Departure], evictions: [EvictCard], hasMore: Bool) {
        let before = time.monotonic()
        let now = time.wall()
        let gate = circuits.gate(at: now)
        let command = ClaimWork(
            now: now, node: node, apps: apps, limits: limits.claim, gate: gate, pace: grant, seed: dice())
        guard case .success(let reply) = try await store.commit(command) else { return ([], [], false) }
        circuits.claimed(probed: reply.probed, held: reply.held, at: now)
        report(unreadable: reply.unreadable)
        if reply.rescued > 0 {
            logger.notice("abandoned flights were rescued", metadata: ["lanes": "\(reply.rescued)"])
        }
        let departures = reply.flights.map {
            Departure(flight: $0, claimedAt: before, gate: gate, halvings: grant.halvings)
        }
        return (departures, reply.evictions, reply.hasMore)
    }

    /// Ends cards that make room for others. One that cannot be written is asked for again when its start is looked at
    /// next.
    private func evict(_ evictions: [EvictCard]) async {
        var rest = evictions[...]
        while !rest.isEmpty, !Task.isCancelled {
            let some = rest.prefix(limits.evictionsAtOnce)
            rest = rest.dropFirst(some.count)
            // Together, so that the store writes them in one commit.
            await withDiscardingTaskGroup { group in
                for eviction in some { group.addTask { await evict(eviction) } }
            }
        }
    }

    private func evict(_ eviction: EvictCard) async {
        do throws(StorageError) {
            guard case .success(true) = try await store.commit(eviction) else { return }
            logger.info("a card is ended to make room for another", metadata: ["app": "\(eviction.app.bundleID)"])
        } catch {
            logger.error("a card could not be ended to make room for another", metadata: ["error": "\(error)"])
        }
    }

    func report(unreadable rows: [String]) {
        guard !rows.isEmpty else { return }
        logger.error(
            "the database holds rows that cannot be read: their work is passed over, everything else goes on",
            metadata: ["rows": "\(rows.prefix(10).joined(separator: "; "))"])
    }
}
