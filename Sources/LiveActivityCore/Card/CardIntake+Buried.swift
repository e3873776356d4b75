import APNSModel

// Reports of a card that counts as over.
extension CardIntake {
    /// What a push, and an inventory that was sent before it came, are on their way at most.
    private static let endTravel = Duration.seconds(60)

    /// Only APNs's word about a token spoke for its end, and the phone has the card with another token: iOS had
    /// replaced the one, and the app had not come to say so.
    func isAliveAfterAll(_ report: CardReport, _ tombstone: TombstoneRecord, _ draft: Draft) -> Bool {
        if isTakenBack(report, tombstone, draft) { return true }
        guard let card = draft.snapshot.cards[.init(tombstone.activity, device.key)],
            card.localID == report.localID
        else { return isFoundAgain(report, tombstone, draft) }
        // It was found alive before.
        if card.state.mayHaveCard { return true }
        guard report.state.isRunning, tombstone.state != .dismissed, card.state == tombstone.state,
            card.last?.reason.code == .tokenInactive, let token = report.token
        else { return false }
        return draft.snapshot.owners[.init(device.app, TokenValue(token))]?.deadAt == nil
    }

    /// An inventory shows a card that counts as over while its person is to see one, and no other is there or may still
    /// come: it is that card. To end it and to start another would take two pushes and leave a gap. Of one that counts
    /// as gone the app's own next word tells as well: iOS had not listed it.
    ///
    /// Not where the person or the app ended it, and not while its end, or this inventory, may still be on its way.
    func isTakenBack(_ report: CardReport, _ tombstone: TombstoneRecord, _ draft: Draft) -> Bool {
        let key = Snapshot.PhoneKey(tombstone.activity, device.key)
        guard report.state.isRunning, tombstone.state != .dismissed, report.isServed,
            let card = draft.snapshot.cards[key], isInventory || card.state == .gone && isLastWord(report),
            let activity = draft.snapshot.activities[tombstone.activity], activity.phase == .active,
            card.run == activity.run, card.isWanted, device.signedOutAt == nil, !card.isEvicted,
            !card.isRenewing,
            card.awaitsUntil == nil
        else { return false }
        // A card of an earlier run shows what is not true any more.
        let isOfThisRun =
            activity.run == 1 || report.startedAt.map { $0 >= activity.runStartedAt } == true
            || card.localID == report.localID
        let owner = report.token.flatMap { draft.snapshot.owners[.init(device.app, TokenValue($0))] }
        let isOurs = owner.map { ($0.activity, $0.device) == (key.activity, key.device) } ?? true
        guard isOfThisRun, owner?.deadAt == nil, isOurs, draft.snapshot.updateTokens[key]?.predecessor == nil else {
            return false
        }
        let isPast = tombstone.at + ReportInventory.travel <= now
        switch card.state {
        // An earlier inventory lacked it: this one is newer.
        case .gone: return card.localID == report.localID
        case .absent: return isPast
        case .starting, .unconfirmed:
            return isPast && card.startExpiresAt.map { $0 + ReportInventory.travel < now } ?? false
        case .requesting, .live, .ending, .ended, .dismissed: return false
        }
    }

    /// A numbered report of a card that counts as over is the newest that its phone has said: see `isOvertaken`.
    private func isLastWord(_ report: CardReport) -> Bool { report.sequence != nil }

    /// The person was taken in again meanwhile, and no card was started since: this one is it. Where we ended it, a
    /// token that was not known then says that the end went to another one.
    func isFoundAgain(_ report: CardReport, _ tombstone: TombstoneRecord, _ draft: Draft) -> Bool {
        guard report.state.isRunning, tombstone.state != .dismissed, report.isServed else { return false }
        let owner = report.token.flatMap { draft.snapshot.owners[.init(device.app, TokenValue($0))] }
        let isNew = owner.map { $0.firstSeenAt > tombstone.at } ?? (report.token != nil)
        guard owner?.deadAt == nil, tombstone.state == .gone || isNew,
            let card = draft.snapshot.cards[.init(tombstone.activity, device.key)]
        else { return false }
        return card.state == .absent && card.localID == nil && card.isWanted
    }

    /// The phone shows a card that counts as over: its end got lost, or went to a token that iOS had replaced. It is
    /// ended by the token that the phone names, before another is started there: nobody would come back to it.
    ///
    /// Only an inventory tells, or the last word about a card that had not been listed: any other report may be one
    /// that the network kept back until after the end.
    func endStray(
        _ report: CardReport, _ number: ActivityNumber, _ state: CardState, wasGone: Bool = false,
        _ draft: inout Draft
    ) {
        let key = Snapshot.PhoneKey(number, device.key)
        // Beyond a day's new tokens nobody ends the card: iOS does.
        guard report.state.isRunning, let token = report.token, var owner = remember(token, of: number, &draft),
            isInventory || wasGone && isLastWord(report), state != .dismissed,
            var card = draft.snapshot.cards[key], card.awaitsUntil == nil,
            // While a renewal goes on, or an end, its card has the row to itself.
            !card.isRenewing, card.state != .ending,
            owner.deadAt == nil, (owner.activity, owner.device) == (number, device.key)
        else { return }
        let value = owner.value
        let start = draft.snapshot.deviceTokens[.init(device.key, .pushToStart, report.type.name)]
        if var record = draft.snapshot.updateTokens[key] {
            guard record.predecessor == nil, record.value != value else { return }
            record.predecessor = value
            draft.put(record)
        } else {
            let environment = device.environment ?? start?.environment ?? app.defaultEnvironment
            draft.put(.placeholder(for: value, of: card, environment, at: now))
        }
        owner.releasedAt = nil
        draft.put(owner)
        card.findStray()
        draft.put(card)
        Lanes.review(key, app.types[report.type.name], now: now, &draft)
    }

    /// A card of this run takes the row of an earlier run's card. That card is over for the server. Where nobody has
    /// ended it, it is ended before another is started.
    func leaveBehind(_ card: CardMachine, for report: CardReport, _ draft: inout Draft) {
        let key = Snapshot.PhoneKey(card.activity, card.device)
        guard let local = card.localID, local != report.localID else { return }
        draft.bury(card, as: card.state.isTombstone ? card.state : .ended, at: now)
        let token = draft.snapshot.updateTokens[key]
        draft.dropUpdateToken(of: card, at: now)
        guard card.state == .live, let token, token.deadAt == nil, draft.snapshot.updateTokens[key] == nil else {
            return
        }
        draft.put(.placeholder(for: token.value, of: card, token.environment, at: now))
    }

    /// The server knows a token since the phone first named it, even where the report changes nothing else: APNs's
    /// "inactive since" is compared with that time, and a token first seen after it is doubted, not given up.
    ///
    /// - Returns: Who has the token; `nil`: it is new, and the device has named too many new ones today.
    func remember(_ token: UpdateToken, of number: ActivityNumber, _ draft: inout Draft) -> TokenOwnerRecord? {
        let value = TokenValue(token)
        if let known = draft.snapshot.owners[.init(device.app, value)] { return known }
        guard (try? draft.countNewToken(of: device.key, at: now)) != nil else { return nil }
        var owner = TokenOwnerRecord(
            app: device.app, value: value, kind: .update, device: device.key, activity: number, firstSeenAt: now)
        // No card has it yet.
        owner.releasedAt = now
        draft.put(owner)
        return owner
    }

    /// Whether the row's card had this token, gave it up, and has another one now. iOS never returns to an earlier
    /// token.
    ///
    /// The times of the two tokens do not tell which is older, because the clock may have been set back in between.
    func gaveWay(_ token: TokenOwnerRecord, at key: Snapshot.PhoneKey, _ draft: Draft) -> Bool {
        guard let releasedAt = token.releasedAt, (token.activity, token.device) == (key.activity, key.device),
            let newer = draft.snapshot.updateTokens[key], newer.deadAt == nil
        else { return false }
        // Otherwise no card has had it yet: see `remember`.
        return releasedAt != token.firstSeenAt
    }

    /// The end of an earlier run's card was accepted, and the phone shows the card all the same: it is ended again. No
    /// repeat of the end would come to it any more, since the row is the next run's by now.
    func isEndLost(_ report: CardReport, _ card: CardMachine) -> Bool {
        isInventory && report.state.isRunning && card.state == .ending && card.localID == report.localID
    }

    /// A while after APNs took its end the phone shows the card all the same: the next repeat of the end is due now.
    /// After the last one another follows, for each inventory that comes when the time of a first repeat has passed.
    func repeatUnheededEnd(_ report: CardReport, _ card: inout CardMachine) {
        guard isInventory, report.state.isRunning, card.localID == report.localID,
            case .ending(_, let ends) = card.life, ends > 0, let last = card.last, last.kind == .end,
            last.reason.code == .accepted
        else { return }
        let repeats = Reconciler.endRepeats
        let pause = ends > repeats.count ? repeats.first ?? Self.endTravel : Self.endTravel
        guard now >= last.at + pause else { return }
        card.repeatEnd(at: now)
    }

    /// The phone says itself what APNs's word about a token had made likely.
    func confirmGone(_ report: CardReport, _ tombstone: TombstoneRecord, _ draft: inout Draft) {
        let key = Snapshot.PhoneKey(tombstone.activity, device.key)
        guard var card = draft.snapshot.cards[key], card.goneByTokenAlone?.localID == report.localID else { return }
        let old = card
        card.confirmOver(report.state == .dismissed ? .dismissed : nil)
        draft.put(card)
        if let activity = draft.snapshot.activities[key.activity] {
            CardEvents(activity: activity, now: now).reported(old, card, .reported, &draft)
        }
        Lanes.review(key, app.types[report.type.name], now: now, &draft)
    }
}

extension Draft {
    /// The card is over, and its token with it; one that it took the place of is still to be ended.
    mutating func dropUpdateToken(of card: CardMachine, at now: UnixTime) {
        let key = Snapshot.PhoneKey(card.activity, card.device)
        guard let old = snapshot.updateTokens[key] else { return }
        removeUpdateToken(key, at: now)
        guard let predecessor = old.predecessor else { return }
        put(.placeholder(for: predecessor, of: card, old.environment, at: now))
    }
}
