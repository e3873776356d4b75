package import APNSModel

/// The one place that decides when a claim looks at a phone by itself, after news of it.
package enum Lanes {
    /// - Parameter type: As configured; `nil` when the command does not know it, and the claim has to decide.
    package static func review(
        _ key: Snapshot.PhoneKey, _ type: ActivityType?, now: UnixTime, _ draft: inout Draft
    ) {
        guard var card = draft.snapshot.cards[key], let activity = draft.snapshot.activities[key.activity]
        else { return }
        card.lookAt = lookAt(
            card, activity, type, renews: type?.policy.renewal ?? false, now: now, draft)
        draft.put(card)
    }

    /// When to look at a phone that stands like this: now if something is to be sent, later if it waits.
    ///
    /// - Parameters:
    ///   - renews: The type's cards are started anew before their time is over.
    ///   - knowsStart: The command has loaded the device's tokens. A settlement has not, of a phone with a card: there
    ///     the claim sees whether another one may be started, or something said in its place.
    static func lookAt(
        _ card: CardMachine, _ activity: ActivityRecord, _ type: ActivityType?, renews: Bool,
        knowsStart: Bool = true, now: UnixTime, _ draft: Draft
    ) -> UnixTime? {
        guard activity.phase != .announced else { return nil }
        // By far the most frequent case, and the cheapest to tell.
        if card.state == .live, activity.phase == .active, card.isWanted, card.run == activity.run,
            card.heldRevision >= activity.revision, card.isPlain, !activity.isToRefresh(card),
            !Reconciler.owesAlert(activity, to: card, now)
        {
            return renews ? card.renewalDue(at: now) : nil
        }
        let key = Snapshot.PhoneKey(card.activity, card.device)
        guard let type, let content = draft.snapshot.contents[activity.number],
            var phone = draft.phone(key, type: activity.type)
        else { return now }
        phone.card = card
        // What else the device was sent is for the claim to see: not every command loads it, and whether another one
        // of its group did must make no difference.
        phone.hasOtherOpenStart = false
        phone.highBudget = nil
        phone.startBudget = nil
        phone.deviceCards = nil
        if !knowsStart {
            phone.pushToStartToken = nil
            phone.deviceToken = nil
        }
        switch Reconciler.decide(DesiredSituation(activity, type, content), phone, now: now) {
        case .send(let plan): return activity.holds(plan, at: now) ? activity.holdUntil : now
        case .fallBack: return now
        case .wait(let until, _): return until
        case .nothing(let reason):
            let asksForStart =
                reason.code == .noPushToStartToken || card.state != .live && reason.code.makesDisplayImpossible
            return !knowsStart && asksForStart ? now : nil
        }
    }
}
