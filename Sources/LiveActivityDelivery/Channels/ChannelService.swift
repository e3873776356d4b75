package import APNSModel
package import LiveActivityCore
package import LiveActivityStorage
package import Logging
import ServiceLifecycle

/// The channel loop: makes broadcast channels, sends to them, and deletes them.
///
/// It claims when a commit makes an operation due, or when the time of one comes. Each operation is in the database
/// before it leaves, so a process that dies loses none.
package struct ChannelService: Service {
    package struct Limits: Sendable {
        /// Maximum number of operations that are under way at the same time.
        package var open = 64
        /// Time in which an operation must leave and be answered. It is less than the lease of its claim.
        package var call = Duration.seconds(30)
        /// Pause after a failure of the store.
        package var storagePause = Duration.seconds(1)
        /// Pause after a claim that changed nothing. A row that cannot be read stays due.
        package var fruitlessPause = Duration.seconds(1)
        /// Longest sleep. Another process's commit may make an operation due without waking this one.
        package var look = Duration.seconds(60)
        /// Time after which a route is listed again, so that channels of other programs are counted.
        package var relist = Duration.seconds(3600)
        /// Attempts to store one outcome. After the last one its lease ends, and its fate is unknown.
        package var settleAttempts = 3

        package init() {}
    }

    let store: any ChannelStore
    let sender: any ChannelSender
    let apps: [BundleID: AppSettings]
    let time: TimeSource
    let clock: any Clock<Duration>
    let dice: @Sendable () -> UInt64
    let limits: Limits
    let faultPoints: FaultPoints
    let logger: Logger
    private let node: Int64
    private let desk: ChannelDesk
    /// Routes whose number of channels is watched: those of apps with a type that may use channels.
    private let watched: [PushRoute]
    /// Circuits of broadcasts, and of channel management.
    private let sends: Circuits
    private let management: Circuits
    private let metrics: ChannelMetrics
    private let signal = Signal()

    /// - Parameters:
    ///   - node: Number of this process. Claims of other numbers are abandoned.
    ///   - dice: Source of random numbers for jitter.
    package init(
        store: any ChannelStore, sender: any ChannelSender, apps: [AppSettings], time: TimeSource,
        clock: any Clock<Duration> = ContinuousClock(), node: Int64, dice: @escaping @Sendable () -> UInt64,
        limits: Limits = Limits(), faultPoints: FaultPoints = FaultPoints(),
        metrics: ChannelMetrics = ChannelMetrics(), logger: Logger
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
        self.logger = logger
        self.metrics = metrics
        desk = ChannelDesk(limits, at: time.monotonic())
        watched = apps.filter(\.hasChannels).flatMap { app in app.environments.map { PushRoute(app.bundleID, $0) } }
            .sorted()
        var labeled = logger
        labeled[metadataKey: "calls"] = "broadcasts"
        sends = Circuits(logger: labeled)
        labeled[metadataKey: "calls"] = "channel management"
        management = Circuits(logger: labeled)
    }

    /// Runs until the service stops. The next process finishes what is under way.
    package func run() async throws {
        // Before the first look, which finds what was due before.
        let wakeUps = store.channelWakeUps
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
        // The first claim looks for operations of an ended process, whether or not any are due.
        var isFirst = true
        while !signal.isStopped && !Task.isCancelled {
            do throws(StorageError) {
                let wasDue = !isFirst
                if wasDue {
                    // Not before the first claim, which says what creations of an ended process may be on their way.
                    watch(&group)
                    if try await !isDue() { continue }
                }
                isFirst = false
                let claimedAt = time.monotonic()
                let due = DueChannels(at: time.wall(), node: node, limit: desk.room)
                let gates = ChannelGates(sends: sends.gate(at: due.at), management: management.gate(at: due.at))
                let result = try await store.commit(
                    ClaimChannels(
                        due, apps: apps, inUse: desk.inUse, underWay: desk.underWay,
                        certainIn: certainties(at: claimedAt), managementRoom: desk.managementRoom, gates: gates))
                guard case .success(let reply) = result else { continue }
                sends.claimed(probed: reply.gates.sends.probed, held: reply.gates.sends.held, at: due.at)
                management.claimed(
                    probed: reply.gates.management.probed, held: reply.gates.management.held, at: due.at)
                for route in reply.doubted { desk.doubt(route, claimedAt) }
                for errand in reply.errands {
                    desk.began(errand)
                    group.addTask { await run(errand, claimedAt: claimedAt, under: gates) }
                }
                list(reply, &group)
                if wasDue, !reply.hasMovedOn { await signal.wait(for: limits.fruitlessPause, on: clock) }
            } catch {
                if Task.isCancelled { return }
                logger.error("work on broadcast channels could not be claimed", metadata: ["error": "\(error)"])
                await signal.wait(for: limits.storagePause, on: clock)
            }
        }
    }

    /// Returns `true` if an operation is due for which there is room. Otherwise it first waits until that may be so.
    private func isDue() async throws(StorageError) -> Bool {
        guard desk.room > 0 else {
            await signal.wait(for: limits.look, on: clock)
            return false
        }
        let wait = try await store.nextChannelAt().map { $0 - time.wall() } ?? limits.look
        if wait <= .zero { return true }
        let listing = desk.watchIn(watched, at: time.monotonic()) ?? limits.look
        await signal.wait(for: min(wait, listing, limits.look), on: clock)
        return false
    }

    // MARK: - One operation

    private func run(_ errand: ChannelErrand, claimedAt: MonotonicTime, under gates: ChannelGates) async {
        defer {
            desk.ended(errand)
            signal.raise()
        }
        faultPoints.reach(.sendBefore)
        // A process that was suspended must not send what another may have claimed.
        let left = claimedAt + limits.call - time.monotonic()
        let outcome = left > .zero ? await perform(errand, within: left) : .failed(Self.late)
        faultPoints.reach(.answerReceived)
        if case .failed(let error) = outcome, error.mayHaveHappened, case .create = errand.flight.kind {
            desk.doubt(errand.channel.route, claimedAt)
        }
        if case .failed(let error) = outcome, error.reason == .cannotCreateChannelConfig {
            // Other programs have made channels since the last list, or its number would have kept `auto` from this.
            desk.watchSoon(errand.channel.route, at: time.monotonic())
        }
        note(outcome, of: errand)
        // A process that was suspended knows nothing about APNs.
        if outcome != .failed(Self.late) { learn(outcome, of: errand, under: gates) }
        metrics.called(errand, outcome)
        await settle(errand, outcome)
        metrics.inUse(desk.inUse)
    }

    /// Passes the outcome to the circuits.
    private func learn(_ outcome: SettleChannel.Outcome, of errand: ChannelErrand, under gates: ChannelGates) {
        let error: BroadcastError?
        switch outcome {
        case .created, .done: error = nil
        case .failed(let failure): error = failure
        case .notBuilt: return
        }
        let key = errand.channel.key
        var tally = RouteTally()
        tally.add(error, about: key.activity, in: key.environment)
        let (circuits, gate) = errand.flight.isBroadcast ? (sends, gates.sends) : (management, gates.management)
        let dice = Double(dice() >> 11) * 0x1p-53
        if circuits.record(errand.channel.route, tally, under: gate, at: time.wall(), dice: dice) { signal.raise() }
    }

    private static let late = BroadcastError(.notSentInTime, "the claim was too long ago")

    private func perform(_ errand: ChannelErrand, within limit: Duration) async -> SettleChannel.Outcome {
        let channel = errand.channel
        do throws(BroadcastError) {
            switch errand.flight.kind {
            case .create:
                let id = try await sender.createChannel(
                    of: channel.app, in: channel.key.environment, storing: channel.storage, within: limit)
                return .created(id)
            case .delete:
                guard let gone = channel.broadcastChannel else { return .done }
                try await sender.deleteChannel(gone, within: limit)
            case .update, .end:
                let request: BroadcastRequest?
                do throws(PayloadError) { request = try errand.request() } catch { return .notBuilt(error) }
                guard let request else { return .failed(Self.late) }
                try await sender.send(request, within: limit)
            }
            return .done
        } catch {
            return .failed(error)
        }
    }

    private func settle(_ errand: ChannelErrand, _ outcome: SettleChannel.Outcome) async {
        for attempt in 1...limits.settleAttempts {
            let command = SettleChannel(errand, outcome, now: time.wall(), dice: Double(dice() >> 11) * 0x1p-53)
            do throws(StorageError) {
                if case .success(let reply) = try await store.commit(command) { desk.settled(errand, outcome, reply) }
                return
            } catch {
                logger.error(
                    "the outcome of work on a broadcast channel could not be written", metadata: ["error": "\(error)"])
                guard attempt < limits.settleAttempts, !Task.isCancelled else { return }
                try? await clock.sleep(for: limits.storagePause)
            }
        }
    }

    private func note(_ outcome: SettleChannel.Outcome, of errand: ChannelErrand) {
        let channel = errand.channel
        let metadata: Logger.Metadata = [
            "app": "\(channel.app)", "environment": "\(channel.key.environment.rawValue)",
            "activity": "\(errand.desired.map { $0.activity.id.text } ?? String(channel.key.activity))",
            "kind": "\(errand.flight.kind)", "revision": "\(errand.flight.revision)",
        ]
        switch outcome {
        case .created, .done: logger.debug("broadcast channel", metadata: metadata)
        case .failed(let error):
            let level: Logger.Level = error.reason == .featureNotEnabled ? .error : .warning
            logger.log(
                level: level, "work on a broadcast channel failed",
                metadata: metadata.merging(["error": "\(error)"]) { $1 })
        case .notBuilt(let error):
            logger.error(
                "a broadcast cannot be built", metadata: metadata.merging(["error": "\(error)"]) { $1 })
        }
    }

    // MARK: - Lists

    /// Returns the routes on which a lost creation may still be on its way, and for how long.
    private func certainties(at now: MonotonicTime) -> [PushRoute: Duration] {
        var waits: [PushRoute: Duration] = [:]
        for app in apps.values {
            for environment in app.environments {
                let route = PushRoute(app.bundleID, environment)
                let wait = desk.certainIn(route, at: now)
                if wait > .zero { waits[route] = wait }
            }
        }
        return waits
    }

    /// Begins the lists that a claim asks for.
    private func list(_ reply: ClaimChannels.Reply, _ group: inout DiscardingTaskGroup) {
        let now = time.monotonic()
        for route in reply.unlisted.union(reply.sought).sorted() where desk.mayList(route, at: now) {
            let isCertain = desk.certainIn(route, at: now) == .zero
            group.addTask { await list(route, isCertain: isCertain) }
        }
    }

    /// Begins the lists that are due without a claim: one at the start, and then one an hour.
    ///
    /// A closed circuit puts them off, as it does creations, and they may be its probe.
    private func watch(_ group: inout DiscardingTaskGroup) {
        let (now, wall) = (time.monotonic(), time.wall())
        for route in watched where desk.mayWatch(route, at: now) {
            var gate = management.gate(at: wall)
            let admission = gate.admit(isHarmless: true, to: route)
            management.claimed(probed: gate.probed, held: gate.held, at: wall)
            if case .hold(let closure) = admission {
                desk.postpone(route, until: now + max(closure.until - wall, ClaimChannels.heldPause))
                continue
            }
            let (admitting, isCertain) = (gate, desk.certainIn(route, at: now) == .zero)
            group.addTask { await list(route, isCertain: isCertain, under: admitting) }
        }
    }

    /// Lists the channels of a route, so that creations of unknown fate are found and the number in use is known.
    ///
    /// - Parameter gate: Gate that has admitted the list; `nil` for a list that a claim asks for.
    private func list(_ route: PushRoute, isCertain: Bool, under gate: CircuitGate? = nil) async {
        var isTaken = false
        defer {
            desk.listed(
                route, isTaken: isTaken, isAsked: gate == nil, at: time.monotonic(),
                dice: Double(dice() >> 11) * 0x1p-53)
            signal.raise()
        }
        let metadata: Logger.Metadata = ["app": "\(route.app)", "environment": "\(route.environment.rawValue)"]
        let ids: [ChannelID]
        let deletions = desk.deletions
        do throws(BroadcastError) {
            ids = try await sender.listChannels(of: route.app, in: route.environment, within: limits.call)
        } catch {
            logger.error(
                "broadcast channels could not be listed", metadata: metadata.merging(["error": "\(error)"]) { $1 })
            metrics.listed(route, error)
            learn(error, on: route, under: gate)
            // Where the number is known, no card waits for the list.
            if gate == nil || desk.inUse[route] == nil { await refuse(route, error) }
            return
        }
        learn(nil, on: route, under: gate)
        // The commit wakes the loop, whose next claim asks for the number.
        metrics.listed(route, nil)
        desk.found(ids.count, on: route)
        metrics.inUse(desk.inUse)
        // A list that a deletion overlaps may have a channel that is gone.
        let isWhole = deletions != nil && deletions == desk.deletions
        let take = TakeChannelList(
            route, ids, isCertain: isCertain && desk.certainIn(route, at: time.monotonic()) == .zero,
            isWhole: isWhole, now: time.wall())
        do throws(StorageError) {
            if case .success(let reply) = try await store.commit(take) {
                isTaken = true
                // What the list leaves open, another one tells.
                if !reply.isJudged { desk.watchSoon(route, at: time.monotonic()) }
                if reply.foreign > 0 {
                    logger.notice(
                        "APNs lists broadcast channels that this server has not made",
                        metadata: metadata.merging(["channels": "\(reply.foreign)"]) { $1 })
                }
            }
        } catch {
            logger.error("a list of broadcast channels could not be written", metadata: ["error": "\(error)"])
        }
    }

    /// Passes the outcome of a list to the circuit that has admitted it.
    private func learn(_ error: BroadcastError?, on route: PushRoute, under gate: CircuitGate?) {
        guard let gate else { return }
        var tally = RouteTally()
        // A list is about no activity. Zero is the number of none.
        tally.add(error, about: 0, in: route.environment)
        _ = management.record(route, tally, under: gate, at: time.wall(), dice: Double(dice() >> 11) * 0x1p-53)
    }

    /// Tells the cards that wait for a channel of the route that none can be made now.
    private func refuse(_ route: PushRoute, _ error: BroadcastError) async {
        do throws(StorageError) {
            _ = try await store.commit(RefuseChannels(route, error, now: time.wall()))
        } catch {
            logger.error("a refusal of broadcast channels could not be written", metadata: ["error": "\(error)"])
        }
    }
}
