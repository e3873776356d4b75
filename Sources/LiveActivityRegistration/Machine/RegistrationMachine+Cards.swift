internal import JSONText
internal import LiveActivityAPI

extension RegistrationMachine {
    // MARK: - What ActivityKit says

    /// Handles iOS's list of the app's cards. A card that is missing from it for some seconds is gone.
    package mutating func see(all cards: [SeenCard], _ now: PhoneMoment) {
        knowsCards = true
        unclaimed = [:]
        let listed = Set(cards.map(\.localID))
        for (localID, card) in memory.cards where card.isRunning && !listed.contains(localID) { miss(localID, now) }
        for card in cards { take(card, now) }
        if absent.isEmpty { looksAgainAt = nil }
        collapseDuplicates(now)
        pump(now)
    }

    /// Handles one card as it is now.
    package mutating func see(_ card: SeenCard, _ now: PhoneMoment) {
        take(card, now)
        collapseDuplicates(now)
        pump(now)
    }

    /// Handles a card that is missing when it is to be changed.
    package mutating func lost(_ localID: String, _ now: PhoneMoment) {
        ending.remove(localID)
        change { $0.forgetFarewell(of: localID) }
        if let card = memory.cards[localID], card.isRunning {
            // The card is gone or not listed yet. In both cases it does not show what it was to show.
            for asked in card.changes { underWay.remove(asked.number) }
            change(localID) { $0.changes = [] }
            miss(localID, now)
        }
        pump(now)
    }

    /// Notes that a running card is not listed, and closes it when it has been missing for long enough.
    private mutating func miss(_ localID: String, _ now: PhoneMoment) {
        let since = absent[localID] ?? now.steady
        guard now.steady - since < limits.absence else { return close(localID, .gone) }
        absent[localID] = since
        looksAgainAt = min(looksAgainAt ?? .max, since + limits.absence)
    }

    // MARK: - Whose they are

    /// `true` until the app has said that somebody, or nobody, is signed in. Its cards are left alone until then.
    private var isNobodyKnown: Bool { memory.user == nil && !memory.isSignedOut }

    /// Gives the cards that were there before to the first person who signs in.
    mutating func claim(_ now: PhoneMoment) {
        let cards = unclaimed.values.sorted { $0.localID < $1.localID }
        unclaimed = [:]
        for card in cards { take(card, now) }
        collapseDuplicates(now)
    }

    /// Ends the cards that were there before, because nobody is signed in.
    mutating func disown() {
        for (localID, card) in unclaimed {
            if card.state.isRunning { end(localID, content: nil, .immediate, timestamp: nil) } else { sweep(localID) }
            change { $0.bury(localID) }
        }
        unclaimed = [:]
    }

    private mutating func take(_ seen: SeenCard, _ now: PhoneMoment) {
        absent[seen.localID] = nil
        if !seen.state.isRunning { ending.remove(seen.localID) }
        guard !isNobodyKnown else {
            unclaimed[seen.localID] = seen.state == .dismissed ? nil : seen
            return
        }
        attend(seen)
        let known = memory.cards[seen.localID]
        if memory.user != nil, known?.state == .gone { return findAgain(seen, now) }
        let isOver = memory.over.contains(seen.localID) || known.map { !$0.isRunning } == true
        guard memory.user != nil, !isOver else {
            // Nobody is signed in, or the card has ended before: a card that is over never comes back.
            if seen.state.isRunning { endAgain(seen, now) }
            if memory.user == nil, !isOver { change { $0.bury(seen.localID) } }
            return
        }
        guard known != nil else {
            // iOS may report a card before it has returned from creating it on a channel, which the card itself does
            // not name.
            let isBeingMade = orders.contains {
                $0.stage == .starting && $0.card.channel != nil && Self.isSame($0.card, seen)
            }
            if isBeingMade, seen.token == nil, seen.channel == nil { return }
            return meet(seen, now)
        }
        follow(seen, now)
    }

    /// Adds a card that was not known before. A push or an earlier process started it.
    private mutating func meet(_ seen: SeenCard, _ now: PhoneMoment) {
        guard seen.state.isRunning else { return change { $0.bury(seen.localID) } }
        let seenAt = time(now)
        change { memory in
            let number = memory.count()
            memory.cards[seen.localID] = CardMemory(
                type: seen.type, activity: seen.activity, attributes: seen.attributes, content: seen.content,
                token: seen.token, channel: seen.channel, state: seen.state, number: number, seenAt: seenAt)
        }
        witnessed.insert(seen.localID)
        tell(PhoneNote(.activitySeen, type: seen.type, activity: seen.activity, localID: seen.localID))
        if let token = seen.token { obtained(token, of: seen) }
        // This card takes the place of one that was to be started.
        orders.removeAll { $0.stage != .starting && Self.isSame($0.card, seen) }
        line.endPause()
    }

    /// Revives a card that counted as gone and that iOS lists as running again. It was there all the time, and an
    /// inventory reports it.
    private mutating func findAgain(_ seen: SeenCard, _ now: PhoneMoment) {
        guard seen.state.isRunning else { return }
        tell(PhoneNote(.activitySeen, type: seen.type, activity: seen.activity, localID: seen.localID))
        change { $0.owesInventory = true }
        follow(seen, now)
    }

    private mutating func follow(_ seen: SeenCard, _ now: PhoneMoment) {
        guard seen.state.isRunning else { return finish(seen, now) }
        witnessed.insert(seen.localID)
        resolve(seen)
        let isNewToken = seen.token != nil && seen.token != memory.cards[seen.localID]?.token
        change(seen.localID) { card in
            let old = card
            card.state = seen.state
            card.token = seen.token ?? card.token
            card.channel = seen.channel ?? card.channel
            card.activity = card.activity ?? seen.activity
            if let content = seen.content, content != card.content {
                card.hold(content)
                card.revision = nil
                card.ahead = nil
            }
            if card != old { card.version += 1 }
        }
        if isNewToken, let token = seen.token { obtained(token, of: seen) }
    }

    /// Handles a card that no longer runs.
    private mutating func finish(_ seen: SeenCard, _ now: PhoneMoment) {
        guard let card = memory.cards[seen.localID] else { return }
        guard seen.state == .dismissed else { return close(seen.localID, seen.state) }
        let bySwitch = switchedAt.map { now.steady - $0 < limits.settlingAfterSwitch } ?? false
        let isYoung = age(of: card, now) < limits.cardLife
        let isWanted = card.activity.map { !endedActivities.keys.contains(Self.canonical($0)) } ?? true
        // Only a card that this process saw running, and whose end has no other cause, was swiped away by the person.
        let isPersons = witnessed.contains(seen.localID) && !bySwitch && isYoung && isWanted
        close(seen.localID, isPersons ? .dismissed : .gone)
    }

    private mutating func close(_ localID: String, _ state: InstanceRequest.State) {
        guard let card = memory.cards[localID] else { return }
        if state == .dismissed || state == .gone {
            let code: PhoneNote.Code = state == .dismissed ? .activityDismissed : .activityGone
            tell(PhoneNote(code, type: card.type, activity: card.activity, localID: localID))
        }
        close(localID) { $0.state = state }
        witnessed.remove(localID)
        line.endPause()
    }

    /// Closes a card. A card that is over has no token and takes no update.
    mutating func close(_ localID: String, _ body: (inout CardMemory) -> Void) {
        for asked in memory.cards[localID]?.changes ?? [] { underWay.remove(asked.number) }
        absent[localID] = nil
        tried[localID] = nil
        change(localID) { card in
            body(&card)
            card.token = nil
            card.changes = []
            card.version += 1
        }
        // The server followed this card. It must learn of the card on a channel that remains.
        let isLeft = memory.cards.values.contains { other in
            other.isRunning && other.isOnChannel
                && memory.cards[localID].map { $0.type == other.type && Self.isSame($0.activity, other.activity) }
                    == true
        }
        if isLeft { change { $0.owesInventory = true } }
    }

    private mutating func obtained(_ token: TokenText, of seen: SeenCard) {
        line.endPause()
        tell(
            PhoneNote(
                .tokenObtained, type: seen.type, activity: seen.activity, localID: seen.localID,
                detail: "update \(token)"))
    }

    /// Returns the age of a card in milliseconds. A push may have started it long before the app saw it.
    private func age(of card: CardMemory, _ now: PhoneMoment) -> Int {
        let sinceSeen = time(now) - card.seenAt
        guard let start = [card.begunAt, card.startedAt].compactMap(\.self).min() else { return sinceSeen }
        return max(sinceSeen, time(now) - start.milliseconds)
    }

    // MARK: - Updates on their way

    /// Handles iOS's return from an update, with the card as it is afterwards.
    package mutating func updated(_ number: Int, _ seen: SeenCard, _ now: PhoneMoment) {
        underWay.remove(number)
        if seen.state.isRunning,
            let asked = memory.cards[seen.localID]?.changes.first(where: { $0.number == number })
        {
            take(asked, of: seen.localID, seen.content)
        }
        see(seen, now)
    }

    /// Finishes updates by what the card holds: an update from which iOS has not returned yet, and one of an earlier
    /// process that never learned its result.
    private mutating func resolve(_ seen: SeenCard) {
        guard let changes = memory.cards[seen.localID]?.changes, let content = seen.content else { return }
        for asked in changes {
            let isLost = !underWay.contains(asked.number)
            if asked.content == content, isLost || asked.content != asked.held {
                take(asked, of: seen.localID, content)
            } else if isLost {
                change(seen.localID) { $0.changes.removeAll { $0.number == asked.number } }
            }
        }
    }

    /// Finishes one update.
    ///
    /// - Parameter content: The card's content now as iOS writes it, or `nil` if iOS does not say.
    private mutating func take(_ asked: CardMemory.Change, of localID: String, _ content: JSONObject?) {
        let isTaken = content == nil || content == asked.content || content != asked.held
        change(localID) { card in
            card.changes.removeAll { $0.number == asked.number }
            card.version += 1
            guard isTaken else { return }
            card.hold(content ?? asked.content)
            card.staleAt = asked.staleAt
            card.revision = asked.revision
            card.ahead = asked.ahead
            card.lastTimestamp = asked.timestamp ?? card.lastTimestamp
        }
        // A revision that iOS ignored, or wrote differently, is not requested again and again.
        tried[localID] = content == nil || content == asked.content ? nil : asked.revision
    }

    // MARK: - Duplicates

    /// Ends all but one of several cards of one activity. First choice is one with a token, then one that the app
    /// started, then the newest.
    ///
    /// A push that starts a card long after the app's own on a channel of the server's begins another run of the
    /// activity. The earlier run's channel brings its card nothing but the end, which may be lost, so the newer one
    /// stays.
    ///
    /// A card on a channel of the app's own is no duplicate of the others, because the server sends nothing there. One
    /// on a channel that the server named is: both would get each state. A card that a push has put on a channel counts
    /// as one without, because iOS does not name its channel.
    mutating func collapseDuplicates(_ now: PhoneMoment) {
        let running = memory.cards.filter { $0.value.isRunning && $0.value.activity != nil }
        let groups = Dictionary(grouping: running) {
            "\($0.value.isOnOwnChannel)\u{0}\($0.value.type)\u{0}\($0.value.activity.map(Self.canonical) ?? "")"
        }
        for group in groups.values where group.count > 1 {
            let ranked = group.sorted { isBetter($0.value, $1.value, now) }
            if let kept = renewal(of: ranked, now) {
                for (localID, _) in ranked where !kept.contains(localID) { endDuplicate(localID) }
            } else {
                for (localID, _) in ranked.dropFirst() { endDuplicate(localID) }
            }
        }
    }

    /// Returns the cards that stay if the newest card is the renewal of one that iOS will end soon, or `nil` if it is
    /// not a renewal.
    private func renewal(of group: [(key: String, value: CardMemory)], _ now: PhoneMoment) -> [String]? {
        guard let newest = group.max(by: { $0.value.number < $1.value.number }),
            let oldest = group.min(by: { $0.value.number < $1.value.number }),
            !newest.value.isOwn, age(of: oldest.value, now) >= limits.renewalAge
        else { return nil }
        return newest.value.token != nil ? [newest.key] : [newest.key, oldest.key]
    }

    private func isBetter(_ one: CardMemory, _ other: CardMemory, _ now: PhoneMoment) -> Bool {
        if (one.token != nil) != (other.token != nil) { return one.token != nil }
        if one.isOwn != other.isOwn {
            let (own, pushed) = one.isOwn ? (one, other) : (other, one)
            let isOfEarlierRun =
                own.token == nil && own.serversChannel != nil && own.number < pushed.number
                && age(of: own, now) > limits.serversPatience
            return one.isOwn != isOfEarlierRun
        }
        return one.number > other.number
    }

    private mutating func endDuplicate(_ localID: String) {
        guard let card = memory.cards[localID] else { return }
        end(localID, content: nil, .immediate, timestamp: nil)
        close(localID) { $0.state = .duplicate }
        tell(PhoneNote(.duplicateEnded, type: card.type, activity: card.activity, localID: localID))
    }
}
