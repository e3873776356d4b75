package import APNSModel

/// Decides, for each phone, the one push that closes the difference between the desired state and its card.
///
/// `Reconciler+Start.swift` decides for phones without a card, `Reconciler+Card.swift` for phones with one.
///
/// Decisions are total and deterministic: the same situation at the same time gives the same decision. So a rescuer can
/// tell afterwards what a lost process was about to send.
package enum Reconciler {
    /// Time after a start's expiration during which no other start follows, if the start was accepted or its fate is
    /// unknown.
    package static let startFateHorizon = Duration.seconds(12 * 3600)
    /// Age of a phone's last contact up to which its app may be acting on the same event as the backend.
    package static let recentContact = Duration.seconds(60)
    /// Waits before each repeat of an end that the phone has not confirmed.
    package static let endRepeats: [Duration] = [.seconds(15 * 60), .seconds(2 * 3600)]
    /// Time after which iOS ends a Live Activity itself.
    package static let activityLifetime = Duration.seconds(8 * 3600)
    /// Maximum number of times a state is sent again to a phone that shows an older one.
    package static let maximumContradictions = 3
    /// Time for which a state that the app set itself stays, if the server has no newer one.
    package static let localAheadLease = Duration.seconds(60)
    /// Ages of a card between which it is renewed. iOS ends it at 8 hours.
    package static let renewalAge = Duration.seconds(7 * 3600 + 15 * 60)
    package static let renewalEnd = Duration.seconds(7 * 3600 + 50 * 60)
    /// Pause between the expiration of a start through a suspect token and the next try.
    package static let suspectPause = Duration.seconds(3600)
    /// Time after which a start on a phone at its ceiling is decided again.
    package static let ceilingRecheck = Duration.seconds(15)
    /// Time after which a start held behind another of its type is decided again, if nothing wakes it before.
    package static let otherStartRecheck = Duration.seconds(300)

    /// Returns the decision about one phone at this time.
    package static func decide(_ desired: DesiredSituation, _ phone: PhoneSituation, now: UnixTime) -> Decision {
        guard desired.activity.phase != .announced else { return .nothing(Reason(.notAnnounced)) }
        // Neither updated nor ended: to this phone the activity must look as if it did not exist.
        guard phone.card.awaitsUntil == nil else { return .nothing(Reason(.awaitingAudience)) }
        // A card too many is ended first. While that end waits, it holds back starts and fallbacks in their place.
        if let end = endOfPredecessor(desired, phone, now) {
            return meanwhile(end, decideCard(desired, phone, now), phone.card, now)
        }
        return decideCard(desired, phone, now)
    }

    /// Returns the decision while the end of another card waits. An existing card still gets its pushes.
    ///
    /// A start is not decided meanwhile, because none is made before that end.
    private static func meanwhile(
        _ end: Decision, _ own: Decision, _ card: CardMachine, _ now: UnixTime
    ) -> Decision {
        guard case .wait(let until, _) = end, !card.awaitsAnswer(at: now), card.state == .live || card.state == .ending
        else { return end }
        if case .send(let plan) = own, plan.kind != .start { return own }
        if case .fallBack(let reason) = own, reason.code == .alertByNotification { return own }
        if case .wait(let due, _) = own, due < until { return own }
        return end
    }

    private static func decideCard(_ desired: DesiredSituation, _ phone: PhoneSituation, _ now: UnixTime) -> Decision {
        guard phone.device.signedOutAt == nil || phone.card.state.mayHaveCard else {
            return .nothing(Reason(.signedOut))
        }
        let isOver = desired.activity.phase == .ended || !phone.isWanted || phone.card.isEvicted
        if phone.card.run != desired.activity.run {
            return inItsOwnSecond(afterEarlierRun(desired, phone, now), phone.card, now)
        }
        if Fallback.isAlertDue(desired, phone, now) { return .fallBack(Reason(.alertByNotification)) }
        switch phone.card.life {
        case .absent: return withoutCard(desired, phone, after: nil, now)
        case .requesting(let request):
            if request.holds(at: now) {
                return .wait(until: request.until, Reason(.requesting, request.until.description))
            }
            // The app did not start the requested card. The state from before the request applies.
            return withoutCard(desired, phone, after: request.before.outcome, now)
        case .starting(let start):
            // An answer that never comes leaves the start's fate unknown.
            guard let due = phone.card.attempts.dueAt else { return .nothing(Reason(.starting)) }
            return now < due ? .wait(until: due, Reason(.starting)) : unconfirmed(start, desired, phone, now)
        case .unconfirmed(let start): return unconfirmed(start, desired, phone, now)
        case .live:
            return inItsOwnSecond(isOver ? end(desired, phone, now) : update(desired, phone, now), phone.card, now)
        case .ending: return inItsOwnSecond(end(desired, phone, now), phone.card, now)
        case .over(let over): return withoutCard(desired, phone, after: over.how, now)
        }
    }

    private static func withoutCard(
        _ desired: DesiredSituation, _ phone: PhoneSituation, after outcome: CardLife.Outcome?, _ now: UnixTime
    ) -> Decision {
        switch outcome {
        case nil: start(desired, phone, now)
        case .ended: over(desired, phone, now, Reason(.cardEnded))
        case .dismissed: over(desired, phone, now, Reason(.personDismissed))
        case .gone: over(desired, phone, now, Reason(.cardGone))
        }
    }

    /// Returns the decision for a phone whose row is of an earlier run. Its card must be over before this run begins,
    /// or there would be two.
    private static func afterEarlierRun(
        _ desired: DesiredSituation, _ phone: PhoneSituation, _ now: UnixTime
    ) -> Decision {
        let card = phone.card
        switch card.life {
        case .live:
            // iOS ends a card after 8 hours and removes it after 12. From then on it is over without an end from Islet.
            let goneAt = card.beganAt + startFateHorizon
            if goneAt <= now { return start(desired, phone, now) }
            if let channel = card.channel.flatMap(desired.channel) {
                // The end of the earlier run goes to everybody on the channel.
                return channel.ends > 0
                    ? start(desired, phone, now) : .wait(until: goneAt, Reason(.channelBehind, channel.id?.text ?? ""))
            }
            if let obstacle = obstacleToken(desired, phone) { return .wait(until: goneAt, obstacle) }
            if let due = retryDue(card, desired.activity, now) {
                return .wait(until: due, Reason(.retryLater, due.description))
            }
            return .send(
                PushPlan(
                    kind: .end, revision: desired.activity.revision, priority: .low, alertRevision: 0,
                    expiresAt: now + .seconds(4 * 3600), reason: Reason(.earlierRun)))
        case .starting(let last), .unconfirmed(let last):
            return waitForCard(of: last, now) ?? start(desired, phone, now)
        case .requesting(let request):
            // The card that the app is about to start would be a second one beside ours, whichever run the app means.
            if desired.activity.phase == .active, request.holds(at: now) {
                return .wait(until: request.until, Reason(.requesting, request.until.description))
            }
            return start(desired, phone, now)
        case .absent, .ending, .over: return start(desired, phone, now)
        }
    }

    // MARK: - Shared

    /// Delays a push to the next second if it would repeat the card's timestamp, because iOS would ignore it.
    ///
    /// A clock that was set back by more than seven hours causes such a push: no allowed timestamp is then greater than
    /// the card's.
    private static func inItsOwnSecond(_ decision: Decision, _ card: CardMachine, _ now: UnixTime) -> Decision {
        guard case .send = decision else { return decision }
        let latest = Flight.latestTimestamp(now)
        // At exactly that timestamp, a process that could no longer report it may have used it in this second. Past it,
        // the time of the last push tells.
        let isUsed =
            card.timestamp > latest ? card.last?.at.seconds == now.seconds : card.timestamp == latest
        guard isUsed else { return decision }
        let next = UnixTime(seconds: now.seconds + 1)
        return .wait(until: next, Reason(.retryLater, next.description))
    }

    /// Returns the time until which a phone's next push waits; `nil` if it does not.
    ///
    /// Apple's 15 minutes after a 5xx apply to a repeated push. A state newer than the failed one is no repetition. It
    /// waits a minute at most, like a state that a lane or a circuit holds back.
    static func retryDue(_ card: CardMachine, _ activity: ActivityRecord, _ now: UnixTime) -> UnixTime? {
        guard let due = card.waitsUntil(at: now) else { return nil }
        guard let last = card.last, last.reason.code == .serviceTrouble, last.revision < activity.revision else {
            return due
        }
        let sooner = min(due, last.at + RetryDelay.halted)
        return now < sooner ? sooner : nil
    }

    /// Returns the revision of the alert to carry, or 0. An alert reaches a phone at most once and never after its
    /// expiration. A person who joined after it was given does not get it.
    static func dueAlert(_ desired: DesiredSituation, _ phone: PhoneSituation, _ now: UnixTime) -> Revision {
        guard let alert = desired.activity.alert, now < alert.expiresAt else { return 0 }
        let given = max(phone.card.alerts.given, desired.alerted(onChannelOf: phone))
        return alert.revision > given ? alert.revision : 0
    }

    /// Returns the reason for a card that shows what is sent to a channel.
    private static func onChannel(_ id: ChannelID, _ desired: DesiredSituation, _ phone: PhoneSituation) -> Reason {
        guard let channel = desired.channel(id) else { return Reason(.onChannel, id.text) }
        let activity = desired.activity
        // A broadcast would reach everybody.
        if activity.phase == .active, !phone.isWanted || phone.card.isEvicted { return Reason(.endsAtContact) }
        let isSent = channel.key.run != activity.run || channel.sentRevision >= activity.revision
        return isSent ? Reason(.channelCurrent, id.text) : Reason(.channelBehind, id.text)
    }

    /// Returns `true` if APNs accepted the state for this phone, but not its alert. The push that carried both was
    /// refused, and the refusal became known late.
    static func owesAlert(_ activity: ActivityRecord, to card: CardMachine, _ now: UnixTime) -> Bool {
        guard let alert = activity.alert, now < alert.expiresAt, card.run == activity.run else { return false }
        return card.sentRevision >= alert.revision && alert.revision > card.alerts.given
    }

    /// Returns the reason why no push can be sent to the card; `nil` if one can.
    static func obstacleToken(_ desired: DesiredSituation, _ phone: PhoneSituation) -> Reason? {
        guard let token = phone.updateToken else {
            return phone.card.channel.map { onChannel($0, desired, phone) } ?? Reason(.waitingForUpdateToken)
        }
        if token.deadAt != nil { return Reason(.updateTokenDead) }
        return isParked(desired, phone) ? parkedReason(phone) : nil
    }

    /// Returns `true` if a high-priority push is allowed: within the device's estimated budget, and for a state at most
    /// once per `highPriorityInterval` for each activity and phone.
    ///
    /// An alert does not wait for that interval, or it would come late and without its sound. The budget limits alerts,
    /// and keeps a reserve for them.
    static func highIsOpen(
        _ desired: DesiredSituation, _ phone: PhoneSituation, _ use: BudgetLimit.Use, alert: Revision = 0,
        _ now: UnixTime
    ) -> Bool {
        let policy = desired.type.policy
        if alert == 0, let last = phone.card.lastHighAt, last + policy.highPriorityInterval > now { return false }
        return policy.budgets.high(phone.device).opens(phone.highBudget, for: use, now: now) <= now
    }

    /// Returns `true` if APNs refused this revision through a fault of ours, so that it is not sent again.
    static func isParked(_ desired: DesiredSituation, _ phone: PhoneSituation) -> Bool {
        phone.card.revisions.parked >= desired.activity.revision
    }

    static func parkedReason(_ phone: PhoneSituation) -> Reason {
        phone.card.last?.reason ?? Reason(.parked)
    }
}
