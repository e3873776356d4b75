import APNSModel

/// What a change of a phone's row is worth telling: by the row before and after, so that the same news again, which
/// changes nothing, tells nothing.
struct CardEvents {
    let activity: ActivityRecord
    let now: UnixTime

    /// After a push's outcome was worked into the row.
    func settled(
        _ old: CardMachine, _ new: CardMachine, _ plan: PushPlan, _ consequence: Consequence,
        _ draft: inout Draft
    ) {
        if new.revisions.parked != old.revisions.parked, new.revisions.parked == plan.revision {
            tell(.parked, new, plan.revision, consequence.reason.code, &draft)
        }
        switch plan.kind {
        case .start:
            guard plan.part == .card, new.hasOpenStart, new.wasStartAccepted, !old.wasStartAccepted else { return }
            tell(.started, new, plan.revision, plan.reason.code, &draft)
        case .end where plan.part == .card, .update where plan.part == .card:
            guard old.mayBeShown, new.state == .ending || new.state.isTombstone else { return }
            let reason = new.state == .ending || plan.kind == .end ? plan.reason.code : consequence.reason.code
            tell(.ended, new, plan.revision, reason, &draft)
        case .end, .update: return
        }
    }

    /// After a phone's word was worked into the row.
    func reported(
        _ old: CardMachine?, _ new: CardMachine, _ reason: Reason.Code = .reported, _ draft: inout Draft
    ) {
        // Whoever is not known to belong here is told nothing of, either.
        guard new.awaitsUntil == nil else { return }
        let wasKnown = old.map { $0.awaitsUntil == nil && $0.run == new.run } ?? false
        let old = wasKnown ? old : nil
        switch new.state {
        case .live:
            switch old?.state {
            case .live where old?.isRenewing == true && old?.localID != new.localID:
                tell(.renewed, new, new.heldRevision, reason, &draft)
            case .live, .ending: break
            case .starting where old?.wasStartAccepted == true, .unconfirmed where old?.wasStartAccepted == true: break
            case .starting, .unconfirmed, .absent, .requesting, .ended, .dismissed, .gone, nil:
                tell(.started, new, new.heldRevision, reason, &draft)
            }
        case .dismissed where old?.state != .dismissed: tell(.dismissed, new, new.heldRevision, reason, &draft)
        case .ended where old?.mayBeShown == true, .gone where old?.mayBeShown == true:
            tell(.ended, new, new.heldRevision, reason, &draft)
        // What APNs took came to no card.
        case .absent where old?.wasStartAccepted == true && old?.hasOpenStart == true:
            tell(.ended, new, new.heldRevision, reason, &draft)
        case .absent, .requesting, .starting, .unconfirmed, .ending, .ended, .dismissed, .gone: break
        }
        if holdsNewest(new), old.map({ !holdsNewest($0) }) ?? true {
            tell(.held, new, new.shownRevision, reason, &draft)
        }
    }

    /// The phone said that it shows the newest state.
    private func holdsNewest(_ card: CardMachine) -> Bool {
        card.state == .live && card.lead == nil && card.shownRevision == activity.revision
            && activity.phase != .announced && card.run == activity.run
    }

    private func tell(
        _ kind: EventRecord.Kind, _ card: CardMachine, _ revision: Revision, _ reason: Reason.Code,
        _ draft: inout Draft
    ) {
        draft.tell(
            EventRecord(
                kind, activity, run: card.run, on: card.device, revision: revision, reason, at: now))
    }
}

extension CardMachine {
    /// APNs took this card's start, so that it was told.
    var wasStartAccepted: Bool {
        guard let last, last.kind == .start, last.reason.code == .accepted, let startedAt else { return false }
        return startedAt <= last.at
    }

    /// A card is there, or may be, whose end was not told.
    var mayBeShown: Bool { state == .starting || state == .unconfirmed || state == .live }
}

extension EventRecord {
    /// APNs said that a token of a phone is dead.
    static func dead(
        _ subject: Subject, of device: DeviceKey, in app: BundleID, _ reason: Reason.Code, at time: UnixTime
    ) -> EventRecord {
        var event = EventRecord(.tokenDead, app: app, at: time)
        event.device = device
        event.reason = reason
        event.subject = subject
        return event
    }
}
