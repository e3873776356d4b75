import APNSModel

// Decisions for a phone without a card.
extension Reconciler {
    /// Returns the decision for a phone on which a card may be started, or replaced by a notification.
    ///
    /// An obstacle that only others can remove comes first, because waiting does not help. Then come waits for another
    /// open start, for the person and for the budget, and room on the phone comes last.
    static func start(_ desired: DesiredSituation, _ phone: PhoneSituation, _ now: UnixTime) -> Decision {
        let activity = desired.activity
        guard activity.phase == .active else { return .nothing(Reason(.endedUnseen)) }
        guard phone.isWanted else { return .nothing(Reason(.leftAudience)) }
        if Fallback.hasTold(desired, phone) { return .nothing(Reason(.fellBack)) }
        let alert = dueAlert(desired, phone, now)
        if let obstacle = obstacleToStart(desired, phone) {
            guard obstacle.code.makesDisplayImpossible, Fallback.isDue(desired, phone, now) else {
                return .nothing(obstacle)
            }
            return waitForPerson(desired, phone, alert, now) ?? .fallBack(obstacle)
        }
        // Cards whose attributes name their activity can be told apart, however many starts are open.
        if phone.hasOtherOpenStart, desired.type.activityIDAttribute == nil {
            return Fallback.held(desired, phone, now, until: now + otherStartRecheck, Reason(.otherStartOpen))
        }
        if let wait = waitBeforeStart(desired, phone, alert, now) ?? waitForRoom(desired, phone, now) { return wait }
        var plan = PushPlan(
            kind: .start, revision: activity.revision, priority: .high, alertRevision: alert,
            expiresAt: now + desired.type.policy.startWindow, reason: Reason(.firstState))
        switch desired.route(of: phone, now: now) {
        case .token(let cause): if let cause { plan.reason = Reason(.firstState, cause.rawValue) }
        case .pending: return .nothing(Reason(.channelPending))
        case .channel(let id):
            plan.channel = id
            plan.reason = Reason(.firstOnChannel, id.text, desired.channelCause.rawValue)
        }
        return .send(plan)
    }

    /// Returns the reason why no card can be started; `nil` if one can.
    static func obstacleToStart(_ desired: DesiredSituation, _ phone: PhoneSituation) -> Reason? {
        switch desired.activity.start {
        case .never: return Reason(.startNever)
        case .appOnly: return Reason(.appOnly)
        case .ifPossible: break
        }
        if phone.device.activitiesEnabled == false { return Reason(.activitiesDisabled) }
        if let version = phone.device.osVersion, version < .pushToStart {
            return Reason(.belowPushToStart, version.description)
        }
        if desired.unfit.hasStart(phone.device.build) { return Reason(.incompatibleBuild, phone.device.build ?? "") }
        // A card of this run that already exists may be renewed wherever it is.
        let isHere = phone.card.state == .live && phone.card.run == desired.activity.run
        if !isHere, !desired.activity.mayStart(phone.card, on: phone.device.id) {
            return Reason(.otherDeviceActive)
        }
        guard let token = phone.pushToStartToken else { return Reason(.noPushToStartToken) }
        if token.deadAt != nil { return Reason(.pushToStartTokenDead) }
        if desired.type.policy.startAlert == nil && desired.activity.alert == nil { return Reason(.noStartAlert) }
        if isParked(desired, phone) { return parkedReason(phone) }
        return nil
    }

    private static func waitBeforeStart(
        _ desired: DesiredSituation, _ phone: PhoneSituation, _ alert: Revision, _ now: UnixTime
    ) -> Decision? {
        let card = phone.card
        if card.run == desired.activity.run, card.state == .absent || card.state.isTombstone,
            let due = card.waitsUntil(at: now)
        {
            return .wait(until: due, Reason(.retryLater, due.description))
        }
        if let wait = waitForPerson(desired, phone, alert, now) { return wait }
        if let token = phone.pushToStartToken, token.isSuspect, let last = card.startExpiresAt,
            last + suspectPause > now
        {
            let next = last + suspectPause
            return Fallback.held(
                desired, phone, now, until: next,
                Reason(.startTokenSuspect, String(token.missedStarts), next.description))
        }
        let opens = desired.type.policy.budgets.start.opens(phone.startBudget, for: .alertOrEnd, now: now)
        guard opens > now else { return nil }
        return Fallback.held(desired, phone, now, until: opens, Reason(.startBudget, opens.description))
    }

    /// Returns the waits that hold back a card as well as a notification in its place.
    private static func waitForPerson(
        _ desired: DesiredSituation, _ phone: PhoneSituation, _ alert: Revision, _ now: UnixTime
    ) -> Decision? {
        // The grace begins when both app and backend could know of the activity. It applies only if the phone was heard
        // of a moment ago. A beginning in the future comes from a clock that was ahead, so it is ignored.
        let since = max(desired.activity.runStartedAt, phone.card.createdAt)
        let until = since + desired.type.policy.startGrace
        if phone.device.contactAt + recentContact > now, since <= now, now < until {
            return .wait(until: until, Reason(.startGrace, until.description))
        }
        if let end = quietHoursEnd(desired, phone, alert, now) {
            return .wait(until: end, Reason(.quietHours, end.description))
        }
        return nil
    }

    /// Returns the end of the quiet hours that hold this start; `nil` if none do.
    static func quietHoursEnd(
        _ desired: DesiredSituation, _ phone: PhoneSituation, _ alert: Revision, _ now: UnixTime
    ) -> UnixTime? {
        guard let quiet = desired.type.policy.quietHours, alert == 0 || quiet.holdsAlerts else { return nil }
        return quiet.end(at: now, zone: phone.device.timeZone)
    }

    private static func waitForRoom(
        _ desired: DesiredSituation, _ phone: PhoneSituation, _ now: UnixTime
    ) -> Decision? {
        let policy = desired.type.policy
        guard policy.atCeiling != .ignore, let cards = phone.deviceCards, cards.count >= policy.ceiling else {
            return nil
        }
        let (until, count) = (now + ceilingRecheck, String(cards.count))
        guard cardToEvict(desired, phone) == nil else { return .wait(until: until, Reason(.evicting, count)) }
        return Fallback.held(desired, phone, now, until: until, Reason(.atCeiling, count))
    }

    /// Returns the card to end in favor of this start, among those that have a token.
    ///
    /// With `endLeastRelevant`, a card more relevant than this start is never ended.
    package static func cardToEvict(_ desired: DesiredSituation, _ phone: PhoneSituation) -> DeviceCard? {
        let cards = (phone.deviceCards ?? []).filter(\.canBeEnded)
        switch desired.type.policy.atCeiling {
        case .ignore, .wait: return nil
        case .endOldest: return cards.min { ($0.startedAt, $0.activity) < ($1.startedAt, $1.activity) }
        case .endLeastRelevant:
            let least = cards.min {
                ($0.relevance, $0.startedAt, $0.activity) < ($1.relevance, $1.startedAt, $1.activity)
            }
            return least.flatMap { $0.relevance <= desired.activity.relevance ?? 0 ? $0 : nil }
        }
    }

    /// Returns the decision for a start that was accepted, or whose fate is unknown, and whose card is not reported.
    static func unconfirmed(
        _ last: CardLife.Start, _ desired: DesiredSituation, _ phone: PhoneSituation, _ now: UnixTime
    ) -> Decision {
        guard desired.activity.phase == .active, phone.isWanted else {
            return .nothing(Reason(.waitingForUpdateToken))
        }
        let isUnknown = phone.card.last.map { $0.status == 0 } ?? true
        return waitForCard(of: last, now, isUnknown ? .startFateUnknown : .startUnconfirmed)
            ?? start(desired, phone, now)
    }

    /// Returns a wait while a start may still become a card, because another start would make a second one.
    static func waitForCard(
        of start: CardLife.Start?, _ now: UnixTime, _ reason: Reason.Code = .startUnconfirmed
    ) -> Decision? {
        guard let until = start.map({ $0.expiresAt + startFateHorizon }), now < until else { return nil }
        return .wait(until: until, Reason(reason))
    }

    /// Returns the decision for a card that is over: another start, if the activity's `restart` asks for one.
    static func over(
        _ desired: DesiredSituation, _ phone: PhoneSituation, _ now: UnixTime, _ reason: Reason
    ) -> Decision {
        guard desired.activity.phase == .active else { return .nothing(reason) }
        if phone.card.isEvicted { return .nothing(Reason(.evicted)) }
        // A dead token alone is no reason for another card. The phone may have the card with another token, and report
        // it.
        if phone.card.goneByTokenAlone != nil {
            // iOS counts its 8 hours from the card's appearance, which was before its start expired.
            let began = phone.card.beganAt
            let until = max(began, phone.card.startExpiresAt ?? began) + activityLifetime
            if now < until {
                return desired.activity.restart == .never ? .nothing(reason) : .wait(until: until, reason)
            }
        }
        // The second start of a renewal may still become a card.
        if let wait = waitForCard(of: phone.card.successor, now) { return wait }
        switch desired.activity.restart {
        case .never: return .nothing(reason)
        case .onAlert:
            guard dueAlert(desired, phone, now) > 0 else { return .nothing(reason) }
            return start(desired, phone, now)
        case .always:
            return start(desired, phone, now)
        }
    }
}
