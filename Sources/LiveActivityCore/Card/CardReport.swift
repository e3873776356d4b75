package import APNSModel
package import JSONText

/// What a phone says of one of its cards.
package struct CardReport: Sendable, Equatable {
    package enum State: String, Sendable, CaseIterable {
        case requesting, pending, active, stale, ended, dismissed, gone
        /// Ended by the app, because another card of the same activity stays.
        case duplicate
        /// The card that the app had said it would start was not made.
        case notStarted

        /// The card is there, and updates change it.
        var isRunning: Bool { self == .pending || self == .active || self == .stale }
    }

    package var localID: LocalID
    package var type: ActivityType
    package var activity: ActivityID?
    package var attributes: JSONObject?
    package var state: State
    package var token: UpdateToken?
    /// The broadcast channel whose pushes the card shows: it has no token then.
    package var channel: ChannelID?
    package var startedAt: UnixTime?
    /// The newest timestamp the phone applied, its own updates included, in seconds.
    package var lastTimestamp: Int64?
    package var contentState: JSONObject?
    /// The revision that a local update was based on.
    package var basedOn: Revision?
    /// Grows with each report of the device, inventories included; `nil`: the app does not number its reports.
    package var sequence: Int64?
    /// How often the person opened the app by it, so far.
    package var opens = 0

    package init(localID: LocalID, type: ActivityType, state: State) {
        self.localID = localID
        self.type = type
        self.state = state
    }

    /// The activity it names itself, in the report or in its attributes.
    package var namedActivity: ActivityID? {
        activity ?? attributes.flatMap { ActivityTag.activity(in: $0, type: type) }
    }

    /// Something can be sent to the card, or comes to it from its channel.
    var isServed: Bool { token != nil || channel != nil }
}

/// Works a report into the card it is about.
struct CardIntake {
    let app: AppSettings
    let device: DeviceRecord
    let reporter: Reporter
    let now: UnixTime
    /// The report is part of an inventory, and no newer one of the phone has been taken.
    var isInventory = false
    /// The cards that the inventory lists as running.
    var running: Set<LocalID> = []

    /// How long a report waits for its person to be named in the audience.
    static let awaiting = Duration.seconds(86_400)
    /// So many such reports are taken of a device in a day: a phone shows a handful of cards.
    static let maximumAwaiting = 20
    /// So many new cards are taken of a device in a day on its own word, those that wait among them.
    static let maximumNew = 100

    /// - Throws: `Refusal.activityNotNamed` when nothing says which activity a new card is.
    func take(_ report: CardReport, _ draft: inout Draft) throws(Refusal) {
        if isOvertaken(report, &draft) { return }
        let tombstone = draft.snapshot.tombstones[.init(device.key, report.localID)]
        if let tombstone, tombstone.isOver {
            // A card that is over never comes back; a person's word outranks our guess about why.
            if report.state == .dismissed, tombstone.state == .gone {
                bury(report.localID, tombstone.activity, .dismissed, &draft)
            }
            if !report.state.isRunning { confirmGone(report, tombstone, &draft) }
            guard isAliveAfterAll(report, tombstone, draft) else {
                return endStray(
                    report, tombstone.activity, tombstone.state, wasGone: tombstone.state == .gone, &draft)
            }
        }
        if report.state == .duplicate { return try collapse(report, &draft) }
        if report.state == .notStarted { return try withdraw(report, &draft) }
        guard let activity = try activity(of: report, &draft) else { return }
        let key = Snapshot.PhoneKey(activity.number, device.key)
        var card =
            draft.snapshot.cards[key]
            ?? CardMachine(
                activity: activity.number, device: device.key, run: activity.run, at: now,
                membership: device.signedOutAt == nil ? .member : .left, alerted: activity.revision)
        try admit(&card, to: activity, &draft)
        if let tombstone, !tombstone.isOver, passOver(report, tombstone, card, of: activity, &draft) { return }
        // A card of an earlier run that is not over yet is still to be ended: its token matters.
        let isOld = isOfOldRun(report, card, activity)
        if isOld, isEndLost(report, card) { card.outliveEnd() }
        let isStillThere = isOld && card.run < activity.run && card.awaitsItsEnd(report.localID)
        if isOld, !isStillThere {
            bury(report.localID, activity.number, .ended, &draft)
            return endStray(report, activity.number, .ended, &draft)
        }
        if card.run != activity.run, !isStillThere {
            leaveBehind(card, for: report, &draft)
            card.beginRun(activity.run, at: now)
        }
        if succession(of: report, to: card, draft) == .stays {
            draft.put(card)
            Lanes.review(key, app.types[activity.type], now: now, &draft)
            bury(report.localID, activity.number, .gone, &draft)
            return endStray(report, activity.number, .gone, &draft)
        }
        switch report.state {
        case .requesting: card.request(until: now + CardLife.Request.lease)
        case .pending, .active, .stale: try adopt(report, activity, &card, &draft)
        case .ended: finish(report, .ended, &card, &draft)
        case .dismissed: finish(report, .dismissed, &card, &draft)
        case .gone: finish(report, .gone, &card, &draft)
        case .duplicate, .notStarted: return
        }
        // How often one was opened is not kept when it is over: what the phone says of it then is no news.
        if tombstone?.isOver == true { _ = card.open(report.opens) }
        repeatUnheededEnd(report, &card)
        store(card, of: activity, as: report, &draft)
    }

    /// Stores what the report made of the row, with what follows from the change.
    private func store(
        _ card: CardMachine, of activity: ActivityRecord, as report: CardReport, _ draft: inout Draft
    ) {
        let key = Snapshot.PhoneKey(activity.number, device.key)
        let old = draft.snapshot.cards[key]
        if let old, old.hasOpenStart, card.state == .live {
            trustStartToken(of: activity, &draft)
            if let startedAt = old.startedAt {
                let waited = max(now - startedAt, .zero) / .seconds(1)
                draft.observe(.startConfirmed(activity.app, type: activity.type), waited)
            }
        }
        draft.put(card)
        if old?.hasOpenStart == true, !card.hasOpenStart { wakeHeldStarts(of: activity, &draft) }
        if old?.state != card.state {
            draft.record(
                HistoryEntry(
                    .reported, device: device.key, at: now, revision: card.heldRevision,
                    detail: report.state.rawValue),
                of: activity)
        }
        CardEvents(activity: activity, now: now).reported(old, card, .reported, &draft)
        Lanes.review(key, app.types[activity.type], now: now, &draft)
    }

    /// One card too many is away: only that. The activity goes on with the card that stays, which the phone tells of.
    private func collapse(_ report: CardReport, _ draft: inout Draft) throws(Refusal) {
        guard let activity = try knownActivity(of: report, &draft),
            draft.snapshot.cards[.init(activity.number, device.key)] != nil
        else { return }
        bury(report.localID, activity.number, .ended, &draft)
        let key = Snapshot.PhoneKey(activity.number, device.key)
        draft.record(
            HistoryEntry(
                .reported, device: device.key, at: now,
                revision: draft.snapshot.cards[key]?.heldRevision ?? 0, detail: report.state.rawValue),
            of: activity)
        guard var card = draft.snapshot.cards[key], card.localID == report.localID,
            card.state == .live || card.state == .ending
        else { return }
        card.collapse()
        draft.removeUpdateToken(key, at: now)
        draft.put(card)
        Lanes.review(key, app.types[activity.type], now: now, &draft)
    }

    /// The app does not start the card after all: nobody need wait for it. Not where the phone has spoken since: it
    /// may be about to start another.
    private func withdraw(_ report: CardReport, _ draft: inout Draft) throws(Refusal) {
        if let sequence = report.sequence, sequence < device.reportSequence { return }
        guard let activity = try knownActivity(of: report, &draft),
            var card = draft.snapshot.cards[.init(activity.number, device.key)], card.state == .requesting
        else { return }
        card.withdrawRequest()
        store(card, of: activity, as: report, &draft)
    }

    /// A start came to a card: the token that it went to is the phone's.
    private func trustStartToken(of activity: ActivityRecord, _ draft: inout Draft) {
        guard var token = draft.snapshot.deviceTokens[.init(device.key, .pushToStart, activity.type)],
            token.missedStarts > 0
        else { return }
        token.missedStarts = 0
        draft.put(token)
    }

    // MARK: - What was waiting for it

    /// Another start of the type was held because this one's card was not matched yet.
    private func wakeHeldStarts(of activity: ActivityRecord, _ draft: inout Draft) {
        for key in draft.phones(on: device.key) where key.activity != activity.number {
            guard draft.snapshot.activities[key.activity]?.type == activity.type else { continue }
            Lanes.review(key, app.types[activity.type], now: now, &draft)
        }
    }

    /// The report is about a card that began before the run there is now.
    private func isOfOldRun(_ report: CardReport, _ card: CardMachine, _ activity: ActivityRecord) -> Bool {
        if card.run < activity.run, card.localID == report.localID { return true }
        // A card that began before this run did is of an earlier one.
        guard activity.run > 1, let startedAt = report.startedAt else { return false }
        return startedAt + .seconds(1) < activity.runStartedAt && card.localID != report.localID
    }

    private func adopt(
        _ report: CardReport, _ activity: ActivityRecord, _ card: inout CardMachine, _ draft: inout Draft
    ) throws(Refusal) {
        let key = Snapshot.PhoneKey(activity.number, device.key)
        var predecessor: TokenValue?
        // The second card of a renewal that comes after the person swiped the first away: that was said of it as well.
        let isUnwelcome = card.successor != nil && card.state == .dismissed && activity.restart != .always
        if let other = card.localID, let succession = succession(of: report, to: card, draft) {
            if succession == .undecided { return rememberSecond(report, card, &draft) }
            let known = draft.snapshot.updateTokens[key]
            if succession == .ended {
                predecessor = known.flatMap { $0.deadAt == nil ? $0.value : nil }
                // One card under two names is not to be ended.
                if predecessor == report.token.map({ TokenValue($0) }) { predecessor = nil }
            }
            // One on a channel stays beside one with a token, and may be the phone's only card again.
            let staysBeside = card.channel != nil && report.channel == nil
            if !staysBeside { bury(other, activity.number, predecessor == nil ? .gone : .ended, &draft) }
            draft.removeUpdateToken(key, at: now)
            if let predecessor, let known {
                draft.put(.placeholder(for: predecessor, of: card, known.environment, at: now))
            }
            card.giveWay()
        }
        let sighting = CardSighting(
            localID: report.localID, startedAt: report.startedAt, sequence: report.sequence,
            channel: channel(of: report, card))
        card.show(sighting, isUnwelcome: isUnwelcome, at: now)
        let isNewer = report.lastTimestamp.map { $0 > card.timestamp }
        // What is further ahead no push reaches, and it binds none.
        if let last = report.lastTimestamp, last < Flight.latestTimestamp(now) { card.use(last) }
        let isNewToken = try takeToken(report, activity, predecessor, &card, &draft)
        if draft.snapshot.updateTokens[key]?.predecessor != nil { card.lookAfterPredecessor() }
        if activity.id == providedID(report.type) { compare(report, activity, &draft) }
        confirm(report, activity, &card, isNewToken: isNewToken, isNewer: isNewer, &draft)
    }

    /// A report that says neither a token nor a channel leaves the card where it was known to be.
    private func channel(of report: CardReport, _ card: CardMachine) -> ChannelID? {
        guard report.channel == nil, report.token == nil, card.localID == report.localID else { return report.channel }
        return card.channel
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

    private func takeToken(
        _ report: CardReport, _ activity: ActivityRecord, _ predecessor: TokenValue?,
        _ card: inout CardMachine, _ draft: inout Draft
    ) throws(Refusal) -> Bool {
        guard let token = report.token else { return false }
        let key = Snapshot.PhoneKey(activity.number, device.key)
        let value = TokenValue(token)
        let known = draft.snapshot.owners[.init(device.app, value)]
        // It stays dead; the report itself is good, and a new token will follow.
        if known?.deadAt != nil { return false }
        if let known, gaveWay(known, at: key, draft) { return false }
        if let same = draft.snapshot.updateTokens[key], same.value == value {
            guard same.isPlaceholder else { return false }
            draft.removeUpdateToken(key, at: now)
        }
        if let known, (known.activity, known.device) != (activity.number, device.key) {
            let theirs = Snapshot.PhoneKey(known.activity, known.device)
            // By now that card may have another token, which is its own.
            if draft.snapshot.updateTokens[theirs]?.value == value {
                draft.removeUpdateToken(theirs, of: device.app, at: now)
            }
        }
        if known == nil { try draft.countNewToken(of: device.key, at: now) }
        var owner =
            known
            ?? TokenOwnerRecord(
                app: device.app, value: value, kind: .update, device: device.key, activity: activity.number,
                firstSeenAt: now)
        owner.kind = .update
        owner.device = device.key
        owner.activity = activity.number
        owner.releasedAt = nil
        draft.put(owner)
        // The token it replaces is not used again, even if a late report should name it once more. One that APNs called
        // dead is known as dead already.
        if let old = draft.snapshot.updateTokens[key], old.deadAt == nil {
            var replaced = TokenOwnerRecord(
                app: device.app, value: old.value, kind: .update, device: device.key, activity: activity.number,
                firstSeenAt: old.firstSeenAt)
            replaced.deadAt = now
            draft.put(replaced)
        }
        card.takeToken()
        var record = UpdateTokenRecord(
            activity: activity.number, device: device.key, generation: card.tokenGeneration,
            environment: device.environment ?? app.defaultEnvironment, value: value,
            firstSeenAt: owner.firstSeenAt)
        record.predecessor = predecessor ?? draft.snapshot.updateTokens[key]?.predecessor
        draft.put(record)
        draft.record(
            HistoryEntry(
                .tokenReported, device: device.key, at: now, revision: card.shownRevision,
                detail: value.description),
            of: activity)
        return true
    }

    private func finish(
        _ report: CardReport, _ how: CardLife.Outcome, _ card: inout CardMachine, _ draft: inout Draft
    ) {
        let known = draft.snapshot.tombstones[.init(device.key, report.localID)]
        bury(report.localID, card.activity, how.state, &draft)
        // News of another card does not end this one.
        if let mine = card.localID, mine != report.localID { return }
        if let start = card.life.openStart, known.map({ isCard($0, of: start) }) != true {
            // Said before the start, or of a card that is older: it is about a card that nobody had reported.
            if isOlder(report, than: card) || began(report, before: card) { return }
            // It may be an older card that nobody had reported: that does not tell what became of this start.
            if report.startedAt == nil, mayHaveOlder(than: report, card, draft) { return }
        }
        card.finish(report.localID, how)
        draft.dropUpdateToken(of: card, at: now)
    }

    /// A card may be there that is older than the start whose card is awaited, and of which nobody had told: one of an
    /// earlier run, or the second one of a renewal, whose token never came.
    private func mayHaveOlder(than report: CardReport, _ card: CardMachine, _ draft: Draft) -> Bool {
        guard card.run == 1 else { return true }
        guard let activity = draft.snapshot.activities[card.activity], activity.restart != .never,
            app.types[activity.type]?.policy.renewal == true
        else { return false }
        return draft.snapshot.tombstones.values.contains {
            $0.device == device.key && $0.activity == activity.number && $0.localID != report.localID
        }
    }

    func bury(
        _ localID: LocalID, _ activity: ActivityNumber, _ state: CardState, _ draft: inout Draft
    ) {
        // A guess does not replace what is known of how the card ended.
        if state == .gone, draft.snapshot.tombstones[.init(device.key, localID)]?.isOver == true { return }
        draft.put(TombstoneRecord(device: device.key, localID: localID, activity: activity, state: state, at: now))
    }
}

extension CardMachine {
    /// This is the row's card, or may be the one whose start nobody has reported yet (the app's own start is one), and
    /// no end was accepted for it.
    fileprivate func awaitsItsEnd(_ reported: LocalID) -> Bool {
        (state == .live || state == .starting || state == .unconfirmed || state == .requesting)
            && (localID == nil || localID == reported)
    }
}
