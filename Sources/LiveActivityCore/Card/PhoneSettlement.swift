import APNSModel

/// Works the outcome of one push into its phone's row.
struct PhoneSettlement {
    enum Result {
        case accepted
        case refused(isSlowDown: Bool)
        case fault(Consequence.Fault)
        case awaited
        /// A newer push, life or token made the outcome old news.
        case overtaken
    }

    /// What a flight's outcomes have in common. By reference: an activity and an app are large, a flight's phones many.
    final class Context: Sendable {
        let activity: ActivityRecord
        let flight: FlightRecord
        let app: AppSettings
        let laneTries: Int
        /// A fault that is not the phone's is written down for the lane, not for the phone.
        let faultsAreTheLanes: Bool
        /// The lane goes around once more anyway.
        let isBehind: Bool
        /// The type's cards are started anew before their time is over.
        let renews: Bool
        let now: UnixTime

        /// - Parameter isOpen: The lane still waits for the flight: what comes late cannot hold up one that went on.
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

    /// - Returns: When the phone is to be looked at by itself.
    mutating func apply(to old: CardMachine, _ draft: inout Draft) -> UnixTime? {
        var card = old
        let consequence = work(into: &card, old, &draft)
        if case .fault = result {
            // A fault of the lane's leaves the phone as it was found: the lane comes back to it. Where it was picked by
            // its own time, news of it may have put that off while the push was on its way.
            if context.flight.devices != nil, card.lookAt.map({ $0 > now }) ?? true { card.lookAt = now }
            draft.put(card)
            return card.lookAt
        }
        // Where nothing but the phone's own row is loaded, the claim decides: whether others of the group loaded more
        // must make no difference.
        let type = entry.isSimple ? nil : context.app.types[context.activity.type]
        card.lookAt =
            context.isBehind
            ? card.attempts.dueAt
            : Lanes.lookAt(card, context.activity, type, renews: context.renews, knowsStart: false, now: now, draft)
        draft.put(card)
        if !entry.isSimple, let consequence {
            CardEvents(activity: activity, now: now).settled(old, card, plan, consequence, &draft)
        }
        return card.lookAt
    }

    /// - Returns: What the answer means; `nil` while it is awaited.
    private mutating func work(into card: inout CardMachine, _ old: CardMachine, _ draft: inout Draft) -> Consequence? {
        if case .awaited(let until) = entry.outcome {
            hold(&card, until)
            return nil
        }
        let consequence = consequence(old, draft)
        record(consequence)
        let hasDroppedPredecessor = markDeadToken(consequence, &draft)
        // Compare and set: the push this outcome is about is the phone's newest, and of the same life.
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
            // Or the card is over by now. What it used up is used up all the same.
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

    /// A newer push is on its way since, or the phone's own update is newer.
    ///
    /// What stood in the row when this one was claimed is not, however far ahead: where the clock was set back, no push
    /// reaches it (`Flight.timestamp`), and what becomes of one that counted for nothing would be asked again at once.
    /// There it is the wait for an answer that tells: another push's answer is awaited by now.
    private func isOvertaken(_ old: CardMachine) -> Bool {
        awaitsAnother(old) || old.timestamp > timestampSinceClaim
    }

    /// The row's timestamp with this push, if nothing newer came since the claim.
    private var timestampSinceClaim: Int64 { max(seat.timestamp, seat.phone.card.timestamp) }

    private func awaitsAnother(_ old: CardMachine) -> Bool {
        guard let mine = entry.awaitedUntil, let until = old.awaitedUntil else { return false }
        return until != mine
    }

    /// A settlement whose commit was unknown comes twice, and what it did the first time may be followed by a start by
    /// then: it says nothing of that one.
    private func isNews(_ consequence: Consequence, _ old: CardMachine) -> Bool {
        guard isStart else { return !old.state.isTombstone && !old.hasOpenStart }
        return !isTold(consequence, old) && (isOpenStart(of: old) || !old.hasOpenStart)
    }

    /// The start whose card is awaited is this one. Its timestamp does not tell that where the clock was set back.
    private func isOpenStart(of card: CardMachine) -> Bool { card.life.openStart?.at == context.flight.claimedAt }

    /// The phone has spoken of the start's card, or of another one, before APNs's answer to the start was known. A
    /// refusal or a doubt that comes then says nothing about that card.
    private func isTold(_ consequence: Consequence, _ old: CardMachine) -> Bool {
        plan.part == .card && consequence != .accepted && !old.hasOpenStart && old.state != .absent
    }

    // MARK: - What it means

    private func consequence(_ old: CardMachine, _ draft: Draft) -> Consequence {
        switch entry.outcome {
        case .notBuilt(let error): return .parked(Reason(.payloadRefused, error.description))
        case .awaited: return .accepted
        case .answered(let result):
            // As of the claim: whether the device is loaded depends on what else shares the transaction.
            let device = seat.phone.device
            // A token that came since is tried in both as well.
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

    /// A phone counts its tries, but for an ending one, which counts the ends that APNs took: what became of another
    /// does not change that, and the wait is that of so many tries in a row. A last state is worth a shorter one, once.
    private func tries(of old: CardMachine) -> Int {
        if plan.part == .predecessor { return old.predecessor.tries }
        guard old.state == .ending else { return old.attempts.tries }
        let isLastState = context.activity.phase == .ended && old.sentRevision < plan.revision
        let isFirst = old.last.map { $0.reason.code == .accepted || $0.reason.code == .awaited } ?? false
        return isLastState && isFirst ? 3 : 8
    }

    /// When the value that the push went to was first seen.
    ///
    /// `nil` for a predecessor: nothing but its end is sent to it, and a 410 of whatever time says that nothing is
    /// there to end. If the card is still there with another token, the next inventory names that one.
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
        // A start has a budget of its own on the device: it does not use up the minute's one high update.
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

    /// The phone was told by itself, outside of any lap: the next state waits for its window, as after a lap.
    private var windowEnd: UnixTime? {
        guard context.flight.devices != nil, plan.kind == .update else { return nil }
        let end =
            context.flight.claimedAt + (context.app.types[context.activity.type]?.policy.coalescingWindow ?? .zero)
        return now < end ? end : nil
    }

    /// The phone may have it, and shows something newer: an alert is not given again, nor the state sent again.
    private func overtake(_ consequence: Consequence, _ card: inout CardMachine) {
        switch consequence {
        case .accepted:
            card.mayHave(seat, givesAlert: true)
            // What the app based on an older state lies over this one, which is to come again.
            if isAboutToken(of: card), card.lead == nil { card.hold(plan.revision) }
        case .unknownFate: card.mayHave(seat, givesAlert: !keepsAlert)
        case .tokenDead, .retry, .laneFault, .parked, .otherEnvironment: break
        }
    }

    /// Where nobody knows whether the alert arrived, its writer wants it again.
    private var keepsAlert: Bool { context.activity.alert?.onUnknown == .repeat }

    /// News of a replaced update token does not hold up the one that replaced it.
    private func isAboutToken(of card: CardMachine) -> Bool {
        isStart || card.tokenGeneration == seat.phone.card.tokenGeneration
    }

    /// A definite refusal of a start frees the way for another, even if a rescuer had to give the start up meanwhile.
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
        // Who came back since the claim is not to get it, whatever becomes of this push.
        if !keepsAlert { card.mayAlert(seat) }
        // A newer push or an update of the app's own has overtaken it: its alert may have come all the same.
        guard !isOvertaken else { return }
        card.awaitAnswer(to: seat, until: until)
        if let last = card.last, isOldNews(last) {
            card.note(delivery(isStart ? Reason(.awaited) : Reason(.awaited, until.description)))
        }
    }

    /// What the push before met says which waits a newer state may cut short. This one's answer is none of those.
    /// Anything else is remembered while an answer is awaited: where a token was tried, or why it is dead.
    private func isOldNews(_ last: LastDelivery) -> Bool {
        let code = last.reason.code
        return code == .accepted || code == .awaited || code == .serviceTrouble && last.revision < plan.revision
    }
}
