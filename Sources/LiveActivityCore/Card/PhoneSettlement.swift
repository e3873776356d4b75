import APNSModel

/// Applies the outcome of one push to its phone's row.
struct PhoneSettlement {
    /// Effect of an outcome, for the flight's lane.
    enum Result {
        case accepted
        case refused(isSlowDown: Bool)
        case fault(Consequence.Fault)
        case awaited
        /// A newer push, run or token has overtaken the outcome.
        case overtaken
    }

    /// Facts shared by a flight's outcomes. A class, because an activity and an app are large and a flight has many
    /// phones.
    final class Context: Sendable {
        let activity: ActivityRecord
        let flight: FlightRecord
        let app: AppSettings
        let laneTries: Int
        /// `true` if a fault that does not concern the phone is recorded for the lane.
        let faultsAreTheLanes: Bool
        /// `true` if the lane has another lap to do anyway.
        let isBehind: Bool
        /// `true` if the type's cards are renewed before iOS ends them.
        let renews: Bool
        let now: UnixTime

        /// - Parameter isOpen: `true` if the lane still waits for the flight. A late outcome must not delay a lane that
        ///   went on.
        init(of settling: SettleFlight, _ activity: ActivityRecord, _ lane: LaneRecord?, isOpen: Bool) {
            self.activity = activity
            flight = settling.flight
            app = settling.app
            laneTries = lane?.tries ?? 0
            faultsAreTheLanes = isOpen && settling.faultsAreTheLanes
            isBehind = isOpen && lane?.lap != activity.lap
            renews = settling.app.types[activity.type]?.policy.renewal ?? false
            now = settling.now
        }
    }

    let entry: SettleFlight.Entry
    let context: Context
    var result = Result.overtaken
    private(set) var history: HistoryEntry?

    init(_ entry: SettleFlight.Entry, in context: Context) {
        self.entry = entry
        self.context = context
    }

    var activity: ActivityRecord { context.activity }
    var now: UnixTime { context.now }
    var seat: Flight.Seat { entry.seat }
    var plan: PushPlan { entry.seat.plan }
    var isStart: Bool { entry.seat.plan.kind == .start }

    /// Applies the outcome.
    ///
    /// - Returns: The time at which the phone is to be looked at separately; `nil` if the next lap is soon enough.
    mutating func apply(to old: CardMachine, _ draft: inout Draft) -> UnixTime? {
        var card = old
        let consequence = work(into: &card, old, &draft)
        if case .fault = result {
            // A fault of the lane leaves the phone unchanged, because the lane comes back to it. If the phone was
            // picked by its own time, a report may have moved that time while the push was on its way. Restore it.
            if context.flight.devices != nil, card.lookAt.map({ $0 > now }) ?? true { card.lookAt = now }
            draft.put(card)
            return card.lookAt
        }
        // If only the phone's own row is loaded, the claim decides. The result must not depend on what other commands
        // of the group have loaded.
        let type = entry.isSimple ? nil : context.app.types[context.activity.type]
        // Laps pass over a phone on a channel.
        card.lookAt =
            context.isBehind && card.subscription == nil
            ? card.attempts.dueAt
            : Lanes.lookAt(card, context.activity, type, renews: context.renews, knowsStart: false, now: now, draft)
        draft.put(card)
        if !entry.isSimple, let consequence {
            CardEvents(activity: activity, now: now).settled(old, card, plan, consequence, &draft)
        }
        return card.lookAt
    }

    /// Applies the outcome to the row, as far as nothing newer has overtaken it.
    ///
    /// - Returns: The consequence of the answer; `nil` while the answer is awaited.
    private mutating func work(into card: inout CardMachine, _ old: CardMachine, _ draft: inout Draft) -> Consequence? {
        if case .awaited(let until) = entry.outcome {
            hold(&card, until)
            return nil
        }
        let consequence = consequence(old, draft)
        record(consequence)
        let hasDroppedPredecessor = markDeadToken(consequence, &draft)
        // Compare and set: the outcome counts only for the same run, and if this push is the phone's newest.
        guard old.run == seat.phone.card.run else {
            forgetPredecessor(consequence, &card, &draft)
            return consequence
        }
        if hasDroppedPredecessor { card.forgetPredecessor() }
        if !isOvertaken(old) { card.stopAwaiting() }
        if !consequence.mayHaveArrived { card.giveAlertBack(seat) }
        if plan.part == .predecessor {
            settlePredecessor(consequence, awaitsAnother: awaitsAnother(old), &card, &draft)
            return consequence
        }
        guard !isOvertaken(old), isNews(consequence, old) else {
            // A newer push exists, or the card is over. The timestamp and the alert of this push are used all the same.
            overtake(consequence, &card)
            return consequence
        }
        settle(consequence, &card, &draft)
        if consequence.isPhones { card.note(delivery(consequence.reason)) }
        return consequence
    }

    private func delivery(_ reason: Reason) -> LastDelivery {
        LastDelivery(kind: plan.kind, at: now, revision: plan.revision, status: status, reason: reason)
    }

    /// Returns `true` if a newer push is on its way, or if the phone's own update is newer.
    ///
    /// The timestamp that the row had at the claim does not count as newer, however far ahead it is. After the clock
    /// was set back, no push reaches that timestamp (`Flight.timestamp`). Ignoring every outcome there would repeat
    /// each push at once. In that case the wait for an answer tells: by now, another push's answer is awaited.
    private func isOvertaken(_ old: CardMachine) -> Bool {
        awaitsAnother(old) || old.timestamp > timestampSinceClaim
    }

    /// Timestamp that the row has if nothing newer came since the claim, in seconds.
    private var timestampSinceClaim: Int64 { max(seat.timestamp, seat.phone.card.timestamp) }

    private func awaitsAnother(_ old: CardMachine) -> Bool {
        guard let mine = entry.awaitedUntil, let until = old.awaitedUntil else { return false }
        return until != mine
    }

    /// Returns `true` if the outcome still applies to the row.
    ///
    /// A settlement whose commit was unknown comes twice. A start may have followed the first one, and the second says
    /// nothing about that start.
    private func isNews(_ consequence: Consequence, _ old: CardMachine) -> Bool {
        guard isStart else { return !old.state.isTombstone && !old.hasOpenStart }
        return !isTold(consequence, old) && (isOpenStart(of: old) || !old.hasOpenStart)
    }

    /// Returns `true` if the open start is this push. The timestamp does not tell, if the clock was set back.
    private func isOpenStart(of card: CardMachine) -> Bool { card.life.openStart?.at == context.flight.claimedAt }

    /// Returns `true` if the phone reported the start's card, or another one, before APNs's answer was known. A refusal
    /// or an unknown fate then says nothing about that card.
    private func isTold(_ consequence: Consequence, _ old: CardMachine) -> Bool {
        plan.part == .card && consequence != .accepted && !old.hasOpenStart && old.state != .absent
    }

    // MARK: - What it means

    private func consequence(_ old: CardMachine, _ draft: Draft) -> Consequence {
        switch entry.outcome {
        case .notBuilt(let error): return .parked(Reason(.payloadRefused, error.description))
        case .awaited: return .accepted
        case .answered(let result):
            // The device as it was at the claim: whether it is loaded now depends on the other commands of the group.
            let device = seat.phone.device
            // A token that came in the meantime is tried in both environments too.
            let wasTried = old.last?.reason == Reason(.otherEnvironment, environment.rawValue)
            let consequence = Consequence(
                result,
                Consequence.Context(
                    isStart: isStart, tries: tries(of: old), laneTries: context.laneTries,
                    tokenFirstSeenAt: firstSeenAt ?? UnixTime(milliseconds: 0), environment: environment,
                    mayTryOtherEnvironment: device.environment == nil && !wasTried
                        && context.app.environments.contains(environment.other),
                    now: now, dice: entry.dice))
            guard case .laneFault(let fault) = consequence, !context.faultsAreTheLanes else { return consequence }
            return .retry(at: fault.retryAt(ofPhone: tries(of: old), now: now, dice: entry.dice), fault.reason)
        }
    }

    /// Returns the number of tries that decides the next wait.
    ///
    /// An ending card has no such count, because it counts the ends that APNs accepted. It waits as after 8 tries, or
    /// as after 3 for the first failure of a last state.
    private func tries(of old: CardMachine) -> Int {
        if plan.part == .predecessor { return old.predecessor.tries }
        guard old.state == .ending else { return old.attempts.tries }
        let isLastState = context.activity.phase == .ended && old.sentRevision < plan.revision
        let isFirst = old.last.map { $0.reason.code == .accepted || $0.reason.code == .awaited } ?? false
        return isLastState && isFirst ? 3 : 8
    }

    /// Time at which the push's token was first seen.
    ///
    /// It is `nil` for a replaced card. Only its end is sent to it, and a 410 of any time says that nothing is there to
    /// end. If the card still exists with another token, the next inventory names that token.
    private var firstSeenAt: UnixTime? {
        if isStart { return seat.phone.pushToStartToken?.firstSeenAt }
        return plan.part == .predecessor ? nil : seat.phone.updateToken?.firstSeenAt
    }

    private var environment: APNSEnvironment {
        (isStart ? seat.phone.pushToStartToken?.environment : seat.phone.updateToken?.environment) ?? .production
    }

    private var status: Int {
        if case .answered(.success(let answer)) = entry.outcome { answer.status } else { 0 }
    }

    private mutating func record(_ consequence: Consequence) {
        history = HistoryEntry(
            HistoryEntry.Kind(plan.kind), device: seat.phone.device.key, at: now, revision: plan.revision,
            timestamp: seat.timestamp, priority: plan.priority.rawValue, carriesAlert: plan.carriesAlert,
            status: status, reason: plan.reason, outcome: consequence.reason,
            pushID: context.flight.pushID(of: seat.phone.device.key))
    }

    // MARK: - What follows

    private mutating func settle(_ consequence: Consequence, _ card: inout CardMachine, _ draft: inout Draft) {
        if consequence.isTriedAgain(isStart: isStart) {
            draft.count(.retry(context.activity.app, consequence.reason.code))
        }
        switch consequence {
        case .accepted:
            result = .accepted
            accept(&card)
            return
        case .unknownFate(let retryAt, _):
            result = .refused(isSlowDown: false)
            card.mayHave(seat, givesAlert: !keepsAlert)
            if isStart {
                card.doubtStart()
            } else if isAboutToken(of: card) {
                card.retry(at: retryAt, counts: true)
            }
            return
        case .retry(_, let reason): result = .refused(isSlowDown: reason.code == .slowDown)
        case .laneFault(let fault): result = .fault(fault)
        case .tokenDead, .parked, .otherEnvironment: result = .refused(isSlowDown: false)
        }
        refuseStart(&card)
        switch consequence {
        case .accepted, .unknownFate: break
        case .tokenDead(let reason): loseToken(isInactive: reason.code == .tokenInactive, &card, &draft)
        case .laneFault: if card.timestamp == timestampSinceClaim { card.wait(until: nil) }
        case .retry(let at, _):
            if isAboutToken(of: card) { card.retry(at: at, counts: !entry.outcome.isNotSent) }
        case .parked: if isAboutToken(of: card) { card.park(plan.revision) }
        case .otherEnvironment(let environment, _):
            guard isAboutToken(of: card) else { return }
            card.wait(until: now)
            switchEnvironment(to: environment, &draft)
        }
    }

    private func accept(_ card: inout CardMachine) {
        card.mayHave(seat, givesAlert: true)
        let isSameToken = card.tokenGeneration == seat.phone.card.tokenGeneration
        let isNewRevision = card.sentRevision < plan.revision
        if isSameToken { card.hold(plan.revision) }
        // A start has its own budget on the device. It does not use up the one high-priority update a minute.
        if plan.priority == .high, !isStart { card.takeHigh(claimedAt: context.flight.claimedAt, at: now) }
        switch plan.kind {
        case .start: card.acceptStart()
        case .update: card.acceptUpdate(nextAt: windowEnd)
        case .end:
            card.acceptEnd(
                ofToken: isSameToken, isNews: isNewRevision && context.activity.phase == .ended,
                beginsRun: card.run != context.activity.run, at: now)
        }
    }

    /// End of the coalescing window of a phone that was updated outside a lap. Its next state waits until then.
    private var windowEnd: UnixTime? {
        guard context.flight.devices != nil, plan.kind == .update else { return nil }
        let end =
            context.flight.claimedAt + (context.app.types[context.activity.type]?.policy.coalescingWindow ?? .zero)
        return now < end ? end : nil
    }

    /// Applies the outcome of a push that a newer one has overtaken.
    ///
    /// The push may have arrived, and the phone already shows a newer state. Send neither the alert nor the state
    /// again.
    private func overtake(_ consequence: Consequence, _ card: inout CardMachine) {
        switch consequence {
        case .accepted:
            card.mayHave(seat, givesAlert: true)
            // A state that the app based on an older one covers this one, so this one must be sent again.
            if isAboutToken(of: card), card.lead == nil { card.hold(plan.revision) }
        case .unknownFate: card.mayHave(seat, givesAlert: !keepsAlert)
        case .tokenDead, .retry, .laneFault, .parked, .otherEnvironment: break
        }
    }

    /// `true` if an alert of unknown fate is to be sent again, as its writer asked.
    private var keepsAlert: Bool { context.activity.alert?.onUnknown == .repeat }

    /// Returns `true` if the outcome is about the card's current token. An outcome of a replaced update token must not
    /// delay the new one.
    private func isAboutToken(of card: CardMachine) -> Bool {
        isStart || card.tokenGeneration == seat.phone.card.tokenGeneration
    }

    /// Records a definite refusal of a start, so that another may follow, even if a rescue had made its fate unknown.
    private func refuseStart(_ card: inout CardMachine) {
        if plan.part == .successor { return card.refuseRenewal() }
        if isStart, isOpenStart(of: card) { card.refuseStart() }
    }

    private func loseToken(isInactive: Bool, _ card: inout CardMachine, _ draft: inout Draft) {
        card.loseToken(seat.timestamp)
        guard !isStart, isInactive, isAboutToken(of: card) else { return }
        card.loseCard(toEnd: plan.kind == .end, beginsRun: card.run != context.activity.run, at: now)
        if card.state.isTombstone { draft.bury(card, as: card.state, at: now) }
    }

    private mutating func hold(_ card: inout CardMachine, _ until: UnixTime) {
        result = .awaited
        guard card.run == seat.phone.card.run else { return }
        let isOvertaken = isOvertaken(card)
        card.mayHave(seat, givesAlert: false)
        // A person who came back after the claim does not get this alert, whatever happens to the push.
        if !keepsAlert { card.mayAlert(seat) }
        // A newer push or an update of the app has overtaken this one. Its alert may have arrived all the same.
        guard !isOvertaken else { return }
        card.awaitAnswer(to: seat, until: until)
        if let last = card.last, isOldNews(last) {
            card.note(delivery(isStart ? Reason(.awaited) : Reason(.awaited, until.description)))
        }
    }

    /// Returns `true` if the entry may be replaced while an answer is awaited.
    ///
    /// The last outcome decides which waits a newer state may shorten, and an awaited answer allows no shortening. Any
    /// other outcome is kept: the environment in which a token was tried, or why it is dead.
    private func isOldNews(_ last: LastDelivery) -> Bool {
        let code = last.reason.code
        return code == .accepted || code == .awaited || code == .serviceTrouble && last.revision < plan.revision
    }
}
