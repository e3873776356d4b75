package import APNSModel

/// Decides when a claim must look at a single phone after something about it has changed. No other code decides this.
package enum Lanes {
    /// Sets the time of the next look at a phone.
    ///
    /// - Parameter type: The configured type; `nil` if the command does not know it. Then the claim has to decide.
    package static func review(
        _ key: Snapshot.PhoneKey, _ type: ActivityType?, now: UnixTime, _ draft: inout Draft
    ) {
        guard var card = draft.snapshot.cards[key], let activity = draft.snapshot.activities[key.activity]
        else { return }
        card.lookAt = lookAt(
            card, activity, type, renews: type?.policy.renewal ?? false, now: now, draft)
        draft.put(card)
        // The card's time may be the same as before, and its route another.
        guard let time = card.lookAt, let lane = draft.snapshot.lane(of: key.device, in: key.activity),
            lane.waitsFor != nil
        else { return }
        draft.change(lane.key) { $0.look(at: time) }
    }

    /// Returns when to look at a phone in this state: now if a push is due, later if it waits, `nil` if neither.
    ///
    /// - Parameters:
    ///   - renews: `true` if cards of the type are renewed before their time is over.
    ///   - knowsStart: `true` if the command has loaded the device's tokens. A settlement does not load them for a
    ///     phone with a card. Then the claim finds out whether another card may be started, or a fallback sent.
    static func lookAt(
        _ card: CardMachine, _ activity: ActivityRecord, _ type: ActivityType?, renews: Bool,
        knowsStart: Bool = true, now: UnixTime, _ draft: Draft
    ) -> UnixTime? {
        guard activity.phase != .announced else { return nil }
        // This is by far the most frequent case, and the cheapest to detect.
        if card.state == .live, activity.phase == .active, card.isWanted, card.run == activity.run,
            card.heldRevision >= activity.revision, card.isPlain, !activity.isToRefresh(card),
            !Reconciler.owesAlert(activity, to: card, now), !Fallback.owesAlert(activity, to: card, now)
        {
            return renews ? card.renewalDue(at: now) : nil
        }
        let key = Snapshot.PhoneKey(card.activity, card.device)
        guard let type, let content = draft.snapshot.contents[activity.number],
            var phone = draft.phone(key, type: activity.type)
        else { return now }
        phone.card = card
        // Leave the device's other pushes to the claim. Not every command loads them, and it must make no difference
        // whether another command of the group has loaded them.
        phone.hasOtherOpenStart = false
        phone.highBudget = nil
        phone.startBudget = nil
        phone.deviceCards = nil
        if !knowsStart {
            phone.pushToStartToken = nil
            phone.deviceToken = nil
        }
        switch Reconciler.decide(DesiredSituation(activity, type, content, draft), phone, now: now) {
        case .send(let plan): return activity.holds(plan, at: now) ? activity.holdUntil : now
        case .fallBack: return now
        case .wait(let until, _): return !knowsStart && Fallback.owesAlert(activity, to: card, now) ? now : until
        case .nothing(let reason):
            let asksForStart =
                reason.code == .noPushToStartToken || card.state != .live && reason.code.makesDisplayImpossible
            // The claim asks for the channel that the phone waits for.
            let asksForAlert = Fallback.owesAlert(activity, to: card, now)
            return reason.code == .channelPending || !knowsStart && (asksForStart || asksForAlert) ? now : nil
        }
    }
}
