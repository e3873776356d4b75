package import APNSModel

/// Decides, per phone, the one push that closes the difference between what should be shown and what is.
///
/// What a phone without a card gets stands in `Reconciler+Start.swift`, what one with a card gets in `+Card`.
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
    /// How long a state that the app set itself stays without a newer one of the server's.
    package static let localAheadLease = Duration.seconds(60)
    /// A card is started anew at this age, and not any more at that one: iOS ends it at eight hours.
    package static let renewalAge = Duration.seconds(7 * 3600 + 15 * 60)
    package static let renewalEnd = Duration.seconds(7 * 3600 + 50 * 60)
    /// Starts through a suspect token are tried this long after one another.
    package static let suspectPause = Duration.seconds(3600)
    /// A start on a phone at its ceiling is looked at again after this time.
    package static let ceilingRecheck = Duration.seconds(15)
    /// A start held behind another of its type is looked at again after this time, if nothing wakes it before.
    package static let otherStartRecheck = Duration.seconds(300)

    package static func decide(_ desired: DesiredSituation, _ phone: PhoneSituation, now: UnixTime) -> Decision {
        guard desired.activity.phase != .announced else { return .nothing(Reason(.notAnnounced)) }
        // Neither told anything nor ended: to its phone the activity looks like one that nobody spoke of.
        guard phone.card.awaitsUntil == nil else { return .nothing(Reason(.awaitingAudience)) }
        // A card that is too many comes first; while its end waits, it holds up starts, and fallbacks in their place.
        if let end = endOfPredecessor(desired, phone, now) {
            return meanwhile(end, decideCard(desired, phone, now), phone.card, now)
        }
        return decideCard(desired, phone, now)
    }

    /// Until the end of another card is tried again, a card that is there gets what it needs. What a start waits for
    /// is nobody's business yet: none is made before that end.
    private static func meanwhile(
        _ end: Decision, _ own: Decision, _ card: CardMachine, _ now: UnixTime
    ) -> Decision {
        guard case .wait(let until, _) = end, !card.awaitsAnswer(at: now), card.state == .live || card.state == .ending
        else { return end }
        if case .send(let plan) = own, plan.kind != .start { return own }
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
        switch phone.card.life {
        case .absent: return withoutCard(desired, phone, after: nil, now)
        case .requesting(let request):
            if request.holds(at: now) {
                return .wait(until: request.until, Reason(.requesting, request.until.description))
            }
            // The app did not start the card that it had announced: the phone stands where it stood before.
            return withoutCard(desired, phone, after: request.before.outcome, now)
        case .starting(let start):
            // Its answer is awaited; one that never came leaves the start's fate unknown.
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

    /// A phone whose last life was in an earlier run: its card is over before this run's begins, or there would be two.
    private static func afterEarlierRun(
        _ desired: DesiredSituation, _ phone: PhoneSituation, _ now: UnixTime
    ) -> Decision {
        let card = phone.card
        switch card.life {
        case .live:
            // iOS ends a card after 8 hours and takes it away after 12: then it is over without us.
            let goneAt = card.beganAt + startFateHorizon
            if goneAt <= now { return start(desired, phone, now) }
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
            // The card that its app is about to start would be a second one beside ours, whatever run the app means.
            if desired.activity.phase == .active, request.holds(at: now) {
                return .wait(until: request.until, Reason(.requesting, request.until.description))
            }
            return start(desired, phone, now)
        case .absent, .ending, .over: return start(desired, phone, now)
        }
    }

    // MARK: - Shared

    /// Two pushes of one second would carry the same timestamp where the clock was set back by more than seven hours:
    /// none is greater than the card's then. iOS would ignore the second push, so it waits for the next second.
    private static func inItsOwnSecond(_ decision: Decision, _ card: CardMachine, _ now: UnixTime) -> Decision {
        guard case .send = decision else { return decision }
        let latest = Flight.latestTimestamp(now)
        // A card at that timestamp may have got it in this second, by a process that could not say so any more.
        let isUsed =
            card.timestamp > latest ? card.last?.at.seconds == now.seconds : card.timestamp == latest
        guard isUsed else { return decision }
        let next = UnixTime(seconds: now.seconds + 1)
        return .wait(until: next, Reason(.retryLater, next.description))
    }

    /// Until when a phone's next push waits; `nil`: it does not.
    ///
    /// Apple's 15 minutes after a 5xx are for what is sent again. A state that is newer than what met the 5xx is no
    /// repetition: it waits a minute at most, as what is held back by a lane or a circuit does.
    static func retryDue(_ card: CardMachine, _ activity: ActivityRecord, _ now: UnixTime) -> UnixTime? {
        guard let due = card.waitsUntil(at: now) else { return nil }
        guard let last = card.last, last.reason.code == .serviceTrouble, last.revision < activity.revision else {
            return due
        }
        let sooner = min(due, last.at + RetryDelay.halted)
        return now < sooner ? sooner : nil
    }

    /// The revision of the alert to carry, or 0: it reaches a phone at most once, never after it expired, and not one
    /// who joined after it was given.
    static func dueAlert(_ desired: DesiredSituation, _ phone: PhoneSituation, _ now: UnixTime) -> Revision {
        guard let alert = desired.activity.alert, now < alert.expiresAt else { return 0 }
        return alert.revision > phone.card.alerts.given ? alert.revision : 0
    }

    /// APNs took the state for this phone without its alert: the push that carried both was refused, and that was known
    /// late.
    static func owesAlert(_ activity: ActivityRecord, to card: CardMachine, _ now: UnixTime) -> Bool {
        guard let alert = activity.alert, now < alert.expiresAt, card.run == activity.run else { return false }
        return card.sentRevision >= alert.revision && alert.revision > card.alerts.given
    }

    static func obstacleToken(_ desired: DesiredSituation, _ phone: PhoneSituation) -> Reason? {
        guard let token = phone.updateToken else {
            return phone.card.channel.map { Reason(.onChannel, $0.text) } ?? Reason(.waitingForUpdateToken)
        }
        if token.deadAt != nil { return Reason(.updateTokenDead) }
        return isParked(desired, phone) ? parkedReason(phone) : nil
    }

    /// No more high pushes than our estimate of what the device lets through, and of states one a minute for each card.
    ///
    /// An alert does not wait for that minute, or it would come late and without its sound: what it may cost is the
    /// budget's matter, which keeps a reserve for it.
    static func highIsOpen(
        _ desired: DesiredSituation, _ phone: PhoneSituation, _ use: BudgetLimit.Use, alert: Revision = 0,
        _ now: UnixTime
    ) -> Bool {
        let policy = desired.type.policy
        if alert == 0, let last = phone.card.lastHighAt, last + policy.highPriorityInterval > now { return false }
        return policy.budgets.high(phone.device).opens(phone.highBudget, for: use, now: now) <= now
    }

    static func isParked(_ desired: DesiredSituation, _ phone: PhoneSituation) -> Bool {
        phone.card.revisions.parked >= desired.activity.revision
    }

    static func parkedReason(_ phone: PhoneSituation) -> Reason {
        phone.card.last?.reason ?? Reason(.parked)
    }
}
