package import APNSModel
package import LiveActivityCore
package import LiveActivityStorage
package import Logging
import ServiceLifecycle
import Synchronization

/// The refresh loop: asks providers what people should see, and stores the answers.
///
/// It claims when a commit makes a computation due, or when the time of one comes: a person's local midnight, or a time
/// that the provider asked for. A claim has a lease, so a process that dies loses no request.
package struct RefreshService: Service {
    /// Provider of a type's states.
    package struct Provider: Sendable {
        package typealias Ask = @Sendable (RefreshQuestion) async throws(RefreshFailure) -> RefreshAnswer?

        package var app: BundleID
        package var type: ActivityType
        /// Time that one answer may take. A longer call is canceled and counts as failed.
        package var deadline: Duration
        package var ask: Ask

        package init(app: BundleID, type: ActivityType, deadline: Duration = .seconds(10), ask: @escaping Ask) {
            self.app = app
            self.type = type
            self.deadline = deadline
            self.ask = ask
        }
    }

    package struct Limits: Sendable {
        /// Maximum number of people of a type that are computed at the same time.
        package var open = 32
        /// Maximum number of people of a type that are computed per second without being waited for: at midnights, and
        /// for populations.
        package var perSecond = 100
        /// Time that a lease has for the commit, besides the answers' deadlines.
        package var leaseMargin = Duration.seconds(10)
        /// Pause after a failure of the store.
        package var storagePause = Duration.seconds(1)
        /// Pause after a claim that changed nothing of what is due. A row that cannot be read stays due.
        package var fruitlessPause = Duration.seconds(1)
        /// Longest sleep. Another process's commit may make a computation due without waking this one.
        package var look = Duration.seconds(60)
        /// Attempts to store one answer. After the last one its lease ends, and it is computed again.
        package var finishAttempts = 3

        package init() {}
    }

    let store: any RefreshStore
    let board: RefreshBoard
    let zones: any ZoneSource
    let time: TimeSource
    let clock: any Clock<Duration>
    let dice: @Sendable () -> UInt64
    let limits: Limits
    let metrics: RefreshMetrics
    let logger: Logger
    private let node: Int64
    let signal = Signal()

    /// - Parameters:
    ///   - node: Number of this process. Claims of other numbers are abandoned.
    ///   - dice: Source of random numbers for jitter.
    package init(
        store: any RefreshStore, providers: [Provider], zones: any ZoneSource, time: TimeSource,
        clock: any Clock<Duration> = ContinuousClock(), node: Int64, dice: @escaping @Sendable () -> UInt64,
        limits: Limits = Limits(), metrics: RefreshMetrics = RefreshMetrics(), logger: Logger
    ) {
        self.store = store
        self.zones = zones
        self.time = time
        self.clock = clock
        self.node = node
        self.dice = dice
        self.limits = limits
        self.metrics = metrics
        self.logger = logger
        board = RefreshBoard(providers, limits, at: time.wall())
    }

    /// Runs until the service stops. The next process computes what is unfinished.
    package func run() async throws {
        // Before the first look, which finds what was due before.
        let wakeUps = store.refreshWakeUps
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                group.addTask {
                    for await _ in wakeUps { signal.raise() }
                }
                await claimUntilStopped(&group)
                group.cancelAll()
            }
        } onGracefulShutdown: {
            signal.stop()
        }
    }

    private func claimUntilStopped(_ group: inout DiscardingTaskGroup) async {
        // The first claim looks for runs of an ended process, whether or not any are due.
        var isFirst = true
        var unreadable: [String] = []
        while !signal.isStopped && !Task.isCancelled {
            do throws(StorageError) {
                let wasDue = !isFirst
                if wasDue, try await !isDue() { continue }
                isFirst = false
                let reply = try await claim(board.wants(at: time.wall()))
                for run in reply.runs {
                    board.began(run)
                    group.addTask { await compute(run) }
                }
                if reply.unreadable != unreadable {
                    unreadable = reply.unreadable
                    note(unreadable)
                }
                // A row that stays due after each claim would keep this loop turning without a pause.
                if wasDue, !reply.hasMovedOn { await signal.wait(for: limits.fruitlessPause, on: clock) }
            } catch {
                if Task.isCancelled { return }
                logger.error("refreshes could not be claimed", metadata: ["error": "\(error)"])
                await signal.wait(for: limits.storagePause, on: clock)
            }
        }
    }

    /// Logs unreadable rows, once for the same rows in a row.
    private func note(_ unreadable: [String]) {
        for row in unreadable {
            logger.error(
                "a refresh could not be read: it is skipped, and the others continue", metadata: ["row": "\(row)"])
        }
    }

    /// Returns `true` if a computation is due for which there is room. Otherwise it first waits until that may be so.
    private func isDue() async throws(StorageError) -> Bool {
        let now = time.wall()
        var next: UnixTime?
        for key in board.keys {
            let times = try await store.refreshTimes(of: key.app, key.type)
            guard let at = board.opens(key, times, at: now) else { continue }
            next = min(next ?? at, at)
        }
        let wait = next.map { $0 - time.wall() } ?? limits.look
        if wait <= .zero { return true }
        await signal.wait(for: min(wait, limits.look), on: clock)
        return false
    }

    private func claim(_ wants: [DueRefreshes.Want]) async throws(StorageError) -> ClaimRefreshes.Reply {
        let command = ClaimRefreshes(
            DueRefreshes(at: time.wall(), node: node, wants: wants), leaseOfZone: board.longestDeadline,
            leaseMargin: limits.leaseMargin)
        guard case .success(let reply) = try await store.commit(command) else { return ClaimRefreshes.Reply() }
        return reply
    }

    // MARK: - One person

    private func compute(_ run: RefreshRun) async {
        let key = RefreshBoard.Key(run.app, run.type)
        defer {
            board.ended(key)
            signal.raise()
        }
        guard let provider = board.provider(key) else { return }
        var zones: [FinishRefresh.Zone] = []
        var failure: RefreshFailure?
        for zone in run.zones {
            let rules = self.zones.rules(of: zone.name) ?? .utc
            let now = time.wall()
            let day = rules.local(now).date
            var outcome = failure.map { FinishRefresh.Zone.Outcome.failed($0) }
            if outcome == nil {
                outcome = await ask(provider, run.question(of: zone, day: day, now: now))
            }
            // On a stop, the lease is given up and the next process computes the person.
            guard let outcome, !Task.isCancelled else { return }
            if case .failed(let its) = outcome, its.isOfAll { failure = its }
            zones.append(
                FinishRefresh.Zone(
                    name: zone.name, day: day, devices: zone.devices, outcome: outcome,
                    midnight: rules.nextDay(after: now)))
        }
        note(zones, of: run, key)
        await finish(run, provider.type, zones)
    }

    private func ask(_ provider: Provider, _ question: RefreshQuestion) async -> FinishRefresh.Zone.Outcome {
        let began = time.monotonic()
        let late = RefreshFailure(.timeout, "no answer within \(provider.deadline)")
        let outcome = await withDeadline(
            provider.deadline, by: clock, late: FinishRefresh.Zone.Outcome.failed(late)
        ) {
            do throws(RefreshFailure) {
                return try await provider.ask(question).map { .show($0) } ?? .nothing
            } catch {
                return .failed(error)
            }
        }
        metrics.answered(question.app, question.type, after: time.monotonic() - began)
        return outcome
    }

    /// Records what the answers say about the provider itself.
    private func note(_ zones: [FinishRefresh.Zone], of run: RefreshRun, _ key: RefreshBoard.Key) {
        let failures = zones.compactMap { zone -> RefreshFailure? in
            if case .failed(let failure) = zone.outcome { failure } else { nil }
        }
        let metadata: Logger.Metadata = ["app": "\(run.app)", "type": "\(run.type)"]
        if let failure = failures.first(where: \.isOfAll) {
            let fraction = Double(dice() >> 11) / Double(UInt64(1) << 53)
            if board.failed(key, run.user, at: time.wall(), dice: fraction) {
                logger.warning(
                    "a provider failed: its refreshes wait until it answers",
                    metadata: metadata.merging(["reason": "\(failure.code.rawValue): \(failure.detail)"]) { $1 })
            }
        } else if board.succeeded(key) {
            logger.notice("a provider answers again", metadata: metadata)
        }
        if let failure = failures.first, !failure.isOfAll {
            logger.warning(
                "a provider gave no answer about a person",
                metadata: metadata.merging(["reason": "\(failure.code.rawValue): \(failure.detail)"]) { $1 })
        }
    }

    private func finish(_ run: RefreshRun, _ type: ActivityType, _ zones: [FinishRefresh.Zone]) async {
        let fraction = Double(dice() >> 11) / Double(UInt64(1) << 53)
        for attempt in 1...limits.finishAttempts {
            let command = FinishRefresh(type: type, run: run, zones: zones, now: time.wall(), dice: fraction)
            do throws(StorageError) {
                if case .success(let reply) = try await store.commit(command) { metrics.finished(run, reply) }
                return
            } catch {
                logger.error("a refresh could not be written", metadata: ["error": "\(error)"])
                guard attempt < limits.finishAttempts, !Task.isCancelled else { return }
                try? await clock.sleep(for: limits.storagePause)
            }
        }
    }
}
