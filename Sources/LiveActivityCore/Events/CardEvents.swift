import APNSModel

/// Derives events from a phone's row before and after a change.
///
/// A repeated report changes nothing, so it causes no event.
struct CardEvents {
    let activity: ActivityRecord
    let now: UnixTime

    /// Records the events that follow from a push's outcome.
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

    /// Records the events that follow from a phone's report.
    func reported(
        _ old: CardMachine?, _ new: CardMachine, _ reason: Reason.Code = .reported, _ draft: inout Draft
    ) {
        // There are no events about a phone that is not known to belong to the activity.
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
        // APNs accepted the start, but no card appeared.
        case .absent where old?.wasStartAccepted == true && old?.hasOpenStart == true:
            tell(.ended, new, new.heldRevision, reason, &draft)
        case .absent, .requesting, .starting, .unconfirmed, .ending, .ended, .dismissed, .gone: break
        }
        if holdsNewest(new), old.map({ !holdsNewest($0) }) ?? true {
            tell(.held, new, new.shownRevision, reason, &draft)
        }
    }

    /// Returns whether the phone has reported that it shows the newest state.
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
    /// `true` if APNs accepted this card's start, so that the `started` event has been sent.
    var wasStartAccepted: Bool {
        guard let last, last.kind == .start, last.reason.code == .accepted, let startedAt else { return false }
        return startedAt <= last.at
    }

    /// `true` if a card is or may be on the phone, and no `ended` event has been recorded for it.
    var mayBeShown: Bool { state == .starting || state == .unconfirmed || state == .live }
}

extension EventRecord {
    /// Returns an event for a token that APNs has reported as dead.
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
