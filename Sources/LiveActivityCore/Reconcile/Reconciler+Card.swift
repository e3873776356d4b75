package import APNSModel

// Decisions for a phone with a card.
extension Reconciler {
    /// Reason to send a card something.
    private enum Lag {
        case state
        /// The time of the app's own state is over.
        case localState
        /// The state was sent without its alert, because APNs's refusal of the alert's push became known late.
        case alert
        case staleDate
    }

    /// Returns the decision for a live card of a person who is to see it.
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
            // After an accepted push, `due` is the end of the phone's coalescing window. An alert does not wait for it.
            let window = desired.type.policy.coalescingWindow
            let isWindow = card.last.map { $0.reason.code == .accepted && due <= $0.at + window } ?? false
            if !isWindow { return .wait(until: due, Reason(.retryLater, due.description)) }
            if dueAlert(desired, phone, now) == 0 { return .wait(until: due, Reason(.coalescing, due.description)) }
        }
        // The phone showed an older state than this revision, which it had been sent. A repeat is never worth a high
        // priority. An alert that APNs has not accepted yet follows separately.
        let isRepeat =
            lag == .state && card.revisions.contradictions > 0
            && (card.last?.revision ?? 0) >= activity.revision
        // An alert that the app's own state has delayed comes with the state that follows.
        let alert = isRepeat || lag == .staleDate ? 0 : dueAlert(desired, phone, now)
        let bringsNews = lag == .state && !isRepeat || alert > 0
        // The phone fell behind through no decision of the writer, so its first push gets a high priority. A repeat
        // does not.
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
        // A stale date in the past would only make the card stale.
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

    /// Returns the time until which the app's own state stays, or `.some(nil)` if it stays without limit.
    ///
    /// - Returns: `nil` if there is no such state, or if its time is over.
    private static func localLease(
        _ desired: DesiredSituation, _ card: CardMachine, _ now: UnixTime
    ) -> UnixTime?? {
        guard let lead = card.lead, card.shownRevision >= desired.activity.revision else { return nil }
        if desired.type.policy.authority == .app { return .some(nil) }
        guard let until = lead.until, now < until else { return nil }
        return .some(until)
    }

    /// Returns the decision for a card that is to end, or whose end the phone has not confirmed.
    static func end(_ desired: DesiredSituation, _ phone: PhoneSituation, _ now: UnixTime) -> Decision {
        let (activity, card) = (desired.activity, phone.card)
        // Later states of a continuing activity do not concern a person who left it.
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
        // A card that is ended alone, while the activity continues, brings its person no alert.
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

    /// Returns `true` if the wait is for the repeat of an accepted end, or for the end of a coalescing window. A new
    /// last state does not wait for either, but it waits for the answer to a push.
    private static func isAfterAccepted(
        _ due: UnixTime, _ desired: DesiredSituation, _ card: CardMachine
    ) -> Bool {
        guard let last = card.last, last.reason.code == .accepted else { return false }
        if due <= last.at + desired.type.policy.coalescingWindow { return true }
        return last.kind == .end && endRepeats.contains { due == last.at + $0 }
    }

    // MARK: - Renewal

    /// Returns the start of a second card, shortly before iOS ends the first. At most one is tried.
    private static func renewal(
        _ desired: DesiredSituation, _ phone: PhoneSituation, _ now: UnixTime
    ) -> Decision? {
        guard desired.type.policy.renewal, let due = phone.card.renewalDue(at: now) else { return nil }
        // The first card can only be ended through its token.
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

    /// Returns the end of the card that a renewal has replaced.
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
    /// Returns the time from which this card is to be renewed, which may be past; `nil` if it is too late or never.
    package func renewalDue(at now: UnixTime) -> UnixTime? {
        guard state == .live, channel == nil, !isRenewing, let startedAt, now < startedAt + Reconciler.renewalEnd else {
            return nil
        }
        return startedAt + Reconciler.renewalAge
    }
}
