import APNSModel

// Reports of a card that counts as over.
extension CardIntake {
    /// Longest time that an end, and an inventory sent before it arrived, are assumed to travel.
    private static let endTravel = Duration.seconds(60)

    /// Returns `true` if a card that counts as over is alive.
    ///
    /// Only APNs's answer about a token said that it was over, and the phone reports it with another token: iOS had
    /// replaced the token before the app could report the new one.
    func isAliveAfterAll(_ report: CardReport, _ tombstone: TombstoneRecord, _ draft: Draft) -> Bool {
        if isTakenBack(report, tombstone, draft) { return true }
        guard let card = draft.snapshot.cards[.init(tombstone.activity, device.key)],
            card.localID == report.localID
        else { return isFoundAgain(report, tombstone, draft) }
        // An earlier report already found it alive.
        if card.state.mayHaveCard { return true }
        guard report.state.isRunning, tombstone.state != .dismissed, card.state == tombstone.state,
            card.last?.reason.code == .tokenInactive, let token = report.token
        else { return false }
        return draft.snapshot.owners[.init(device.app, TokenValue(token))]?.deadAt == nil
    }

    /// Returns `true` if a card that counts as over becomes the phone's card again.
    ///
    /// An inventory must show it while its person is to see a card, and no other card may exist or still appear. Taking
    /// it back avoids two pushes (its end and another start) and a gap between them. A card that counts as gone is also
    /// taken back by the app's next numbered report, because iOS had left it out of its list.
    ///
    /// It is not taken back if the person or the app ended it, or while its end or this inventory may still be on its
    /// way.
    func isTakenBack(_ report: CardReport, _ tombstone: TombstoneRecord, _ draft: Draft) -> Bool {
        let key = Snapshot.PhoneKey(tombstone.activity, device.key)
        guard report.state.isRunning, tombstone.state != .dismissed, report.isServed,
            let card = draft.snapshot.cards[key], isInventory || card.state == .gone && isLastWord(report),
            let activity = draft.snapshot.activities[tombstone.activity], activity.phase == .active,
            card.run == activity.run, card.isWanted, device.signedOutAt == nil, !card.isEvicted,
            !card.isRenewing,
            card.awaitsUntil == nil
        else { return false }
        // A card of an earlier run shows an outdated state.
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
        // This inventory is newer than the one that lacked the card.
        case .gone: return card.localID == report.localID
        case .absent: return isPast
        case .starting, .unconfirmed:
            return isPast && card.startExpiresAt.map { $0 + ReportInventory.travel < now } ?? false
        case .requesting, .live, .ending, .ended, .dismissed: return false
        }
    }

    /// Returns `true` if this is the phone's newest report: `isOvertaken` rejects an older numbered one of such a card.
    private func isLastWord(_ report: CardReport) -> Bool { report.sequence != nil }

    /// Returns `true` if the person is in the audience again and no card has been started since, so this is their card.
    ///
    /// If Islet had ended the card, a token that was unknown at that time shows that the end went to another token.
    func isFoundAgain(_ report: CardReport, _ tombstone: TombstoneRecord, _ draft: Draft) -> Bool {
        guard report.state.isRunning, tombstone.state != .dismissed, report.isServed else { return false }
        let owner = report.token.flatMap { draft.snapshot.owners[.init(device.app, TokenValue($0))] }
        let isNew = owner.map { $0.firstSeenAt > tombstone.at } ?? (report.token != nil)
        guard owner?.deadAt == nil, tombstone.state == .gone || isNew,
            let card = draft.snapshot.cards[.init(tombstone.activity, device.key)]
        else { return false }
        return card.state == .absent && card.localID == nil && card.isWanted
    }

    /// Ends a card that counts as over and that the phone still shows. Its end was lost, or went to a token that iOS
    /// had replaced.
    ///
    /// The card is ended through the token that the report names, before another card is started. Otherwise nothing
    /// would end it later. Only an inventory counts, or the newest report of a card that counted as gone. The network
    /// may have delayed any other report until after the end.
    func endStray(
        _ report: CardReport, _ number: ActivityNumber, _ state: CardState, wasGone: Bool = false,
        _ draft: inout Draft
    ) {
        let key = Snapshot.PhoneKey(number, device.key)
        // A card whose token is beyond the day's limit of new tokens is left to iOS, which ends it.
        guard report.state.isRunning, let token = report.token, var owner = remember(token, of: number, &draft),
            isInventory || wasGone && isLastWord(report), state != .dismissed,
            var card = draft.snapshot.cards[key], card.awaitsUntil == nil,
            // During a renewal or an end, the row is about that card alone.
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

    /// Gives the row of an earlier run's card to a card of this run. The earlier card counts as over. If nobody has
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

    /// Records when the phone first named a token, even if the report changes nothing else.
    ///
    /// APNs's "inactive since" is compared with that time. A token first seen later is doubted, but not given up.
    ///
    /// - Returns: The token's owner; `nil` if the token is new and the device has named too many new ones today.
    func remember(_ token: UpdateToken, of number: ActivityNumber, _ draft: inout Draft) -> TokenOwnerRecord? {
        let value = TokenValue(token)
        if let known = draft.snapshot.owners[.init(device.app, value)] { return known }
        guard (try? draft.countNewToken(of: device.key, at: now)) != nil else { return nil }
        var owner = TokenOwnerRecord(
            app: device.app, value: value, kind: .update, device: device.key, activity: number, firstSeenAt: now)
        // No card uses the token yet.
        owner.releasedAt = now
        draft.put(owner)
        return owner
    }

    /// Returns `true` if the row's card had this token, gave it up, and has another one now. iOS never returns to an
    /// earlier token.
    ///
    /// The times of the two tokens do not tell which is older, because the clock may have been set back in between.
    func gaveWay(_ token: TokenOwnerRecord, at key: Snapshot.PhoneKey, _ draft: Draft) -> Bool {
        guard let releasedAt = token.releasedAt, (token.activity, token.device) == (key.activity, key.device),
            let newer = draft.snapshot.updateTokens[key], newer.deadAt == nil
        else { return false }
        // Equal times mean that no card has used the token yet: see `remember`.
        return releasedAt != token.firstSeenAt
    }

    /// Returns `true` if an inventory shows an earlier run's card although APNs accepted its end. It is ended again,
    /// because the row now belongs to the next run and no repeat of the end would reach the card.
    func isEndLost(_ report: CardReport, _ card: CardMachine) -> Bool {
        isInventory && report.state.isRunning && card.state == .ending && card.localID == report.localID
    }

    /// Makes the next repeat of an end due if an inventory shows the card a while after APNs accepted the end.
    ///
    /// After the last planned repeat, each later inventory allows another, 15 minutes after the one before at the
    /// earliest.
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

    /// Records the phone's own word that a card is over, which an inactive token had made likely.
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
    /// Removes the token of a card that is over. A replaced card that must still be ended keeps its token in the
    /// record.
    mutating func dropUpdateToken(of card: CardMachine, at now: UnixTime) {
        let key = Snapshot.PhoneKey(card.activity, card.device)
        guard let old = snapshot.updateTokens[key] else { return }
        removeUpdateToken(key, at: now)
        guard let predecessor = old.predecessor else { return }
        put(.placeholder(for: predecessor, of: card, old.environment, at: now))
    }
}
