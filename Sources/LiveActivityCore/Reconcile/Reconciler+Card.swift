package import APNSModel

// What a phone with a card gets.
extension Reconciler {
    /// Why a card is to be sent something.
    private enum Lag {
        case state
        /// The app's own state had its time.
        case localState
        /// The state was sent without its alert: APNs refused the alert's push when that was known late.
        case alert
        case staleDate
    }

    static func update(_ desired: DesiredSituation, _ phone: PhoneSituation, _ now: UnixTime) -> Decision {
        let (activity, card) = (desired.activity, phone.card)
        if let until = localLease(desired, card, now) {
            return until.map { .wait(until: $0, Reason(.localAhead, $0.description)) } ?? .nothing(Reason(.localAhead))
        }
        guard let lag = lag(desired, card, now) else {
            return renewal(desired, phone, now) ?? .nothing(Reason(.upToDate))
        }
        if desired.unfit.hasState(phone.device.build) {
            return .nothing(Reason(.incompatibleBuild, phone.device.build ?? ""))
        }
        if let obstacle = obstacleToken(desired, phone) { return .nothing(obstacle) }
        if let due = retryDue(card, activity, now) {
            // After an accepted push it is the end of the phone's coalescing window, which an alert does not wait for.
            let window = desired.type.policy.coalescingWindow
            let isWindow = card.last.map { $0.reason.code == .accepted && due <= $0.at + window } ?? false
            if !isWindow { return .wait(until: due, Reason(.retryLater, due.description)) }
            if dueAlert(desired, phone, now) == 0 { return .wait(until: due, Reason(.coalescing, due.description)) }
        }
        // The phone showed less than it was sent of this revision: the same again, which is never worth a high push. An
        // alert that APNs has not taken yet follows by itself.
        let isRepeat =
            lag == .state && card.revisions.contradictions > 0
            && (card.last?.revision ?? 0) >= activity.revision
        // One that the app's own state held up comes with the state that follows it.
        let alert = isRepeat || lag == .staleDate ? 0 : dueAlert(desired, phone, now)
        let bringsNews = lag == .state && !isRepeat || alert > 0
        // Behind through no will of the writer: its first push is worth a high one, unless it repeats a state.
        let hasFallenBehind = card.attempts.tries > 0 || card.sentRevision == 0
        let wantsHigh =
            switch activity.priority {
            case .high: true
            case .low: false
            case .auto: alert > 0 || desired.isHighState || hasFallenBehind
            }
        let mayBeHigh = bringsNews && wantsHigh
        let lifeEnd = (card.startedAt ?? activity.runStartedAt) + activityLifetime
        let expiry = max(activity.staleDate(policy: desired.type.policy) ?? lifeEnd, now + .seconds(60))
        return .send(
            PushPlan(
                kind: .update, revision: activity.revision,
                priority: mayBeHigh
                    && highIsOpen(desired, phone, alert > 0 ? .alertOrEnd : .ordinary, alert: alert, now)
                    ? .high : .low,
                alertRevision: alert, expiresAt: expiry, reason: reason(lag, card, isRepeat: isRepeat)))
    }

    private static func lag(_ desired: DesiredSituation, _ card: CardMachine, _ now: UnixTime) -> Lag? {
        if card.heldRevision < desired.activity.revision { return .state }
        if card.lead != nil { return .localState }
        if owesAlert(desired.activity, to: card, now) { return .alert }
        // One that is past by now would only make it stale.
        guard desired.activity.isToRefresh(card),
            let date = desired.activity.staleDate(policy: desired.type.policy), date > now
        else { return nil }
        return .staleDate
    }

    private static func reason(_ lag: Lag, _ card: CardMachine, isRepeat: Bool) -> Reason {
        switch lag {
        case .localState: Reason(.localAheadOver)
        case .staleDate: Reason(.staleDateRenewed)
        case .alert: Reason(.newState)
        case .state: isRepeat ? Reason(.phoneBehind) : Reason(card.sentRevision == 0 ? .freshToken : .newState)
        }
    }

    /// Until when the app's own state stays, `.some(nil)` without an end; `nil`: there is none, or it had its time.
    private static func localLease(
        _ desired: DesiredSituation, _ card: CardMachine, _ now: UnixTime
    ) -> UnixTime?? {
        guard let lead = card.lead, card.shownRevision >= desired.activity.revision else { return nil }
        if desired.type.policy.authority == .app { return .some(nil) }
        guard let until = lead.until, now < until else { return nil }
        return .some(until)
    }

    static func end(_ desired: DesiredSituation, _ phone: PhoneSituation, _ now: UnixTime) -> Decision {
        let (activity, card) = (desired.activity, phone.card)
        // Who left an activity that goes on is not concerned by its later states.
        let isCurrent = activity.phase != .ended || card.sentRevision >= activity.revision
        let ends = if case .ending(_, let ends) = card.life { ends } else { 0 }
        let wasSent = isCurrent && ends > 0
        let why = Reason(
            activity.phase == .ended
                ? .activityEnded
                : card.isEvicted ? .evicted : phone.isWanted ? .personDismissed : .leftAudience)
        if wasSent && ends > endRepeats.count { return .nothing(Reason(.endSent)) }
        if let obstacle = obstacleToken(desired, phone) { return .nothing(obstacle) }
        if let due = retryDue(card, activity, now), wasSent || !isAfterAccepted(due, desired, card) {
            return .wait(until: due, Reason(wasSent ? .endSent : .retryLater, due.description))
        }
        let wantsHigh = !wasSent && activity.priority != .low
        // What a card says that is ended alone, while the activity goes on, is not for its person.
        let alert =
            wasSent || activity.phase != .ended || !phone.isWanted || card.isEvicted
            ? 0 : dueAlert(desired, phone, now)
        let dismissal: UnixTime =
            switch activity.endDismissal(policy: desired.type.policy) {
            case .at(let date): date
            case .systemDefault, .immediate: (activity.endedAt ?? now) + .seconds(4 * 3600)
            }
        return .send(
            PushPlan(
                kind: .end, revision: activity.revision,
                priority: wantsHigh && highIsOpen(desired, phone, .alertOrEnd, alert: alert, now) ? .high : .low,
                alertRevision: alert,
                expiresAt: max(dismissal, now + .seconds(60)), reason: wasSent ? Reason(.endRepeated) : why))
    }

    /// The date is that of an accepted end's repeat, or the end of a window: another last state does not wait for it.
    /// That of a push whose answer is awaited is neither.
    private static func isAfterAccepted(
        _ due: UnixTime, _ desired: DesiredSituation, _ card: CardMachine
    ) -> Bool {
        guard let last = card.last, last.reason.code == .accepted else { return false }
        if due <= last.at + desired.type.policy.coalescingWindow { return true }
        return last.kind == .end && endRepeats.contains { due == last.at + $0 }
    }

    // MARK: - Renewal

    /// The second card of a phone whose first one's time is nearly over; at most one is tried.
    private static func renewal(
        _ desired: DesiredSituation, _ phone: PhoneSituation, _ now: UnixTime
    ) -> Decision? {
        guard desired.type.policy.renewal, let due = phone.card.renewalDue(at: now) else { return nil }
        // The first card can only be ended with a token.
        guard obstacleToStart(desired, phone) == nil, obstacleToken(desired, phone) == nil else { return nil }
        if due > now { return .wait(until: due, Reason(.upToDate)) }
        let end = (phone.card.startedAt ?? now) + renewalEnd
        func wait(_ until: UnixTime, _ reason: Reason) -> Decision? { until < end ? .wait(until: until, reason) : nil }
        if let retry = phone.card.waitsUntil(at: now) {
            return wait(retry, Reason(.retryLater, retry.description))
        }
        if phone.hasOtherOpenStart, desired.type.activityIDAttribute == nil {
            return wait(now + otherStartRecheck, Reason(.otherStartOpen))
        }
        if let quiet = quietHoursEnd(desired, phone, 0, now) {
            return wait(quiet, Reason(.quietHours, quiet.description))
        }
        let opens = desired.type.policy.budgets.start.opens(phone.startBudget, for: .alertOrEnd, now: now)
        if opens > now { return wait(opens, Reason(.startBudget, opens.description)) }
        var plan = PushPlan(
            kind: .start, revision: desired.activity.revision, priority: .high, alertRevision: 0,
            expiresAt: min(now + desired.type.policy.startWindow, end), reason: Reason(.renewal))
        plan.part = .successor
        return .send(plan)
    }

    /// The end of the card that a renewal took the place of.
    static func endOfPredecessor(
        _ desired: DesiredSituation, _ phone: PhoneSituation, _ now: UnixTime
    ) -> Decision? {
        guard phone.updateToken?.predecessor != nil else { return nil }
        if let due = phone.card.predecessorWaitsUntil(at: now) {
            return .wait(until: due, Reason(.retryLater, due.description))
        }
        var plan = PushPlan(
            kind: .end, revision: desired.activity.revision,
            priority: highIsOpen(desired, phone, .alertOrEnd, now) ? .high : .low, alertRevision: 0,
            expiresAt: now + .seconds(3600), reason: Reason(.renewed))
        plan.part = .predecessor
        return .send(plan)
    }
}

extension CardMachine {
    /// When this card is to be started anew, or since when it is due; `nil`: not any more, or not at all.
    package func renewalDue(at now: UnixTime) -> UnixTime? {
        guard state == .live, channel == nil, !isRenewing, let startedAt, now < startedAt + Reconciler.renewalEnd else {
            return nil
        }
        return startedAt + Reconciler.renewalAge
    }
}
