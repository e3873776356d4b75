package import APNSModel

/// Decides, for each channel, the one operation that closes the difference between the desired state and the channel.
///
/// Decisions are total and deterministic, like those of ``Reconciler``.
package enum ChannelReconciler {
    package enum Decision: Sendable, Equatable {
        case create
        /// The id of a creation of unknown fate is looked up in APNs's list.
        case find
        case broadcast(Plan)
        case delete
        /// The record is of no use any more.
        case forget
        case wait(until: UnixTime)
        case nothing
    }

    /// A broadcast that was decided. Its bytes are made when it is sent.
    package struct Plan: Sendable, Hashable {
        package var kind: ChannelFlight.Kind
        package var revision: Revision
        package var priority: PushPriority
        /// Revision of the alert that the broadcast carries; 0 if it carries none.
        package var alertRevision: Revision = 0
        /// `true` if the broadcast shows the activity's newest state. The end of an earlier run shows none.
        package var hasState = true
        package var storedUntil: UnixTime
        package var reason: Reason
    }

    /// Shortest time between two broadcasts to a channel. Apple publishes no limit; a reply in its forums (thread
    /// 827808) advises at most one a second.
    package static let pace = Duration.seconds(1)
    /// Time after the end of a run for which phones may show its cards.
    ///
    /// iOS removes a card 12 hours after its start, and 4 hours after its end at the latest.
    package static let cardsRemain = Duration.seconds(12 * 3600)
    /// Wait after APNs has refused to create or to delete a channel for a reason that a person must mend.
    package static let refusalPause = Duration.seconds(900)
    /// Longest wait for another try.
    package static let longestRetry = Duration.seconds(3600)
    /// Longest time for which APNs stores a message (Apple, "Sending channel management requests to APNs").
    package static let storage = Duration.seconds(8 * 3600)

    /// Returns the decision about one channel at this time.
    ///
    /// - Parameter desired: The activity as it is now; `nil` if it was erased.
    package static func decide(
        _ channel: ChannelRecord, _ desired: DesiredSituation?, now: UnixTime
    ) -> Decision {
        if let flight = channel.flight { return .wait(until: flight.leaseUntil) }
        let isOver = isOver(channel, desired)
        if isOver, case .wanted = channel.life { return .forget }
        if isOver, case .refused = channel.life { return .forget }
        if let retryAt = channel.waitsUntil(at: now) { return .wait(until: retryAt) }
        switch channel.life {
        // Cards that `auto` started with tokens meanwhile wait for nothing, and later cards still need the channel.
        case .wanted, .refused:
            return channel.isAwaited || channel.tries > 0 || channel.life == .refused ? .create : .nothing
        case .lost: return .find
        case .open: return isOver ? end(channel, desired, now) : update(channel, desired, now)
        }
    }

    /// Returns `true` if the channel's run is over.
    package static func isOver(_ channel: ChannelRecord, _ desired: DesiredSituation?) -> Bool {
        channel.isOver(in: desired?.activity)
    }

    // MARK: - While the run goes on

    private enum Lag { case state, alert, staleDate }

    private static func update(_ channel: ChannelRecord, _ desired: DesiredSituation?, _ now: UnixTime) -> Decision {
        guard let desired, channel.hasCards else { return .nothing }
        let activity = desired.activity
        guard let lag = lag(channel, desired, now) else { return .nothing }
        let alert = lag == .staleDate ? 0 : channel.dueAlert(activity, now)
        let opensAt = max(pacedAt(channel, now), alert == 0 && lag == .state ? windowEnd(activity, now) : now)
        if now < opensAt { return .wait(until: opensAt) }
        let stale = activity.staleDate(policy: desired.type.policy)
        let wantsHigh =
            switch activity.priority {
            case .high: true
            case .low: false
            case .auto: alert > 0 || desired.isHighState || channel.tries > 0
            }
        let mayBeHigh = wantsHigh && lag != .staleDate
        return .broadcast(
            Plan(
                kind: .update, revision: activity.revision,
                priority: mayBeHigh && highIsOpen(channel, desired, alert > 0 ? .alertOrEnd : .ordinary, alert, now)
                    ? .high : .low,
                alertRevision: alert, storedUntil: min(max(stale ?? .distantFuture, now + .seconds(60)), now + storage),
                reason: Reason(lag == .staleDate ? .staleDateRenewed : .newState)))
    }

    private static func lag(_ channel: ChannelRecord, _ desired: DesiredSituation, _ now: UnixTime) -> Lag? {
        let activity = desired.activity
        guard channel.parkedRevision < activity.revision else { return nil }
        if channel.sentRevision < activity.revision { return .state }
        if channel.dueAlert(activity, now) > 0 { return .alert }
        guard let since = activity.refreshedSince, channel.timestamp < since.seconds,
            let date = activity.staleDate(policy: desired.type.policy), date > now
        else { return nil }
        return .staleDate
    }

    private static func pacedAt(_ channel: ChannelRecord, _ now: UnixTime) -> UnixTime {
        channel.lastAt.map { min($0, now) + pace } ?? now
    }

    /// End of the coalescing window, in which quick changes become one broadcast.
    private static func windowEnd(_ activity: ActivityRecord, _ now: UnixTime) -> UnixTime {
        guard activity.lap > activity.begunLap, activity.holdUntil <= now + ActivityRecord.longestHold else {
            return now
        }
        return activity.holdUntil
    }

    /// Returns `true` if a high priority is allowed: within the budget that phones are taken to have, and for a state
    /// without an alert at most once per `highPriorityInterval`.
    private static func highIsOpen(
        _ channel: ChannelRecord, _ desired: DesiredSituation, _ use: BudgetLimit.Use, _ alert: Revision,
        _ now: UnixTime
    ) -> Bool {
        let policy = desired.type.policy
        if alert == 0, let last = channel.lastHighAt, last + policy.highPriorityInterval > now { return false }
        return policy.budgets.high.opens(channel.budget, for: use, now: now) <= now
    }

    // MARK: - When it is over

    private static func end(_ channel: ChannelRecord, _ desired: DesiredSituation?, _ now: UnixTime) -> Decision {
        guard channel.hasCards else { return .delete }
        let deleteAt = min(channel.overAt ?? now, now) + cardsRemain
        guard now < deleteAt else { return .delete }
        let activity = desired.flatMap { $0.activity.run == channel.key.run ? $0.activity : nil }
        let revision = activity?.revision ?? channel.sentRevision
        let isNews = channel.ends == 0 || channel.sentRevision < revision
        if isNews {
            // APNs refused this last state through a fault of ours.
            if activity != nil, channel.parkedRevision >= revision { return .wait(until: deleteAt) }
            let opensAt = pacedAt(channel, now)
            if now < opensAt { return .wait(until: opensAt) }
        } else {
            guard channel.ends <= Reconciler.endRepeats.count else { return .wait(until: deleteAt) }
            let again = min(channel.lastAt ?? now, now) + Reconciler.endRepeats[channel.ends - 1]
            if now < again { return .wait(until: min(again, deleteAt)) }
        }
        let alert = isNews ? activity.map { channel.dueAlert($0, now) } ?? 0 : 0
        let wantsHigh = isNews && activity?.priority != .low
        let isOpen = desired.map { highIsOpen(channel, $0, .alertOrEnd, alert, now) } ?? true
        return .broadcast(
            Plan(
                kind: .end, revision: revision, priority: wantsHigh && isOpen ? .high : .low, alertRevision: alert,
                hasState: activity != nil, storedUntil: min(deleteAt, now + storage),
                reason: Reason(isNews ? (activity == nil ? .earlierRun : .activityEnded) : .endRepeated)))
    }
}

extension ChannelRecord {
    /// Returns the revision of the alert that the next broadcast carries, or 0.
    ///
    /// Starts carry the alert of their state themselves. So a channel without earlier cards owes none. Neither does any
    /// channel if the policy says that broadcasts bring none.
    package func dueAlert(_ activity: ActivityRecord, _ now: UnixTime) -> Revision {
        guard hasCards, activity.run == key.run, let alert = activity.alert, now < alert.expiresAt,
            alert.onChannels == .broadcast, alert.revision > max(alertedRevision, parkedRevision)
        else { return 0 }
        return alert.revision
    }
}
