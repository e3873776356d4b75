package import APNSModel
package import JSONText

/// What a phone says of one of its cards.
package struct CardReport: Sendable, Equatable {
    package enum State: String, Sendable, CaseIterable {
        case requesting, pending, active, stale, ended, dismissed, gone
    }

    package var localID: LocalID
    package var type: ActivityType
    package var activity: ActivityID?
    package var attributes: JSONObject?
    package var state: State
    package var token: UpdateToken?
    package var startedAt: UnixTime?
    /// The newest timestamp the phone applied, its own updates included, in seconds.
    package var lastTimestamp: Int64?
    package var contentState: JSONObject?
    /// The revision that a local update was based on.
    package var basedOn: Revision?

    package init(localID: LocalID, type: ActivityType, state: State) {
        self.localID = localID
        self.type = type
        self.state = state
    }

    /// The activity it names itself, in the report or in its attributes.
    package var namedActivity: ActivityID? {
        activity ?? attributes.flatMap { ActivityTag.activity(in: $0, type: type) }
    }
}

/// Works a report into the instance it is about.
struct CardIntake {
    let app: AppSettings
    let device: DeviceRecord
    let now: UnixTime

    /// How long the app's word that it is about to start a card holds.
    static let requestingLease = Duration.seconds(120)

    /// - Throws: `Refusal.activityNotNamed` when nothing says which activity a new card is.
    func take(_ report: CardReport, _ draft: inout Draft) throws(Refusal) {
        if let tombstone = draft.snapshot.tombstones[.init(device.key, report.localID)] {
            // A card that is over never comes back; a person's word outranks our guess about why.
            if report.state == .dismissed, tombstone.state == .gone {
                bury(report.localID, tombstone.activity, .dismissed, &draft)
            }
            return
        }
        let activity = try activity(of: report, &draft)
        let key = Snapshot.PhoneKey(activity.number, device.key)
        var instance =
            draft.snapshot.instances[key]
            ?? InstanceRecord(activity: activity.number, device: device.key, run: activity.run, at: now)
        if draft.snapshot.instances[key] == nil {
            instance.alertedRevision = activity.revision
            // Nobody is signed in there: a card of it is only ended.
            instance.isWanted = device.signedOutAt == nil
        }
        // A card of an earlier run that is not over yet is still to be ended: its token matters.
        let isOld = isOfOldRun(report, instance, activity)
        let isStillThere = isOld && instance.run < activity.run && instance.awaitsItsEnd(report.localID)
        if isOld, !isStillThere {
            bury(report.localID, activity.number, .ended, &draft)
            return
        }
        if instance.run != activity.run, !isStillThere { instance = instance.renewed(run: activity.run, at: now) }
        switch report.state {
        case .requesting: request(report, &instance)
        case .pending, .active, .stale: try adopt(report, activity, &instance, &draft)
        case .ended: finish(report, .ended, &instance, &draft)
        case .dismissed: finish(report, .dismissed, &instance, &draft)
        case .gone: finish(report, .gone, &instance, &draft)
        }
        let old = draft.snapshot.instances[key]
        if old?.hasOpenStart == true, instance.state == .live { trustStartToken(of: activity, &draft) }
        let changed = old?.state != instance.state
        draft.put(instance)
        if old?.hasOpenStart == true, !instance.hasOpenStart { wakeHeldStarts(of: activity, &draft) }
        if changed {
            draft.record(
                HistoryRecord(
                    activity: activity.number, at: now, revision: activity.revision,
                    entries: [
                        HistoryEntry(
                            .reported, device: device.key, at: now, revision: instance.heldRevision,
                            detail: report.state.rawValue)
                    ]))
        }
        Lanes.review(key, app.types[activity.type], now: now, &draft)
    }

    /// A start came to a card: the token that it went to is the phone's.
    private func trustStartToken(of activity: ActivityRecord, _ draft: inout Draft) {
        guard var token = draft.snapshot.deviceTokens[.init(device.key, .pushToStart, activity.type)],
            token.missedStarts > 0
        else { return }
        token.missedStarts = 0
        draft.put(token)
    }

    // MARK: - Which activity is this card?

    private func activity(of report: CardReport, _ draft: inout Draft) throws(Refusal) -> ActivityRecord {
        let phones = draft.phones(on: device.key)
        if let known = phones.first(where: { draft.snapshot.instances[$0]?.localID == report.localID }),
            let activity = draft.snapshot.activities[known.activity]
        {
            return activity
        }
        if let named = report.namedActivity {
            var known: ActivityRecord?
            for spelling in ActivityTag.spellings(of: named) where known == nil {
                known = draft.activity(app.bundleID, spelling)
            }
            if let known, known.type != report.type.name { throw .typeDiffers(named, is: known.type) }
            return known ?? announce(named, report, &draft)
        }
        // Starts whose card nobody has reported yet, matched by what the card carries.
        if let attributes = report.attributes {
            let comparison = ReportComparison(report.type, build: device.build)
            let digest = comparison.digest(ofAttributes: attributes)
            let open = phones.filter { key in
                draft.snapshot.instances[key].map { $0.hasOpenStart || $0.isRenewing } == true
                    && draft.snapshot.activities[key.activity]?.type == report.type.name
                    && draft.snapshot.contents[key.activity].map(comparison.attributesDigest) == digest
            }
            if open.count == 1, let key = open.first, let activity = draft.snapshot.activities[key.activity] {
                return activity
            }
        }
        guard let provided = providedID(report) else { throw .activityNotNamed }
        return draft.activity(app.bundleID, provided) ?? announce(provided, report, &draft)
    }

    /// The one activity that a provider-driven type has on this device.
    private func providedID(_ report: CardReport) -> ActivityID? {
        guard report.type.isProvided else { return nil }
        return ProvidedActivity.id(type: report.type.name, user: device.userID, device: device.id)
    }

    /// A card of an activity that the backend has not spoken of yet: kept, so that its token is there when it does.
    private func announce(_ id: ActivityID, _ report: CardReport, _ draft: inout Draft) -> ActivityRecord {
        var activity = ActivityRecord(
            number: draft.takeActivityNumber(), app: app.bundleID, id: id, type: report.type.name, at: now)
        activity.phase = .announced
        draft.put(activity)
        let attributes = report.attributes ?? [:]
        draft.put(
            ContentRecord(
                activity: activity.number, revision: 0, state: .empty, digest: 0, attributes: EncodedObject(attributes),
                attributesDigest: ContentDigest.of(attributes: attributes, report.type.contract)))
        return activity
    }

    /// Another start of the type was held because this one's card was not matched yet.
    private func wakeHeldStarts(of activity: ActivityRecord, _ draft: inout Draft) {
        for key in draft.phones(on: device.key) where key.activity != activity.number {
            guard draft.snapshot.activities[key.activity]?.type == activity.type else { continue }
            Lanes.review(key, app.types[activity.type], now: now, &draft)
        }
    }

    /// The report is about a card that began before the run there is now.
    private func isOfOldRun(_ report: CardReport, _ instance: InstanceRecord, _ activity: ActivityRecord) -> Bool {
        if instance.run < activity.run, instance.localID == report.localID { return true }
        // A card that began before this run did is of an earlier one.
        guard activity.run > 1, let startedAt = report.startedAt else { return false }
        return startedAt + .seconds(1) < activity.runStartedAt && instance.localID != report.localID
    }

    // MARK: - What it says

    private func request(_ report: CardReport, _ instance: inout InstanceRecord) {
        guard instance.state == .absent || instance.state.isTombstone else { return }
        instance.stateBeforeRequest = instance.state
        instance.state = .requesting
        instance.localID = nil
        instance.dueAt = now + Self.requestingLease
    }

    private func adopt(
        _ report: CardReport, _ activity: ActivityRecord, _ instance: inout InstanceRecord, _ draft: inout Draft
    ) throws(Refusal) {
        let key = Snapshot.PhoneKey(activity.number, device.key)
        var predecessor: TokenValue?
        if let other = instance.localID, other != report.localID {
            // The newer card stays; the older one is buried, so that its late news cannot touch this one.
            if let mine = instance.startedAt, let its = report.startedAt, its < mine, instance.state == .live {
                bury(report.localID, activity.number, .gone, &draft)
                return
            }
            if instance.isRenewing, instance.state == .live {
                // The second card of a renewal takes over with its token, which may come late or never.
                guard report.token != nil else { return }
                predecessor = draft.snapshot.updateTokens[key].flatMap { $0.deadAt == nil ? $0.value : nil }
                instance.startedAt = nil
            }
            instance.isRenewing = predecessor != nil
            instance.isLocalAhead = false
            bury(other, activity.number, predecessor == nil ? .gone : .ended, &draft)
            draft.removeUpdateToken(key)
            // What is on its way to the old card's token says nothing about this one.
            instance.tokenGeneration += 1
            instance.sentRevision = 0
            instance.shownRevision = 0
        }
        if !instance.state.mayHaveCard || instance.localID != report.localID {
            instance.tries = 0
            instance.dueAt = nil
        }
        instance.localID = report.localID
        if instance.state != .ending { instance.state = .live }
        instance.startedAt = report.startedAt ?? instance.startedAt ?? now
        let isNewer = report.lastTimestamp.map { $0 > instance.timestamp }
        if let last = report.lastTimestamp, last <= now.seconds + 120 {
            instance.timestamp = max(instance.timestamp, last)
        }
        let isNewToken = try takeToken(report, activity, predecessor, &instance, &draft)
        if activity.id == providedID(report) { compare(report, activity, &draft) }
        confirm(report, activity, &instance, isNewToken: isNewToken, isNewer: isNewer, draft)
    }

    /// A card that the app started itself, or that shows something else than was computed: it is computed anew, and
    /// what the card shows now is kept until then, so that nothing is sent where both come to the same.
    private func compare(_ report: CardReport, _ activity: ActivityRecord, _ draft: inout Draft) {
        guard var content = draft.snapshot.contents[activity.number], let shown = report.contentState else { return }
        let digest = ContentDigest.of(shown)
        if activity.phase == .announced {
            content.state = EncodedObject(shown)
            content.digest = digest
            draft.put(content)
        } else if digest == content.digest || activity.phase == .ended {
            return
        }
        Refreshes.ask(
            device.userID, device.user, report.type.name, of: app.bundleID, .prompt, now: now, &draft)
    }

    /// Maps the content the phone holds to a revision, and marks the phone behind when it contradicts what was sent.
    private func confirm(
        _ report: CardReport, _ activity: ActivityRecord, _ instance: inout InstanceRecord, isNewToken: Bool,
        isNewer: Bool?, _ draft: Draft
    ) {
        guard activity.phase != .announced, instance.run == activity.run,
            let desired = draft.snapshot.contents[activity.number]
        else { return }
        let comparison = ReportComparison(app.types[activity.type], build: device.build)
        if let content = report.contentState, comparison.digest(ofState: content) == comparison.stateDigest(desired) {
            instance.shownRevision = activity.revision
            instance.contradictions = 0
            if instance.isLocalAhead, instance.tries == 0 { instance.dueAt = nil }
            instance.isLocalAhead = false
        } else if let based = report.basedOn {
            goAhead(from: based, activity, &instance, isNewer: isNewer)
        } else if report.contentState != nil, instance.heldRevision >= activity.revision, !isNewToken,
            !instance.isLocalAhead, instance.contradictions < Reconciler.maximumContradictions
        {
            instance.contradictions += 1
            instance.sentRevision = 0
            instance.shownRevision = 0
        }
    }

    /// The app changed the card itself: what it was based on need not come again, and what is newer has to.
    ///
    /// - Parameter isNewer: The app's update is newer than anything that was sent; `nil`: it does not say.
    private func goAhead(
        from based: Revision, _ activity: ActivityRecord, _ instance: inout InstanceRecord, isNewer: Bool?
    ) {
        if let isNewer {
            // The same update reported again, or one that a push has overtaken.
            guard isNewer else { return }
        } else {
            guard !instance.isLocalAhead, instance.contradictions < Reconciler.maximumContradictions else { return }
            // Nobody can tell whether it is the same one again: as often as any report that contradicts.
            instance.contradictions += 1
        }
        instance.isLocalAhead = true
        instance.sentRevision = min(max(based, 0), activity.revision)
        instance.shownRevision = instance.sentRevision
        instance.tries = 0
        let authority = app.types[activity.type]?.policy.authority ?? .server
        instance.dueAt = authority == .server ? now + Reconciler.localAheadLease : nil
    }

    private func takeToken(
        _ report: CardReport, _ activity: ActivityRecord, _ predecessor: TokenValue?,
        _ instance: inout InstanceRecord, _ draft: inout Draft
    ) throws(Refusal) -> Bool {
        guard let token = report.token else { return false }
        let key = Snapshot.PhoneKey(activity.number, device.key)
        let value = TokenValue(token)
        if draft.snapshot.updateTokens[key]?.value == value { return false }
        let known = draft.snapshot.owners[value]
        // It stays dead; the report itself is good, and a new token will follow.
        if known?.deadAt != nil { return false }
        if let known, (known.activity, known.device) != (activity.number, device.key) {
            let theirs = Snapshot.PhoneKey(known.activity, known.device)
            // By now that card may have another token, which is its own.
            if draft.snapshot.updateTokens[theirs]?.value == value { draft.removeUpdateToken(theirs) }
        }
        var owner =
            known
            ?? TokenOwnerRecord(
                value: value, kind: .update, device: device.key, activity: activity.number, firstSeenAt: now)
        owner.kind = .update
        owner.device = device.key
        owner.activity = activity.number
        draft.put(owner)
        // The token it replaces is not used again, even if the phone should name it once more.
        if let old = draft.snapshot.updateTokens[key] {
            var replaced = TokenOwnerRecord(
                value: old.value, kind: .update, device: device.key, activity: activity.number,
                firstSeenAt: old.firstSeenAt)
            replaced.deadAt = now
            draft.put(replaced)
        }
        instance.tokenGeneration += 1
        instance.sentRevision = 0
        instance.tries = instance.state == .ending ? 0 : instance.tries
        // The app's own state keeps its time whatever the token.
        if !instance.isLocalAhead { instance.dueAt = nil }
        var record = UpdateTokenRecord(
            activity: activity.number, device: device.key, generation: instance.tokenGeneration,
            environment: device.environment ?? app.defaultEnvironment, value: value,
            firstSeenAt: owner.firstSeenAt)
        record.predecessor = predecessor ?? draft.snapshot.updateTokens[key]?.predecessor
        draft.put(record)
        draft.record(
            HistoryRecord(
                activity: activity.number, at: now, revision: activity.revision,
                entries: [
                    HistoryEntry(
                        .tokenReported, device: device.key, at: now, revision: instance.shownRevision,
                        detail: value.description)
                ]))
        return true
    }

    private func finish(
        _ report: CardReport, _ state: InstanceRecord.State, _ instance: inout InstanceRecord, _ draft: inout Draft
    ) {
        bury(report.localID, instance.activity, state, &draft)
        // News of another card does not end this one.
        if let mine = instance.localID, mine != report.localID { return }
        // It may be an earlier run's card that nobody had reported: that does not tell what became of this run's start.
        if instance.hasOpenStart, instance.run > 1, report.startedAt == nil { return }
        instance.localID = report.localID
        instance.state = state
        instance.dueAt = nil
        instance.tries = 0
        draft.removeUpdateToken(.init(instance.activity, device.key))
    }

    private func bury(
        _ localID: LocalID, _ activity: ActivityNumber, _ state: InstanceRecord.State, _ draft: inout Draft
    ) {
        // A guess does not replace what is known of how the card ended.
        if state == .gone, draft.snapshot.tombstones[.init(device.key, localID)] != nil { return }
        draft.put(TombstoneRecord(device: device.key, localID: localID, activity: activity, state: state, at: now))
    }
}

extension InstanceRecord {
    /// This is the row's card, or may be the one whose start nobody has reported yet, and no end was accepted for it.
    fileprivate func awaitsItsEnd(_ reported: LocalID) -> Bool {
        (state == .live || state == .starting || state == .unconfirmed) && (localID == nil || localID == reported)
    }
}
