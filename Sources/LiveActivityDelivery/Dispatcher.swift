package import APNSModel
package import LiveActivityCore
package import LiveActivityStorage
package import Logging
import ServiceLifecycle

/// Claims what is behind, sends it, and settles the answers: the loop that closes the difference.
///
/// On a graceful stop it claims nothing more, waits for the answers it awaits (a lease at most) and settles them.
package struct Dispatcher: Service {
    package struct Limits: Sendable {
        package var claim = ClaimWork.Limits()
        /// Flights on their way at once, those of which only stragglers are left not counted.
        package var flights = 64
        /// Flights of which only stragglers are left; with more, none begins until answers come or their time ends.
        package var lateFlights = 1024
        /// A push leaves within this time of its claim or not at all.
        package var sendWithin = Duration.seconds(8)
        /// Its outcome is known within this time of its claim; less than the claim's lease.
        package var answerWithin = Duration.seconds(12)
        /// After `answerWithin` a straggler's outcome is written within this time, before that phone is tried again.
        package var writeWithin = Duration.seconds(1)
        /// After this time a flight is settled without its stragglers, so that one slow answer delays one phone.
        package var settleAfter = Duration.milliseconds(1500)
        /// How long to wait when the store fails.
        package var storagePause = Duration.seconds(1)
        /// Attempts to settle one flight before its lease runs out and it is rescued.
        package var settleAttempts = 5

        package init() {}
    }

    private let store: any WorkStore
    private let sender: any PushSender
    private let apps: [BundleID: AppSettings]
    private let time: TimeSource
    private let clock: any Clock<Duration>
    private let node: Int64
    private let dice: @Sendable () -> UInt64
    private let limits: Limits
    private let logger: Logger
    private let signal = Signal()

    /// - Parameters:
    ///   - node: A number of this process alone: flights of another are abandoned, since the store has one process.
    ///   - dice: Random words for jitter and push ids.
    package init(
        store: any WorkStore, sender: any PushSender, apps: [AppSettings], time: TimeSource,
        clock: any Clock<Duration> = ContinuousClock(), node: Int64, dice: @escaping @Sendable () -> UInt64,
        limits: Limits = Limits(), logger: Logger
    ) {
        self.store = store
        self.sender = sender
        self.apps = Dictionary(apps.map { ($0.bundleID, $0) }, uniquingKeysWith: { first, _ in first })
        self.time = time
        self.clock = clock
        self.node = node
        self.dice = dice
        self.limits = limits
        self.logger = logger
    }

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
        let open = OpenFlights(limit: limits.flights, late: limits.lateFlights)
        while !signal.isStopped && !Task.isCancelled {
            let before = time.monotonic()
            let reply: ClaimWork.Reply
            do throws(StorageError) {
                reply = try await claim()
            } catch {
                logger.error("work could not be claimed", metadata: ["error": "\(error)"])
                await signal.wait(for: limits.storagePause, on: clock)
                continue
            }
            if reply.rescued > 0 {
                logger.notice("abandoned flights were rescued", metadata: ["lanes": "\(reply.rescued)"])
            }
            for flight in reply.flights {
                // Cancelled: the lease is the write-ahead of what was claimed, and the next process rescues it.
                guard await open.enter() else { return }
                group.addTask {
                    guard let stragglers = await deliver(flight, claimedAt: before) else { return open.leave() }
                    open.linger()
                    await follow(stragglers, claimedAt: before)
                    open.leaveLate()
                }
            }
            if !reply.hasMore { await waitForWork() }
        }
        await open.drained()
    }

    private func claim() async throws(StorageError) -> ClaimWork.Reply {
        let command = ClaimWork(now: time.wall(), node: node, apps: apps, limits: limits.claim, seed: dice())
        switch try await store.commit(command) {
        case .success(let reply): return reply
        case .failure: return ClaimWork.Reply()
        }
    }

    /// Until a commit makes work due, or the time comes that a lane waits for. Nothing is polled.
    private func waitForWork() async {
        let next: UnixTime?
        do throws(StorageError) {
            next = try await store.nextWakeAt()
        } catch {
            // A read that the end of the service cut off is no fault.
            if Task.isCancelled { return }
            logger.error("the next wake-up could not be read", metadata: ["error": "\(error)"])
            return await signal.wait(for: limits.storagePause, on: clock)
        }
        await signal.wait(for: next.map { $0 - time.wall() }, on: clock)
    }

    // MARK: - One flight

    /// What is left of a flight after the time that its answers are worth waiting for.
    private struct Stragglers {
        let flight: Flight
        let app: AppSettings
        let seats: [Int]
        let outcomes: Outcomes
        let awaitedUntil: UnixTime
    }

    /// Sends a flight and settles what is answered in time; returns the rest, whose lane others may go on using.
    private func deliver(_ flight: Flight, claimedAt: MonotonicTime) async -> Stragglers? {
        guard let app = apps[flight.desired.activity.app] else { return nil }
        let outcomes = Outcomes(count: flight.seats.count)
        var notBuilt: [Int: PayloadError] = [:]
        var pushes: [Push] = []
        var seats: [Int] = []
        for (index, seat) in flight.seats.enumerated() {
            do throws(PayloadError) {
                guard let request = try flight.request(of: seat) else {
                    outcomes.record(index, .failure(PushFailure(.notSentInTime, "the token is gone")))
                    continue
                }
                seats.append(index)
                pushes.append(
                    Push(
                        request, sendBefore: claimedAt + limits.sendWithin, answerBy: claimedAt + limits.answerWithin))
            } catch {
                notBuilt[index] = error
                outcomes.record(index, .failure(PushFailure(.notSentInTime, "the payload cannot be built")))
            }
        }
        let places = seats
        sender.submit(pushes) { index, answer in outcomes.record(places[index], answer) }

        let awaitedUntil = time.wall() + limits.answerWithin + limits.writeWithin
        let first = await outcomes.collected(within: limits.settleAfter, on: clock)
        let entries = flight.seats.indices.map { index in
            entry(flight.seats[index], first[index], notBuilt[index], awaitedUntil: awaitedUntil)
        }
        // Without this settlement the flight stays open: closing it for the stragglers alone would lose the others.
        guard await settle(flight, entries, app) else { return nil }
        let late = first.indices.filter { first[$0] == nil }
        guard !late.isEmpty else { return nil }
        return Stragglers(flight: flight, app: app, seats: late, outcomes: outcomes, awaitedUntil: awaitedUntil)
    }

    private func follow(_ late: Stragglers, claimedAt: MonotonicTime) async {
        let answers = await late.outcomes.collected(
            within: claimedAt + limits.answerWithin - time.monotonic(), on: clock)
        // Cancelled, nobody can tell that no answer came in time; the rows say that one is awaited.
        let known = Task.isCancelled ? late.seats.filter { answers[$0] != nil } : late.seats
        guard !known.isEmpty else { return }
        let entries = known.map { index in
            let answer = answers[index] ?? .failure(PushFailure(.unknownFate, "no answer in time"))
            return entry(late.flight.seats[index], answer, nil, awaitedUntil: late.awaitedUntil)
        }
        _ = await settle(late.flight, entries, late.app)
    }

    private func entry(
        _ seat: Flight.Seat, _ answer: Result<PushAnswer, PushFailure>?, _ notBuilt: PayloadError?,
        awaitedUntil: UnixTime
    ) -> SettleFlight.Entry {
        let outcome: SettleFlight.Outcome =
            if let notBuilt { .notBuilt(notBuilt) } else if let answer { .answered(answer) } else {
                .awaited(until: awaitedUntil)
            }
        return SettleFlight.Entry(seat: seat, outcome: outcome, dice: Double(dice() >> 11) * 0x1p-53)
    }

    /// `false` when it could not be written.
    private func settle(_ flight: Flight, _ entries: [SettleFlight.Entry], _ app: AppSettings) async -> Bool {
        for _ in 0..<limits.settleAttempts {
            do throws(StorageError) {
                let result = try await store.commit(
                    SettleFlight(flight: flight, entries: entries, app: app, now: time.wall()))
                if case .success(let reply) = result { report(reply, flight) }
                return true
            } catch {
                logger.error(
                    "outcomes could not be written",
                    metadata: ["activity": "\(flight.desired.activity.id)", "error": "\(error)"])
                try? await clock.sleep(for: limits.storagePause)
            }
        }
        // The lease runs out and a rescuer takes it that they may have arrived.
        logger.error("outcomes are given up", metadata: ["activity": "\(flight.desired.activity.id)"])
        return false
    }

    private func report(_ reply: SettleFlight.Reply, _ flight: Flight) {
        let activity = flight.desired.activity
        logger.debug(
            "flight settled",
            metadata: [
                "app": "\(activity.app)", "activity": "\(activity.id)", "revision": "\(flight.record.revision)",
                "accepted": "\(reply.accepted)", "refused": "\(reply.refused)", "awaited": "\(reply.awaited)",
            ])
        guard let fault = reply.fault, fault.kind != .notSent else { return }
        logger.log(
            level: fault.kind == .halted ? .error : .warning,
            fault.kind == .halted ? "delivery is halted until this is mended" : "APNs is in trouble",
            metadata: [
                "app": "\(activity.app)", "activity": "\(activity.id)", "code": "\(fault.reason.code.rawValue)",
                "reason": "\(fault.reason.text)",
            ])
    }
}
