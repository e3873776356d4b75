import APNSModel
import JSONText

/// Rules that tell which activity a card belongs to, and whether its phone has a part in it.
extension CardIntake {
    // MARK: - Whose card is it?

    /// Decides whether the phone has a part in the activity.
    ///
    /// A phone's own word is enough only where its person belongs. Otherwise the report is kept for 24 hours, in case
    /// the person is named in the audience. Nothing is done with it until then.
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

    /// Limits the new rows of a phone that is outside the audience, because it could name many activities that anybody
    /// may join.
    private func checkRoom(for activity: ActivityRecord, _ draft: inout Draft) throws(Refusal) {
        guard reporter != .backend, draft.snapshot.members[activity.number]?.contains(device.user) != true else {
            return
        }
        try draft.countNewCard(of: device.key, waits: false, at: now)
    }

    /// Handles a card whose type differs from that of the activity it names, where the phone may not know of that
    /// activity.
    ///
    /// It counts like a waiting report, so that nobody can learn from the count that the activity exists. Nothing of
    /// the report is kept.
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
            if type.policy.join.isOpen { return true }
            if type.isProvided, activity.id == providedID(type) { return true }
        }
        return draft.snapshot.members[activity.number]?.contains(device.user) == true
    }

    // MARK: - Which activity is this card?

    /// Returns the activity that the card is known to belong to, or that it names.
    ///
    /// - Returns: `nil` if there is none, or if the phone may not know of it.
    /// - Throws: `Refusal.typeDiffers` if the named activity is of another type and the phone may know of it.
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

    /// Returns the activity that the card belongs to. Announces it if the backend has not set its state yet.
    ///
    /// - Returns: `nil` if the phone may not know of the activity. Nothing is then kept or answered.
    /// - Throws: `Refusal.activityNotNamed` if nothing tells which activity it is.
    func activity(of report: CardReport, _ draft: inout Draft) throws(Refusal) -> ActivityRecord? {
        if let known = try knownActivity(of: report, &draft) { return known }
        if let named = report.namedActivity {
            // Swift spells UUIDs in capitals. The backend has not set a state yet, and mostly spells them in small
            // letters.
            guard let foreign = draft.activity(app.bundleID, named) else {
                return announce(named.inSmallLetters, report, &draft)
            }
            try hold(foreign, &draft)
            return nil
        }
        let phones = draft.phones(on: device.key)
        // A card that names no activity is matched with the open starts, by its attributes.
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

    /// Returns the id of the one activity that a provider-driven type has on this device; `nil` for other types.
    func providedID(_ type: ActivityType) -> ActivityID? {
        guard type.isProvided else { return nil }
        return ProvidedActivity.id(type: type.name, user: device.userID, device: device.id)
    }

    /// Makes an activity whose state the backend has not set yet, so that the card's token is known when it does.
    private func announce(_ id: ActivityID, _ report: CardReport, _ draft: inout Draft) -> ActivityRecord {
        var activity = ActivityRecord(
            number: draft.takeActivityNumber(), app: app.bundleID, id: id, type: report.type.name, at: now)
        activity.phase = .announced
        draft.put(activity)
        // A person's phone must not decide which attributes the cards of others start with.
        guard reporter == .backend || id == providedID(report.type) else { return activity }
        let attributes = report.attributes ?? [:]
        draft.put(
            ContentRecord(
                activity: activity.number, revision: 0, state: .empty, digest: 0, attributes: EncodedObject(attributes),
                attributesDigest: ContentDigest.of(attributes: attributes, report.type.contract)))
        return activity
    }
}
