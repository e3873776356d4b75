package import APNSModel

/// Selection of the channels for a claim: those of operations that another process had open, and those whose `dueAt`
/// has come, in that order. They come with their activities and contents.
package struct DueChannels: Sendable, Equatable {
    package var at: UnixTime
    package var node: Int64
    /// Maximum number of channels.
    package var limit: Int

    package init(at time: UnixTime, node: Int64, limit: Int) {
        at = time
        self.node = node
        self.limit = limit
    }
}

/// Finds channels that are behind and claims one operation for each. The channel's row is the write-ahead record.
package struct ClaimChannels: Command {
    package struct Reply: Sendable {
        package var errands: [ChannelErrand] = []
        /// Routes whose channels must be listed before their next creation.
        package var unlisted: Set<PushRoute> = []
        /// Routes in whose list a creation of unknown fate is looked for.
        package var sought: Set<PushRoute> = []
        /// Number of operations that a process had abandoned.
        package var rescued = 0
        /// Routes on which one of them was a creation, whose call may still be on its way.
        package var doubted: Set<PushRoute> = []
        /// Number of creations and deletions among the errands.
        package var managing = 0
        /// The gates after the claim, with the probes it took and the routes it held back.
        package var gates = ChannelGates()
        /// `true` if the claim changed something, so that another may find more.
        package var hasMovedOn = false

        package init() {}
    }

    /// Time from the claim until nobody may send or settle the operation any more.
    package static let lease = Duration.seconds(45)
    /// Wait for a configuration that has the app, its environment and the type again.
    package static let unconfiguredPause = Duration.seconds(3600)
    /// Time after which a channel that waits for the list of its route is looked at again. The list comes before.
    package static let listingPause = Duration.seconds(60)
    /// Wait of a creation or deletion for which there is no room.
    package static let roomPause = Duration.seconds(1)
    /// Shortest wait of an operation that a circuit holds back. Each look writes the channel's row.
    package static let heldPause = Duration.seconds(10)
    /// Number of an app's 10,000 channels up to which `auto` makes another.
    package static let automaticLimit = 8000
    /// End of the argument of a refusal at that limit. The number of channels comes before it.
    static let inUseSuffix = " in use"

    package let due: DueChannels
    package let apps: [BundleID: AppSettings]
    /// Number of channels that APNs has, for each route whose channels were listed.
    package let inUse: [PushRoute: Int]
    /// Channels with an operation that this process has under way. It is not abandoned, whatever the wall clock says.
    package let underWay: Set<ChannelKey>
    /// Time until no call of a lost creation can be on its way any more, for each route where one can. Then a list
    /// tells what became of it.
    package let certainIn: [PushRoute: Duration]
    /// Maximum number of creations and deletions. An endpoint that does not answer them holds no broadcast up.
    package let managementRoom: Int
    /// State of the circuits.
    package let gates: ChannelGates

    package init(
        _ due: DueChannels, apps: [BundleID: AppSettings], inUse: [PushRoute: Int], underWay: Set<ChannelKey> = [],
        certainIn: [PushRoute: Duration] = [:], managementRoom: Int = .max, gates: ChannelGates = ChannelGates()
    ) {
        self.due = due
        self.apps = apps
        self.inUse = inUse
        self.underWay = underWay
        self.certainIn = certainIn
        self.managementRoom = managementRoom
        self.gates = gates
    }

    private var now: UnixTime { due.at }

    package var rank: CommandRank { .claim }
    package static var mayBeRefused: Bool { false }
    package var keys: [SnapshotKey] { [.dueChannels(due)] }

    package func decide(_ draft: inout Draft) throws(Refusal) -> Reply {
        var reply = Reply()
        reply.gates = gates
        for key in draft.snapshot.dueChannels {
            guard var channel = draft.snapshot.channels[key] else { continue }
            if channel.flight?.node == due.node, underWay.contains(key) {
                // The clock was set forward, or the outcome is still being stored. Nobody has abandoned it.
                channel.dueAt = now + Self.lease
                draft.put(channel)
            } else if channel.isAbandoned(at: now, node: due.node) {
                rescue(channel, &draft)
                reply.rescued += 1
                if channel.flight?.kind == .create { reply.doubted.insert(channel.route) }
                reply.hasMovedOn = true
            } else {
                claim(channel, &reply, &draft)
            }
        }
        return reply
    }

    private func rescue(_ old: ChannelRecord, _ draft: inout Draft) {
        var channel = old
        let alert = draft.snapshot.activities[old.key.activity]?.alert
        channel.doubt(
            repeatsAlert: alert?.revision == old.flight?.alertRevision && alert?.onUnknown == .repeat, retryAt: now,
            Reason(.rescued))
        draft.put(channel)
        draft.recordRescue(of: old, at: now)
    }

    /// Returns the settings of the channel's app.
    ///
    /// - Returns: `nil` while the configuration lacks the app, its environment or the type. The work is kept until
    ///   then, like that of lanes.
    private func settings(of channel: ChannelRecord, _ draft: Draft) -> AppSettings? {
        guard let app = apps[channel.app], app.environments.contains(channel.key.environment) else { return nil }
        if let activity = draft.snapshot.activities[channel.key.activity], activity.app == channel.app,
            app.types[activity.type] == nil
        {
            return nil
        }
        return app
    }

    private func claim(_ old: ChannelRecord, _ reply: inout Reply, _ draft: inout Draft) {
        var channel = old
        guard let app = settings(of: old, draft) else {
            channel.dueAt = now + Self.unconfiguredPause
            return draft.put(channel)
        }
        let desired = draft.desired(old.key.activity, app)
        if ChannelReconciler.isOver(channel, desired) {
            let isSameRun = desired?.activity.run == old.key.run
            channel.finishRun(at: isSameRun ? desired?.activity.endedAt ?? now : now)
        }
        // The alert that held the starts back may have been replaced, or have expired, without a broadcast of it.
        if channel.id != nil, let activity = desired?.activity, channel.dueAlert(activity, now) == 0 {
            draft.callWaiting(&channel, at: now)
        }
        var flight = ChannelFlight(.create, node: due.node, claimedAt: now, leaseUntil: now + Self.lease)
        let decision = ChannelReconciler.decide(channel, desired, now: now)
        let isAutomatic = desired?.type.policy.delivery == .auto
        let count = inUse[channel.route]
        let isFull = isAutomatic && count.map { $0 >= Self.automaticLimit } ?? false
        let leaves = count != nil && !isFull
        if putOff(decision, channel, isAutomatic: isAutomatic, leaves: leaves, &reply, &draft) { return }
        switch decision {
        case .nothing: channel.dueAt = nil
        case .wait(let until): channel.dueAt = until
        case .forget: return draft.removeChannel(old.key)
        case .find:
            let wait = certainIn[channel.route] ?? .zero
            if wait <= .zero { reply.sought.insert(channel.route) }
            channel.dueAt = now + (wait > .zero ? wait : Self.listingPause)
        case .create:
            guard let count else {
                reply.unlisted.insert(channel.route)
                channel.dueAt = now + Self.listingPause
                break
            }
            if isFull {
                refuse(&channel, inUse: count, &draft)
                break
            }
            channel.claim(flight)
            reply.errands.append(ChannelErrand(channel, flight))
            reply.managing += 1
        case .delete:
            flight.kind = .delete
            channel.claim(flight)
            reply.errands.append(ChannelErrand(channel, flight))
            reply.managing += 1
        case .broadcast(let plan):
            flight.kind = plan.kind
            flight.revision = plan.revision
            flight.alertRevision = plan.alertRevision
            flight.timestamp = Flight.timestamp(after: channel.timestamp, now: now)
            channel.claim(flight)
            if plan.priority == .high, let policy = desired?.type.policy {
                channel.budget = policy.budgets.high.spent(channel.budget, BudgetKey(0, .high), now: now)
            }
            reply.errands.append(
                ChannelErrand(
                    channel, flight, plan: plan, desired: desired,
                    content: draft.snapshot.contents[old.key.activity]))
            begin(plan, desired, &draft)
        }
        guard channel != old else { return }
        draft.put(channel)
        reply.hasMovedOn = true
    }

    /// Refuses a channel that `auto` does not make, because so many of the app's are in use. Cards start with update
    /// tokens.
    private func refuse(_ channel: inout ChannelRecord, inUse count: Int, _ draft: inout Draft) {
        let reason = Reason(.channelRefused, "\(count)\(Self.inUseSuffix)")
        // The number changes from look to look. The timeline has one entry for all of them.
        if channel.reason?.isOfChannelsInUse != true { draft.recordRefusal(of: channel, reason, at: now) }
        channel.refuse(reason, retryAt: now + ChannelReconciler.refusalPause)
        draft.callWaiting(&channel, at: now)
    }

    /// Puts an operation off if its route fails, or if there is no room for another creation or deletion. While its
    /// route fails, `auto` starts cards with update tokens.
    ///
    /// - Parameter leaves: `false` if a creation would not leave, because a list comes first or `auto` makes no more.
    /// - Returns: `true` if the operation was put off.
    private func putOff(
        _ decision: ChannelReconciler.Decision, _ old: ChannelRecord, isAutomatic: Bool, leaves: Bool,
        _ reply: inout Reply, _ draft: inout Draft
    ) -> Bool {
        var channel = old
        if let closure = reply.gates.closure(for: decision, on: channel.route, leaves: leaves) {
            channel.hold(until: max(closure.until, now + Self.heldPause), closure.reason, isAutomatic: isAutomatic)
            if channel.life == .refused { draft.callWaiting(&channel, at: now) }
        } else if decision == .delete || decision == .create && leaves, reply.managing >= managementRoom {
            channel.dueAt = now + Self.roomPause
        } else {
            return false
        }
        draft.put(channel)
        reply.hasMovedOn = true
        return true
    }

    /// Begins the coalescing window of the state that leaves, as a flight of a lane does.
    private func begin(_ plan: ChannelReconciler.Plan, _ desired: DesiredSituation?, _ draft: inout Draft) {
        guard plan.kind == .update, let desired, desired.activity.lap > desired.activity.begunLap,
            var activity = draft.snapshot.activities[desired.activity.number]
        else { return }
        activity.begunLap = activity.lap
        activity.holdUntil = now + desired.type.policy.coalescingWindow
        draft.put(activity)
    }
}

/// State of the circuits of channels. Broadcasts and channel management go to different endpoints, so each has its own.
package struct ChannelGates: Sendable, Equatable {
    package var sends: CircuitGate
    package var management: CircuitGate

    package init(sends: CircuitGate = .open, management: CircuitGate = .open) {
        self.sends = sends
        self.management = management
    }

    /// Returns the fault for which the operation is held back; `nil` if it may leave.
    ///
    /// - Parameter leaves: `false` if a creation would not leave, because a list comes first or `auto` makes no more.
    mutating func closure(
        for decision: ChannelReconciler.Decision, on route: PushRoute, leaves: Bool
    ) -> CircuitGate.Closure? {
        let admission: CircuitGate.Admission
        switch decision {
        case .broadcast(let plan): admission = sends.admit(isHarmless: plan.alertRevision == 0, to: route)
        case .create where leaves: admission = management.admit(isHarmless: true, to: route)
        case .delete: admission = management.admit(isHarmless: true, to: route)
        case .create, .find, .forget, .wait, .nothing: return nil
        }
        if case .hold(let closure) = admission { return closure }
        return nil
    }
}

/// A claimed operation on a channel, with what its call needs.
package struct ChannelErrand: Sendable {
    package let channel: ChannelRecord
    package let flight: ChannelFlight
    package let fence: Int64
    package let plan: ChannelReconciler.Plan?
    package let desired: DesiredSituation?
    package let content: ContentRecord?

    init(
        _ channel: ChannelRecord, _ flight: ChannelFlight, plan: ChannelReconciler.Plan? = nil,
        desired: DesiredSituation? = nil, content: ContentRecord? = nil
    ) {
        self.channel = channel
        self.flight = flight
        fence = channel.fence
        self.plan = plan
        self.desired = desired
        self.content = content
    }

    /// Returns the request of a broadcast; `nil` for another operation.
    ///
    /// - Throws: `PayloadError` if the payload cannot be built. The channel is then parked for this revision.
    package func request() throws(PayloadError) -> BroadcastRequest? {
        guard let plan, let broadcastChannel = channel.broadcastChannel else { return nil }
        let activity = desired?.activity
        let relevance: RelevanceScore? = if let value = activity?.relevance { try RelevanceScore(value) } else { nil }
        let alert = plan.alertRevision > 0 ? activity?.alert?.alert : nil
        let time = UnixTime(seconds: flight.timestamp)
        let payload: BroadcastPayload
        if plan.kind == .update {
            guard let desired, let content else { return nil }
            let stale = desired.activity.staleDate(policy: desired.type.policy).flatMap {
                $0.seconds > flight.timestamp ? $0 : nil
            }
            payload = try .update(
                timestamp: time, contentState: content.state, alert: alert, staleDate: stale, relevance: relevance)
        } else {
            let dismissal = desired.map { $0.activity.endDismissal(policy: $0.type.policy) }
            payload = try .end(
                timestamp: time, contentState: plan.hasState ? content?.state : nil,
                dismissal: plan.hasState ? dismissal ?? .immediate : .immediate, alert: alert, relevance: relevance)
        }
        // A channel that stores nothing allows no expiration. That is the only error of a request.
        let storedUntil = broadcastChannel.policy == .none ? nil : plan.storedUntil
        return try? BroadcastRequest(payload, to: broadcastChannel, priority: plan.priority, storedUntil: storedUntil)
    }
}
