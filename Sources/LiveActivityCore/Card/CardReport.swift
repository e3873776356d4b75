package import APNSModel
package import JSONText

/// A phone's report of one of its cards.
package struct CardReport: Sendable, Equatable {
    /// State of a card, as its phone reports it.
    package enum State: String, Sendable, CaseIterable {
        case requesting, pending, active, stale, ended, dismissed, gone
        /// The app ended the card because another card of the same activity stays.
        case duplicate
        /// The app does not start the card that it had requested.
        case notStarted

        /// `true` if the card exists and updates change it.
        var isRunning: Bool { self == .pending || self == .active || self == .stale }
    }

    package var localID: LocalID
    package var type: ActivityType
    package var activity: ActivityID?
    package var attributes: JSONObject?
    package var state: State
    package var token: UpdateToken?
    /// Broadcast channel that the card is subscribed to. Such a card has no token.
    package var channel: ChannelID?
    package var startedAt: UnixTime?
    /// Newest timestamp that the phone applied, its own updates included, in seconds.
    package var lastTimestamp: Int64?
    package var contentState: JSONObject?
    /// Revision that the app's own update was based on.
    package var basedOn: Revision?
    /// Number of the report. It grows with each report and inventory of the device; `nil` if the app does not number
    /// them.
    package var sequence: Int64?
    /// Total number of times the person opened the app from the card.
    package var opens = 0

    package init(localID: LocalID, type: ActivityType, state: State) {
        self.localID = localID
        self.type = type
        self.state = state
    }

    /// Activity that the card names itself, in the report or in its attributes.
    package var namedActivity: ActivityID? {
        activity ?? attributes.flatMap { ActivityTag.activity(in: $0, type: type) }
    }

    /// `true` if pushes can reach the card, through its token or its channel.
    var isServed: Bool { token != nil || channel != nil }
}

/// Applies a phone's reports to the cards that they are about.
struct CardIntake {
    let app: AppSettings
    let device: DeviceRecord
    let reporter: Reporter
    let now: UnixTime
    /// `true` if the report is part of an inventory. No newer inventory of the phone has been accepted then.
    var isInventory = false
    /// Local ids of the cards that the inventory lists as running.
    var running: Set<LocalID> = []

    /// Time for which a report waits for its person to be named in the audience: 24 hours.
    static let awaiting = Duration.seconds(86_400)
    /// Maximum number of waiting reports per device and day. A phone shows a handful of cards.
    static let maximumAwaiting = 20
    /// Maximum number of new cards per device and day on the phone's own word, including waiting ones.
    static let maximumNew = 100

    /// Applies one report. The first rule that applies decides:
    ///
    /// 1. A newer report has overtaken it: nothing changes (`isOvertaken`).
    /// 2. Its card counts as over: the card stays over, unless the report proves it alive (`isAliveAfterAll`). If the
    ///    phone still shows it, it is ended (`endStray`).
    /// 3. It reports a duplicate or withdraws a request: only that is recorded.
    /// 4. Its card belongs to an earlier run: that card must end before a card of this run starts.
    /// 5. Its card is not the row's: one of the two stays (`succession`).
    /// 6. Otherwise the row takes the report.
    ///
    /// - Throws: `Refusal.activityNotNamed` if nothing tells which activity a new card belongs to.
    func take(_ report: CardReport, _ draft: inout Draft) throws(Refusal) {
        if isOvertaken(report, &draft) { return }
        let tombstone = draft.snapshot.tombstones[.init(device.key, report.localID)]
        if let tombstone, tombstone.isOver {
            // A card that is over never comes back. A reported dismissal is more certain than a guess.
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
        guard var activity = try activity(of: report, &draft) else { return }
        let isRedated = redate(&activity, &draft)
        let key = Snapshot.PhoneKey(activity.number, device.key)
        var card =
            draft.snapshot.cards[key]
            ?? CardMachine(
                activity: activity.number, device: device.key, run: activity.run, at: now,
                membership: device.signedOutAt == nil ? .member : .left, alerted: activity.revision)
        try admit(&card, to: activity, &draft)
        if let tombstone, !tombstone.isOver, passOver(report, tombstone, card, of: activity, &draft) { return }
        // A card of an earlier run that is not over still needs its end, so its token is kept.
        let isOld = isOfOldRun(report, card, activity, isRedated: isRedated)
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
        case .requesting:
            card.request(until: now + CardLife.Request.lease)
            draft.awaitChannel(ofApp: device, activity, app, at: now)
        case .pending, .active, .stale: try adopt(report, activity, &card, &draft)
        case .ended: finish(report, .ended, &card, &draft)
        case .dismissed: finish(report, .dismissed, &card, &draft)
        case .gone: finish(report, .gone, &card, &draft)
        case .duplicate, .notStarted: return
        }
        // The count of openings is not kept once a card is over. The total of a revived card is therefore not new.
        if tombstone?.isOver == true { _ = card.open(report.opens) }
        repeatUnheededEnd(report, &card)
        store(card, of: activity, as: report, &draft)
    }

    /// Stores the row after a report, with everything that follows from the change.
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
        draft.seeCard(card, at: now)
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

    /// Records that a duplicate is gone. The activity continues with the card that stays, which the phone reports
    /// separately.
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

    /// Records that the app does not start the card after all, so nothing waits for it. A report that is older than the
    /// phone's newest one is ignored, because the app may be about to start another card.
    private func withdraw(_ report: CardReport, _ draft: inout Draft) throws(Refusal) {
        if let sequence = report.sequence, sequence < device.reportSequence { return }
        guard let activity = try knownActivity(of: report, &draft),
            var card = draft.snapshot.cards[.init(activity.number, device.key)], card.state == .requesting
        else { return }
        card.withdrawRequest()
        store(card, of: activity, as: report, &draft)
    }

    /// Clears the missed starts of the start token: a start reached the phone, so the token is the phone's.
    private func trustStartToken(of activity: ActivityRecord, _ draft: inout Draft) {
        guard var token = draft.snapshot.deviceTokens[.init(device.key, .pushToStart, activity.type)],
            token.missedStarts > 0
        else { return }
        token.missedStarts = 0
        draft.put(token)
    }

    // MARK: - What was waiting for it

    /// Looks again at other starts of the type, which were held until this start's card was matched.
    private func wakeHeldStarts(of activity: ActivityRecord, _ draft: inout Draft) {
        for key in draft.phones(on: device.key) where key.activity != activity.number {
            guard draft.snapshot.activities[key.activity]?.type == activity.type else { continue }
            Lanes.review(key, app.types[activity.type], now: now, &draft)
        }
    }

    private func adopt(
        _ report: CardReport, _ activity: ActivityRecord, _ card: inout CardMachine, _ draft: inout Draft
    ) throws(Refusal) {
        let key = Snapshot.PhoneKey(activity.number, device.key)
        var predecessor: TokenValue?
        // A renewal's second card may appear after the person dismissed the first. They dismissed both.
        let isUnwelcome = card.successor != nil && card.state == .dismissed && activity.restart != .always
        if let other = card.localID, let succession = succession(of: report, to: card, draft) {
            if succession == .undecided { return rememberSecond(report, card, &draft) }
            let known = draft.snapshot.updateTokens[key]
            if succession == .ended {
                predecessor = known.flatMap { $0.deadAt == nil ? $0.value : nil }
                // Both local ids name one card, which must not be ended.
                if predecessor == report.token.map({ TokenValue($0) }) { predecessor = nil }
            }
            // A card on a channel stays beside one with a token, and may become the phone's only card again.
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
        // No push can carry a timestamp further ahead, so such a report must not bind later ones.
        if let last = report.lastTimestamp, last < Flight.latestTimestamp(now) { card.use(last) }
        let isNewToken = try takeToken(report, activity, predecessor, &card, &draft)
        if draft.snapshot.updateTokens[key]?.predecessor != nil { card.lookAfterPredecessor() }
        if activity.id == providedID(report.type) { compare(report, activity, &draft) }
        confirm(report, activity, &card, isNewToken: isNewToken, isNewer: isNewer, &draft)
    }

    /// Returns the card's channel. A report with neither token nor channel does not change what is known of a known
    /// card, or of the start that made it: iOS does not tell the app which channel a push has put the card on.
    private func channel(of report: CardReport, _ card: CardMachine) -> ChannelID? {
        guard report.channel == nil, report.token == nil else { return report.channel }
        return card.localID == report.localID ? card.channel : card.life.openStart?.channel
    }

    /// Computes a provider-driven card again if the app started it or if it shows something else than was computed.
    ///
    /// The state that the card shows is kept until then. If the computation gives the same, nothing is sent.
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
        // The token stays dead. The rest of the report counts, and a new token will follow.
        if known?.deadAt != nil { return false }
        if let known, gaveWay(known, at: key, draft) { return false }
        if let same = draft.snapshot.updateTokens[key], same.value == value {
            guard same.isPlaceholder else { return false }
            draft.removeUpdateToken(key, at: now)
        }
        if let known, (known.activity, known.device) != (activity.number, device.key) {
            let theirs = Snapshot.PhoneKey(known.activity, known.device)
            // That card may have another token by now, which it keeps.
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
        // The replaced token is marked dead, so that a late report naming it does not bring it back. A token that APNs
        // called dead has its mark already.
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
        // A report about another card does not end this one.
        if let mine = card.localID, mine != report.localID { return }
        if let start = card.life.openStart, known.map({ isCard($0, of: start) }) != true {
            // A report from before the start, or about an older card, says nothing about the start's card.
            if isOlder(report, than: card) || began(report, before: card) { return }
            // An older card may exist that was never reported. Without a date, the report may be about that one.
            if report.startedAt == nil, mayHaveOlder(than: report, card, draft) { return }
        }
        card.finish(report.localID, how)
        draft.dropUpdateToken(of: card, at: now)
    }

    /// Returns `true` if the phone may have an older card than the open start's that was never reported: one of an
    /// earlier run, or a renewal's second card whose token never came.
    private func mayHaveOlder(than report: CardReport, _ card: CardMachine, _ draft: Draft) -> Bool {
        guard card.run == 1 else { return true }
        guard let activity = draft.snapshot.activities[card.activity], activity.restart != .never,
            app.types[activity.type]?.policy.renewal == true
        else { return false }
        return draft.snapshot.tombstones.values.contains {
            $0.device == device.key && $0.activity == activity.number && $0.localID != report.localID
        }
    }

    /// Records that a card is over, under its local id.
    func bury(
        _ localID: LocalID, _ activity: ActivityNumber, _ state: CardState, _ draft: inout Draft
    ) {
        // A guess does not replace a known outcome.
        if state == .gone, draft.snapshot.tombstones[.init(device.key, localID)]?.isOver == true { return }
        draft.put(TombstoneRecord(device: device.key, localID: localID, activity: activity, state: state, at: now))
    }
}

extension CardMachine {
    /// Returns `true` if this is the row's card, and APNs has accepted no end for it. An open start or a request of the
    /// app has no local id yet, so any card may be its card.
    fileprivate func awaitsItsEnd(_ reported: LocalID) -> Bool {
        (state == .live || state == .starting || state == .unconfirmed || state == .requesting)
            && (localID == nil || localID == reported)
    }
}
