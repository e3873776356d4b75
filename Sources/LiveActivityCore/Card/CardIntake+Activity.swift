import APNSModel
import JSONText

/// Which activity a card is, and whether its phone has a part in it.
extension CardIntake {
    // MARK: - Whose card is it?

    /// A phone's own word lets its person in on an activity only where they belong. What it says otherwise is kept for
    /// a day, in case they are named, and nothing is done with it until then.
    func admit(
        _ card: inout CardMachine, to activity: ActivityRecord, _ draft: inout Draft
    ) throws(Refusal) {
        let isKnown = draft.snapshot.cards[.init(activity.number, device.key)] != nil
        guard !isKnown || card.awaitsUntil != nil else { return }
        if belongs(to: activity, draft) {
            if !isKnown { try checkRoom(for: activity, &draft) }
            if card.awaitsUntil != nil { card.admit(isSignedIn: device.signedOutAt == nil) }
            return
        }
        if !isKnown { try draft.countNewCard(of: device.key, waits: true, at: now) }
        card.waitForAudience(until: now + Self.awaiting)
    }

    /// Who names activities that anybody may join makes rows of each.
    private func checkRoom(for activity: ActivityRecord, _ draft: inout Draft) throws(Refusal) {
        guard reporter != .backend, draft.snapshot.members[activity.number]?.contains(device.user) != true else {
            return
        }
        try draft.countNewCard(of: device.key, waits: false, at: now)
    }

    /// A card of another type than the activity that it names, which the phone may not know of: counted as one that
    /// waits, so that nobody learns by counting that the activity is there. Nothing of the report is kept.
    private func hold(_ activity: ActivityRecord, _ draft: inout Draft) throws(Refusal) {
        var card =
            draft.snapshot.cards[.init(activity.number, device.key)]
            ?? CardMachine(
                activity: activity.number, device: device.key, run: activity.run, at: now, alerted: activity.revision)
        try admit(&card, to: activity, &draft)
        draft.put(card)
    }

    private func belongs(to activity: ActivityRecord, _ draft: Draft) -> Bool {
        guard reporter != .backend else { return true }
        if let type = app.types[activity.type] {
            if type.policy.join == .open { return true }
            if type.isProvided, activity.id == providedID(type) { return true }
        }
        return draft.snapshot.members[activity.number]?.contains(device.user) == true
    }

    // MARK: - Which activity is this card?

    /// The one whose card this is known to be, or that it names; `nil`: neither is known, or the phone may not know of
    /// it.
    func knownActivity(of report: CardReport, _ draft: inout Draft) throws(Refusal) -> ActivityRecord? {
        let phones = draft.phones(on: device.key)
        if let known = phones.first(where: { draft.snapshot.cards[$0]?.localID == report.localID }),
            let activity = draft.snapshot.activities[known.activity]
        {
            return activity
        }
        guard let named = report.namedActivity, let known = draft.activity(app.bundleID, named) else { return nil }
        if known.type == report.type.name { return known }
        guard belongs(to: known, draft) else { return nil }
        throw .typeDiffers(named, is: known.type)
    }

    /// `nil`: one that the phone may not know of, so that nothing is said or kept.
    func activity(of report: CardReport, _ draft: inout Draft) throws(Refusal) -> ActivityRecord? {
        if let known = try knownActivity(of: report, &draft) { return known }
        if let named = report.namedActivity {
            // The app's spelling of a UUID is Swift's; the backend, which has not spoken yet, mostly writes it small.
            guard let foreign = draft.activity(app.bundleID, named) else {
                return announce(named.inSmallLetters, report, &draft)
            }
            try hold(foreign, &draft)
            return nil
        }
        let phones = draft.phones(on: device.key)
        // Starts whose card nobody has reported yet, matched by what the card carries.
        if let attributes = report.attributes {
            let comparison = ReportComparison(report.type, build: device.build)
            let digest = comparison.digest(ofAttributes: attributes)
            let open = phones.filter { key in
                draft.snapshot.cards[key].map { $0.hasOpenStart || $0.isRenewing } == true
                    && draft.snapshot.activities[key.activity]?.type == report.type.name
                    && draft.snapshot.contents[key.activity].map(comparison.attributesDigest) == digest
            }
            if open.count == 1, let key = open.first, let activity = draft.snapshot.activities[key.activity] {
                return activity
            }
        }
        guard let provided = providedID(report.type) else { throw .activityNotNamed }
        return draft.activity(app.bundleID, provided) ?? announce(provided, report, &draft)
    }

    /// The one activity that a provider-driven type has on this device.
    func providedID(_ type: ActivityType) -> ActivityID? {
        guard type.isProvided else { return nil }
        return ProvidedActivity.id(type: type.name, user: device.userID, device: device.id)
    }

    /// A card of an activity that the backend has not spoken of yet: kept, so that its token is there when it does.
    private func announce(_ id: ActivityID, _ report: CardReport, _ draft: inout Draft) -> ActivityRecord {
        var activity = ActivityRecord(
            number: draft.takeActivityNumber(), app: app.bundleID, id: id, type: report.type.name, at: now)
        activity.phase = .announced
        draft.put(activity)
        // A person's phone does not say what the cards of others are to be started with.
        guard reporter == .backend || id == providedID(report.type) else { return activity }
        let attributes = report.attributes ?? [:]
        draft.put(
            ContentRecord(
                activity: activity.number, revision: 0, state: .empty, digest: 0, attributes: EncodedObject(attributes),
                attributesDigest: ContentDigest.of(attributes: attributes, report.type.contract)))
        return activity
    }
}
