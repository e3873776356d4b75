package import APNSModel

/// Decides, per phone, the one push that closes the difference between what should be shown and what is.
///
/// Total and deterministic: the same situation at the same time gives the same decision, so that a rescuer can tell
/// afterwards what a lost process was about to send.
package enum Reconciler {
    /// A start that is accepted, or whose fate is unknown, forbids another for this long after its expiration.
    package static let startFateHorizon = Duration.seconds(12 * 3600)
    /// A phone heard of within this time may be acting on the same event as the backend.
    package static let recentContact = Duration.seconds(60)
    /// The end is repeated after these waits until the phone confirms it.
    package static let endRepeats: [Duration] = [.seconds(15 * 60), .seconds(2 * 3600)]
    /// iOS ends an activity itself after this time.
    package static let activityLifetime = Duration.seconds(8 * 3600)
    /// A state that a phone shows behind what it was sent is sent again this often at most.
    package static let maximumContradictions = 3
    /// A start held behind another of its type is looked at again after this time, if nothing wakes it before.
    package static let otherStartRecheck = Duration.seconds(300)

    package static func decide(_ desired: DesiredSituation, _ phone: PhoneSituation, now: UnixTime) -> Decision {
        guard desired.activity.phase != .announced else { return .nothing(Reason(.notAnnounced)) }
        guard phone.device.signedOutAt == nil || phone.instance.state.mayHaveCard else {
            return .nothing(Reason(.signedOut))
        }
        let isOver = desired.activity.phase == .ended || !phone.instance.isWanted
        if phone.instance.run != desired.activity.run { return afterEarlierRun(desired, phone, now) }
        switch phone.instance.state {
        case .absent: return start(desired, phone, now)
        case .requesting:
            if let until = phone.instance.dueAt, now < until {
                return .wait(until: until, Reason(.requesting, until.description))
            }
            return afterRequest(desired, phone, now)
        case .starting:
            // Its answer is awaited; one that never came leaves the start's fate unknown.
            guard let due = phone.instance.dueAt else { return .nothing(Reason(.starting)) }
            return now < due ? .wait(until: due, Reason(.starting)) : unconfirmed(desired, phone, now)
        case .unconfirmed: return unconfirmed(desired, phone, now)
        case .live: return isOver ? end(desired, phone, now) : update(desired, phone, now)
        case .ending: return end(desired, phone, now)
        case .ended: return over(desired, phone, now, Reason(.cardEnded))
        case .dismissed: return over(desired, phone, now, Reason(.personDismissed))
        case .gone: return over(desired, phone, now, Reason(.cardGone))
        }
    }

    /// The app did not start the card that it had announced: the phone stands where it stood before.
    private static func afterRequest(
        _ desired: DesiredSituation, _ phone: PhoneSituation, _ now: UnixTime
    ) -> Decision {
        switch phone.instance.stateBeforeRequest {
        case .ended: over(desired, phone, now, Reason(.cardEnded))
        case .dismissed: over(desired, phone, now, Reason(.personDismissed))
        case .gone: over(desired, phone, now, Reason(.cardGone))
        case .absent, .requesting, .starting, .unconfirmed, .live, .ending: start(desired, phone, now)
        }
    }

    /// A phone whose last life was in an earlier run: its card is over before this run's begins, or there would be two.
    private static func afterEarlierRun(
        _ desired: DesiredSituation, _ phone: PhoneSituation, _ now: UnixTime
    ) -> Decision {
        let instance = phone.instance
        switch instance.state {
        case .live:
            // iOS ends a card after 8 hours and takes it away after 12: then it is over without us.
            let goneAt = (instance.startedAt ?? instance.createdAt) + startFateHorizon
            if goneAt <= now { return start(desired, phone, now) }
            if let obstacle = obstacleToken(desired, phone) { return .wait(until: goneAt, obstacle) }
            if let due = instance.dueAt, now < due { return .wait(until: due, Reason(.retryLater, due.description)) }
            return .send(
                PushPlan(
                    kind: .end, revision: desired.activity.revision, priority: .low, alertRevision: 0,
                    expiresAt: now + .seconds(4 * 3600), reason: Reason(.earlierRun)))
        case .starting, .unconfirmed:
            let open = (instance.startExpiresAt ?? instance.startedAt ?? instance.createdAt) + startFateHorizon
            return now < open ? .wait(until: open, Reason(.startUnconfirmed)) : start(desired, phone, now)
        case .absent, .requesting, .ending, .ended, .dismissed, .gone: return start(desired, phone, now)
        }
    }

    // MARK: - No card

    private static func start(_ desired: DesiredSituation, _ phone: PhoneSituation, _ now: UnixTime) -> Decision {
        let activity = desired.activity
        guard activity.phase == .active else { return .nothing(Reason(.endedUnseen)) }
        guard phone.instance.isWanted else { return .nothing(Reason(.leftAudience)) }
        if Fallback.hasTold(desired, phone) { return .nothing(Reason(.fellBack)) }
        if let obstacle = obstacleToStart(desired, phone) {
            guard obstacle.makesDisplayImpossible, Fallback.isDue(desired, phone, now) else {
                return .nothing(obstacle)
            }
            return waitForContact(desired, phone, now) ?? .fallBack(obstacle)
        }
        // Cards that name their activity by an attribute can be told apart, however many starts are open.
        if phone.hasOtherOpenStart, desired.type.activityIDAttribute == nil {
            return Fallback.held(desired, phone, now, until: now + otherStartRecheck, Reason(.otherStartOpen))
        }
        if let wait = waitBeforeStart(desired, phone, now) { return wait }
        return .send(
            PushPlan(
                kind: .start, revision: activity.revision, priority: .high,
                alertRevision: dueAlert(desired, phone, now),
                expiresAt: now + desired.type.policy.startWindow, reason: Reason(.firstState)))
    }

    private static func obstacleToStart(_ desired: DesiredSituation, _ phone: PhoneSituation) -> Reason? {
        switch desired.activity.start {
        case .never: return Reason(.startNever)
        case .appOnly: return Reason(.appOnly)
        case .ifPossible: break
        }
        if phone.device.activitiesEnabled == false { return Reason(.activitiesDisabled) }
        if let version = phone.device.osVersion, version < .pushToStart {
            return Reason(.belowPushToStart, version.description)
        }
        if !phone.instance.mayStart { return Reason(.otherDeviceActive) }
        guard let token = phone.pushToStartToken else { return Reason(.noPushToStartToken) }
        if token.deadAt != nil { return Reason(.pushToStartTokenDead) }
        if desired.type.policy.startAlert == nil && desired.activity.alert == nil { return Reason(.noStartAlert) }
        if isParked(desired, phone) { return parkedReason(phone) }
        return nil
    }

    private static func waitBeforeStart(
        _ desired: DesiredSituation, _ phone: PhoneSituation, _ now: UnixTime
    ) -> Decision? {
        let instance = phone.instance
        if instance.run == desired.activity.run, instance.state == .absent || instance.state.isTombstone,
            let due = instance.dueAt, now < due
        {
            return .wait(until: due, Reason(.retryLater, due.description))
        }
        if let wait = waitForContact(desired, phone, now) { return wait }
        let opens = desired.type.policy.budgets.start.opens(phone.startBudget, for: .alertOrEnd, now: now)
        guard opens > now else { return nil }
        return Fallback.held(desired, phone, now, until: opens, Reason(.startBudget, opens.description))
    }

    /// The grace counts from the moment both sides could know, and only where the phone has just been heard of.
    private static func waitForContact(
        _ desired: DesiredSituation, _ phone: PhoneSituation, _ now: UnixTime
    ) -> Decision? {
        let since = max(desired.activity.runStartedAt, phone.instance.createdAt)
        let until = since + desired.type.policy.startGrace
        guard phone.device.contactAt + recentContact > now, now < until else { return nil }
        return .wait(until: until, Reason(.startGrace, until.description))
    }

    private static func unconfirmed(_ desired: DesiredSituation, _ phone: PhoneSituation, _ now: UnixTime) -> Decision {
        let open =
            (phone.instance.startExpiresAt ?? phone.instance.startedAt ?? phone.instance.createdAt) + startFateHorizon
        guard desired.activity.phase == .active, phone.instance.isWanted else {
            return .nothing(Reason(.waitingForUpdateToken))
        }
        if now < open {
            let isUnknown = phone.instance.last.map { $0.status == 0 } ?? true
            return .wait(until: open, Reason(isUnknown ? .startFateUnknown : .startUnconfirmed))
        }
        return start(desired, phone, now)
    }

    // MARK: - A card

    private static func update(_ desired: DesiredSituation, _ phone: PhoneSituation, _ now: UnixTime) -> Decision {
        let (activity, instance) = (desired.activity, phone.instance)
        guard instance.heldRevision < activity.revision else { return .nothing(Reason(.upToDate)) }
        if let obstacle = obstacleToken(desired, phone) { return .nothing(obstacle) }
        if let due = instance.dueAt, now < due { return .wait(until: due, Reason(.retryLater, due.description)) }
        // The phone showed less than it was sent of this revision: the same again, which is never worth a high push.
        let isRepeat = instance.contradictions > 0 && (instance.last?.revision ?? 0) >= activity.revision
        let alert = isRepeat ? 0 : dueAlert(desired, phone, now)
        // Behind through no will of the writer: its first push is worth a high one, unless it repeats a state.
        let hasFallenBehind = instance.tries > 0 || instance.sentRevision == 0
        let wantsHigh =
            switch activity.priority {
            case .high: true
            case .low: false
            case .auto: alert > 0 || desired.isHighState || hasFallenBehind
            }
        let reason =
            if isRepeat { Reason(.phoneBehind) } else if instance.sentRevision == 0 {
                Reason(.freshToken)
            } else { Reason(.newState) }
        let lifeEnd = (instance.startedAt ?? activity.runStartedAt) + activityLifetime
        let expiry = max(activity.staleDate(policy: desired.type.policy) ?? lifeEnd, now + .seconds(60))
        return .send(
            PushPlan(
                kind: .update, revision: activity.revision,
                priority: wantsHigh && !isRepeat && highIsOpen(desired, phone, alert > 0 ? .alertOrEnd : .ordinary, now)
                    ? .high : .low,
                alertRevision: alert,
                expiresAt: expiry, reason: reason))
    }

    private static func end(_ desired: DesiredSituation, _ phone: PhoneSituation, _ now: UnixTime) -> Decision {
        let (activity, instance) = (desired.activity, phone.instance)
        // Who left an activity that goes on is not concerned by its later states.
        let isCurrent = activity.phase != .ended || instance.sentRevision >= activity.revision
        let wasSent = instance.state == .ending && isCurrent && instance.tries > 0
        let why = Reason(activity.phase == .ended ? .activityEnded : .leftAudience)
        if wasSent && instance.tries > endRepeats.count { return .nothing(Reason(.endSent)) }
        if let obstacle = obstacleToken(desired, phone) { return .nothing(obstacle) }
        // After an accepted end the date is that of its repeat, which another last state does not wait for.
        if let due = instance.dueAt, now < due, wasSent || instance.last?.reason.code != .accepted {
            return .wait(until: due, Reason(wasSent ? .endSent : .retryLater, due.description))
        }
        let wantsHigh = !wasSent && activity.priority != .low
        let dismissal: UnixTime =
            switch activity.endDismissal {
            case .at(let date): date
            case .systemDefault, .immediate: (activity.endedAt ?? now) + .seconds(4 * 3600)
            }
        return .send(
            PushPlan(
                kind: .end, revision: activity.revision,
                priority: wantsHigh && highIsOpen(desired, phone, .alertOrEnd, now) ? .high : .low,
                alertRevision: wasSent || !instance.isWanted ? 0 : dueAlert(desired, phone, now),
                expiresAt: max(dismissal, now + .seconds(60)), reason: wasSent ? Reason(.endRepeated) : why))
    }

    private static func over(
        _ desired: DesiredSituation, _ phone: PhoneSituation, _ now: UnixTime, _ reason: Reason
    ) -> Decision {
        guard desired.activity.phase == .active else { return .nothing(reason) }
        switch desired.activity.restart {
        case .never: return .nothing(reason)
        case .onAlert:
            guard dueAlert(desired, phone, now) > 0 else { return .nothing(reason) }
            return start(desired, phone, now)
        case .always:
            return start(desired, phone, now)
        }
    }

    // MARK: - Shared

    /// The revision of the alert to carry, or 0: it reaches a phone at most once, never after it expired, and not one
    /// who joined after it was given.
    static func dueAlert(_ desired: DesiredSituation, _ phone: PhoneSituation, _ now: UnixTime) -> Revision {
        guard let alert = desired.activity.alert, now < alert.expiresAt else { return 0 }
        let alerted = phone.instance.run == desired.activity.run ? phone.instance.alertedRevision : 0
        return alert.revision > alerted ? alert.revision : 0
    }

    private static func obstacleToken(_ desired: DesiredSituation, _ phone: PhoneSituation) -> Reason? {
        guard let token = phone.updateToken else { return Reason(.waitingForUpdateToken) }
        if token.deadAt != nil { return Reason(.updateTokenDead) }
        return isParked(desired, phone) ? parkedReason(phone) : nil
    }

    /// One high push a minute for each card, and no more than our estimate of what the device lets through.
    private static func highIsOpen(
        _ desired: DesiredSituation, _ phone: PhoneSituation, _ use: BudgetLimit.Use, _ now: UnixTime
    ) -> Bool {
        let policy = desired.type.policy
        if let last = phone.instance.lastHighAt, last + policy.highPriorityInterval > now { return false }
        return policy.budgets.high(phone.device).opens(phone.highBudget, for: use, now: now) <= now
    }

    private static func isParked(_ desired: DesiredSituation, _ phone: PhoneSituation) -> Bool {
        phone.instance.parkedRevision >= desired.activity.revision
    }

    private static func parkedReason(_ phone: PhoneSituation) -> Reason {
        phone.instance.last?.reason ?? Reason(.parked)
    }
}
