package import APNSModel
package import LiveActivityCore
package import LiveActivityStorage
package import LiveActivityTracing
package import Logging
import ServiceLifecycle

/// The delivery loop: claims phones that are behind, sends their pushes, and settles the answers.
///
/// It claims when another commit makes work due, when a lane's time comes, or when a route opens or wants a probe. Its
/// own claims do not wake it. While there is much room, commits claim what little work they make due: see
/// `claimAtOnce`.
///
/// On a graceful stop it claims nothing more. It waits for the awaited answers, a lease at most, and settles them.
package struct Dispatcher: Service {
    package struct Limits: Sendable {
        package var claim = ClaimWork.Limits()
        package var notifications = ClaimNotifications.Limits()
        /// Limits on pushes that are on their way at once.
        package var pace = Pacer.Limits()
        /// Time from the claim within which a push leaves, or not at all.
        package var sendWithin = Duration.seconds(8)
        /// Time from the claim within which a push has an outcome. It is shorter than the lease.
        package var answerWithin = Duration.seconds(12)
        /// Time after `answerWithin` within which a late outcome is stored, before that phone is tried again.
        package var writeWithin = Duration.seconds(8)
        /// Time after which a flight is settled without its late pushes, so that one slow answer delays only one phone.
        package var settleAfter = Duration.milliseconds(1500)
        /// Pause after a failure of the store.
        package var storagePause = Duration.seconds(1)
        /// Longest sleep. Another process's commit may make work due without waking this one.
        package var look = Duration.seconds(60)
        /// Number of cards that are ended at once to make room for others. They share a commit.
        package var evictionsAtOnce = 100
        /// Maximum number of pushes, and of lanes, that one commit claims of the work that it makes due.
        package var atOnce = 1000
        /// Attempts to settle one flight. After the last one its lease runs out and it is rescued.
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
    private let mayClaimAtOnce: @Sendable () -> Bool
    let signal = Signal()

    /// - Parameters:
    ///   - node: Number of this process. The store has one process, so flights of other numbers are abandoned.
    ///   - dice: Source of random numbers for jitter and push ids.
    ///   - traces: Destination of spans; `nil` for none.
    ///   - beforeClaim: Called and awaited when work is due. The claim then uses the time after it returns.
    ///   - mayClaimAtOnce: Returns `false` if the next claim must await `beforeClaim`.
    package init(
        store: any WorkStore, sender: any PushSender, apps: [AppSettings], time: TimeSource,
        clock: any Clock<Duration> = ContinuousClock(), node: Int64, dice: @escaping @Sendable () -> UInt64,
        limits: Limits = Limits(), faultPoints: FaultPoints = FaultPoints(),
        metrics: DeliveryMetrics = DeliveryMetrics(), traces: Traces? = nil, logger: Logger,
        beforeClaim: @escaping @Sendable () async -> Void = {},
        mayClaimAtOnce: @escaping @Sendable () -> Bool = { true }
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
        self.mayClaimAtOnce = mayClaimAtOnce
        room = FlightRoom(limits.pace)
        circuits = Circuits(logger: logger)
    }

    /// Routes in trouble, with the reasons, for readiness, answers and metrics.
    package var troubledRoutes: [PushRoute: CircuitBoard.Status] { circuits.status(at: time.wall()) }

    package func run() async throws {
        // The room limits what waits in the stream: see `FlightRoom.reserveHastily`.
        let (claims, continuation) = AsyncStream.makeStream(of: Claimed.self)
        store.claimAtOnce(from: { claimAtOnce(continuation) })
        // Before the first look, which finds what was due before.
        let wakeUps = store.wakeUps
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                group.addTask {
                    for await due in wakeUps { signal.raise(for: due, at: time.wall()) }
                }
                group.addTask {
                    await withDiscardingTaskGroup { flights in
                        for await claimed in claims { start(claimed, &flights) }
                    }
                }
                await claimUntilStopped(&group)
                // Whatever is claimed from now on would not be sent.
                store.claimAtOnce(from: nil)
                await room.drained()
                // Flights on their way finish by themselves. The tasks that listen to the store must be canceled.
                group.cancelAll()
            }
        } onGracefulShutdown: {
            signal.stop()
        }
    }

    private func claimUntilStopped(_ group: inout DiscardingTaskGroup) async {
        // The first claim looks for flights of an ended process, whether or not lanes are due.
        var hasMore = true
        while !signal.isStopped && !Task.isCancelled {
            do throws(StorageError) {
                guard let due = try await workDue(lanes: hasMore) else { continue }
                // No commit may claim meanwhile by what this is about to correct.
                room.barHaste(true)
                await beforeClaim()
                room.barHaste(false)
                // If this task is canceled, the lease serves as the write-ahead record, and the next process rescues
                // the claim.
                guard let grant = await room.reserve(upTo: limits.claim.phones, at: time.wall) else { break }
                defer { room.release(grant) }
                guard !signal.isStopped else { break }
                var left = grant
                if due.notifications, let departure = try await claimNotifications(&left) {
                    room.enter(departure.counts)
                    group.addTask { await fly(departure) }
                }
                guard due.lanes, left.pushes > 0, !signal.isStopped else { continue }
                let claimed = try await claim(left)
                hasMore = claimed.hasMore
                start(claimed, &group)
            } catch {
                // A read that the end of the service has cut off is no failure.
                if Task.isCancelled { return }
                logger.error("work could not be claimed", metadata: ["error": "\(error)"])
                await signal.wait(for: limits.storagePause, on: clock)
            }
        }
    }

    private func start(_ claimed: Claimed, _ group: inout DiscardingTaskGroup) {
        for departure in claimed.departures { group.addTask { await fly(departure) } }
        // Evictions come after the flights. A claimed push has seconds to leave and must not wait for other commits.
        if !claimed.evictions.isEmpty { group.addTask { await evict(claimed.evictions) } }
    }

    /// Returns the kinds of work that must be claimed now; `nil` after a sleep, when that may have changed.
    ///
    /// - Parameter hasMore: Lanes are known to be due.
    private func workDue(lanes hasMore: Bool) async throws(StorageError) -> (lanes: Bool, notifications: Bool)? {
        let next = try await store.nextWork()
        let now = time.wall()
        let isLaneDue = hasMore || next.lane.map { $0 <= now } ?? false || isReady(next.conditions, at: now)
        let isNotificationDue = next.notification.map { $0 <= now } ?? false
        if isLaneDue || isNotificationDue { return (isLaneDue, isNotificationDue) }
        let gateAt = next.conditions.isEmpty ? nil : circuits.nextChangeAt(after: now)
        let due = [next.earliest, gateAt].compactMap { $0 }.min()
        await signal.wait(
            for: min(due.map { $0 - now } ?? limits.look, limits.look), on: clock, until: due ?? .distantFuture)
        return nil
    }

    /// Returns whether lanes wait for a condition that is met, or for a route that wants one of their pushes as its
    /// probe.
    private func isReady(_ conditions: [LaneCondition], at now: UnixTime) -> Bool {
        guard !conditions.isEmpty else { return false }
        let gate = circuits.gate(at: now)
        return conditions.contains { $0.isMet(apps, gate) || $0.mayProbe(gate) }
    }

    private struct Claimed {
        var departures: [Departure] = []
        var evictions: [EvictCard] = []
        var hasMore = false
    }

    private func claim(_ grant: Pacer.Grant) async throws(StorageError) -> Claimed {
        let before = time.monotonic()
        let now = time.wall()
        let command = ClaimWork(
            now: now, node: node, apps: apps, limits: limits.claim, gate: circuits.gate(at: now), pace: grant,
            seed: dice())
        guard case .success(let reply) = try await store.commit(command) else { return Claimed() }
        return take(reply, of: command, at: before)
    }

    /// Returns a claim for a commit to make of the work that it makes due; `nil` if there is too little room, or if a
    /// route is closed.
    private func claimAtOnce(_ claims: AsyncStream<Claimed>.Continuation) -> ClaimAtOnce? {
        guard mayClaimAtOnce() else { return nil }
        let before = time.monotonic()
        let now = time.wall()
        let gate = circuits.gate(at: now)
        guard gate.closed.isEmpty, let grant = room.reserveHastily(upTo: limits.atOnce, at: now) else { return nil }
        // After the reservation, because who stops waits until nothing is reserved.
        guard !signal.isStopped else {
            room.release(grant)
            return nil
        }
        var bounds = limits.claim
        bounds.lanes = limits.atOnce
        let claim = ClaimWork(
            now: now, node: node, apps: apps, limits: bounds, gate: gate, pace: grant, seed: dice())
        return ClaimAtOnce(claim) { reply in
            defer { room.release(grant) }
            guard let reply else { return }
            let claimed = take(reply, of: claim, at: before)
            claims.yield(claimed)
            if claimed.hasMore { signal.raise() }
        }
    }

    /// Takes over what a claim has found.
    ///
    /// - Parameter before: Moment before the claim.
    private func take(_ reply: ClaimWork.Reply, of claim: ClaimWork, at before: MonotonicTime) -> Claimed {
        circuits.claimed(probed: reply.probed, held: reply.held, at: claim.now)
        report(unreadable: reply.unreadable)
        if reply.rescued > 0 {
            logger.notice("abandoned flights were rescued", metadata: ["lanes": "\(reply.rescued)"])
        }
        for flight in reply.flights { room.enter(flight) }
        let departures = reply.flights.map {
            Departure(flight: $0, claimedAt: before, gate: claim.gate, halvings: claim.pace.halvings)
        }
        return Claimed(departures: departures, evictions: reply.evictions, hasMore: reply.hasMore)
    }

    /// Ends cards that make room for others. If one cannot be stored, the next decision about its start asks for it
    /// again.
    private func evict(_ evictions: [EvictCard]) async {
        var rest = evictions[...]
        while !rest.isEmpty, !Task.isCancelled {
            let some = rest.prefix(limits.evictionsAtOnce)
            rest = rest.dropFirst(some.count)
            // Concurrently, so that the store writes them in one commit.
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
            "the database holds rows that cannot be read: their work is skipped, all other work continues",
            metadata: ["rows": "\(rows.prefix(10).joined(separator: "; "))"])
    }
}
