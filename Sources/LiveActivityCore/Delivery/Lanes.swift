package import APNSModel

/// The one place that decides when a claim looks at a phone by itself, after news of it.
package enum Lanes {
    /// - Parameter type: As configured; `nil` when the command does not know it, and the claim has to decide.
    package static func review(
        _ key: Snapshot.PhoneKey, _ type: ActivityType?, now: UnixTime, _ draft: inout Draft
    ) {
        guard var instance = draft.snapshot.instances[key], let activity = draft.snapshot.activities[key.activity]
        else { return }
        instance.lookAt = lookAt(
            instance, activity, type, renews: type?.policy.renewal ?? false, now: now, draft)
        draft.put(instance)
    }

    /// When to look at a phone that stands like this: now if something is to be sent, later if it waits.
    ///
    /// - Parameters:
    ///   - renews: The type's cards are started anew before their time is over.
    ///   - knowsStart: The command has loaded the device's start tokens. A settlement has not, of a phone with a card:
    ///     there the claim sees whether another one may be started.
    static func lookAt(
        _ instance: CardMachine, _ activity: ActivityRecord, _ type: ActivityType?, renews: Bool,
        knowsStart: Bool = true, now: UnixTime, _ draft: Draft
    ) -> UnixTime? {
        guard activity.phase != .announced else { return nil }
        // By far the most frequent case, and the cheapest to tell.
        if instance.state == .live, activity.phase == .active, instance.isWanted, instance.run == activity.run,
            instance.heldRevision >= activity.revision, instance.isPlain, !activity.isToRefresh(instance),
            !Reconciler.owesAlert(activity, to: instance, now)
        {
            return renews ? instance.renewalDue(at: now) : nil
        }
        let key = Snapshot.PhoneKey(instance.activity, instance.device)
        guard let type, let content = draft.snapshot.contents[activity.number],
            var phone = draft.phone(key, type: activity.type)
        else { return now }
        phone.instance = instance
        // What else the device was sent is for the claim to see: not every command loads it, and whether another one
        // of its group did must make no difference.
        phone.hasOtherOpenStart = false
        phone.highBudget = nil
        phone.startBudget = nil
        phone.cards = nil
        if !knowsStart { phone.pushToStartToken = nil }
        switch Reconciler.decide(DesiredSituation(activity, type, content), phone, now: now) {
        case .send(let plan): return activity.holds(plan, at: now) ? activity.holdUntil : now
        case .fallBack: return now
        case .wait(let until, _): return until
        case .nothing(let reason): return !knowsStart && reason.code == .noPushToStartToken ? now : nil
        }
    }
}
