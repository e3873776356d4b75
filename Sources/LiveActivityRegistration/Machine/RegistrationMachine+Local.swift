package import JSONText
internal import LiveActivityAPI

extension RegistrationMachine {
    // MARK: - What the app does itself

    /// Orders a card for the app. The server is told first, so that it does not start another one.
    ///
    /// - Returns: The number of the order. `nil` if a card of that activity is there or on its way, or if nobody is
    ///   signed in.
    package mutating func start(_ card: CardOrder, _ now: PhoneMoment) -> Int? {
        guard memory.user != nil else { return refuse(card, "nobody-signed-in") }
        // A new order replaces a postponed one, because the app wants the card now.
        orders.removeAll { $0.isPostponed && Self.isSame($0.card, card) }
        guard !isShown(card) else { return refuse(card, "already-there") }
        change { _ = $0.count() }
        let order = Order(
            number: memory.counter, card: card, isWish: false, stage: .asked(until: now.steady + limits.patience))
        orders.append(order)
        line.endPause()
        pump(now)
        return order.number
    }

    private mutating func refuse(_ card: CardOrder, _ reason: String) -> Int? {
        tell(PhoneNote(.activityNotStarted, type: card.type, activity: card.activity, detail: reason))
        return nil
    }

    private func isShown(_ card: CardOrder) -> Bool {
        self.card(of: card) != nil || orders.contains { Self.isSame($0.card, card) }
    }

    /// Returns ActivityKit's id of the running card that an order is for.
    package func card(of order: CardOrder) -> String? { card(of: order.activity, order.type) }

    /// Returns ActivityKit's id of the running card that shows an activity.
    func card(of activity: String?, _ type: String) -> String? {
        let running = memory.cards.filter {
            $0.value.isRunning && $0.value.type == type && Self.isSame($0.value.activity, activity)
        }
        return running.max { $0.value.number < $1.value.number }?.key
    }

    /// Returns `true` if an order's card may still be made without another action of the app.
    package func isUnderWay(_ order: Int) -> Bool { orders.contains { $0.number == order && $0.isUnderWay } }

    private static func isSame(_ one: CardOrder, _ other: CardOrder) -> Bool {
        one.type == other.type && isSame(one.activity, other.activity)
    }

    static func isSame(_ order: CardOrder, _ seen: SeenCard) -> Bool {
        order.type == seen.type && isSame(order.activity, seen.activity)
    }

    /// Returns `true` if a card is still to be made. The shell asks just before it makes the card, because the person
    /// may have left.
    package func isWanted(_ order: Int) -> Bool { orders.contains { $0.number == order } }

    /// Handles the card that was made for an order.
    package mutating func started(_ order: Int, _ seen: SeenCard, _ now: PhoneMoment) {
        guard let wanted = orders.first(where: { $0.number == order }) else { return discard(seen, now) }
        orders.removeAll { $0.number == order }
        lookAfterStart(wanted)
        // The server's id of the activity is kept, because the app's attributes may spell it differently.
        var seen = seen
        seen.activity = wanted.card.activity ?? seen.activity
        let timestamp = newerTimestamp(than: nil, now)
        // A card that was scheduled for a date in the past begins at once.
        let begins = wanted.card.schedule.map { max($0.at.milliseconds, time(now)) } ?? serverTime(now)
        let startedAt = begins.flatMap { Instant(milliseconds: $0) }
        if memory.cards[seen.localID] == nil {
            let seenAt = time(now)
            change { memory in
                let number = memory.count()
                memory.cards[seen.localID] = CardMemory(
                    type: seen.type, activity: seen.activity, attributes: seen.attributes, content: seen.content,
                    token: nil, channel: seen.channel, state: seen.state, number: number, seenAt: seenAt)
            }
        }
        change(seen.localID) { card in
            card.isOwn = true
            card.channel = seen.channel
            card.serversChannel = wanted.namedChannel
            card.startedAt = startedAt
            // iOS shows nothing older than the start, and a server's clock may be a second behind.
            card.lastTimestamp = timestamp
            card.version += 1
        }
        witnessed.insert(seen.localID)
        tell(PhoneNote(.activityStarted, type: seen.type, activity: seen.activity, localID: seen.localID))
        see(seen, now)
    }

    /// Looks at all cards again, because cards that might have been this order's were left alone meanwhile.
    private mutating func lookAfterStart(_ order: Order) {
        if order.card.channel != nil, order.stage == .starting { act(.look) }
    }

    /// Ends the card of a person who left while it was made. The sequence may already have reported it.
    private mutating func discard(_ seen: SeenCard, _ now: PhoneMoment) {
        if memory.cards[seen.localID] != nil { change { $0.owesInventory = true } }
        witnessed.remove(seen.localID)
        end(seen.localID, content: nil, .immediate, timestamp: nil)
        change { $0.bury(seen.localID) }
        line.endPause()
        pump(now)
    }

    /// Handles a failed start. If the server waits for the card, a call says that it was not made.
    ///
    /// - Parameter isHidden: `true` if the app is not on the screen. What the app ordered is then tried again when it
    ///   is back.
    package mutating func notStarted(_ order: Int, _ reason: String, isHidden: Bool = false, _ now: PhoneMoment) {
        guard let index = orders.firstIndex(where: { $0.number == order }) else { return }
        let failed = orders[index]
        lookAfterStart(failed)
        if failed.isAnnounced { withdrawals.append((order, failed.card)) }
        if isHidden, !failed.isWish {
            orders[index].stage = .postponed(until: now.steady + limits.orderLife)
            orders[index].isAnnounced = false
            tell(PhoneNote(.activityPostponed, type: failed.card.type, activity: failed.card.activity, detail: reason))
        } else {
            orders.remove(at: index)
            if let activity = failed.card.activity { failedWishes.insert(Self.canonical(activity)) }
            tell(PhoneNote(.activityNotStarted, type: failed.card.type, activity: failed.card.activity, detail: reason))
        }
        line.endPause()
        pump(now)
    }

    /// Begins postponed orders anew when the app is back on the screen, if they are not too old.
    mutating func resumePostponed(_ now: PhoneMoment) {
        for (index, order) in orders.enumerated().reversed() {
            guard case .postponed(let until) = order.stage else { continue }
            if now.steady < until {
                orders[index].stage = .asked(until: now.steady + limits.patience)
            } else {
                orders.remove(at: index)
                tell(
                    PhoneNote(
                        .activityNotStarted, type: order.card.type, activity: order.card.activity, detail: "too-late")
                )
            }
        }
    }

    /// Changes a card for the app. The server learns what the change was based on.
    ///
    /// - Returns: `false` if no such card runs.
    package mutating func update(
        _ localID: String, content: JSONObject, presentation: CardPresentation = .init(), _ now: PhoneMoment
    ) -> Bool {
        guard let card = memory.cards[localID], card.isRunning else { return false }
        // Several changes in a row are based on the server's state before the first.
        let last = card.changes.last
        let based = last.map { $0.ahead?.basedOn ?? $0.revision } ?? card.ahead?.basedOn ?? card.revision
        ask(
            localID, content, presentation, timestamp: newerTimestamp(than: card.newestTimestamp, now),
            revision: nil, ahead: CardMemory.LocalChange(basedOn: based, at: now.steady))
        line.endPause()
        pump(now)
        return true
    }

    /// Ends a card for the app.
    ///
    /// - Returns: `false` if no such card runs.
    package mutating func end(
        _ localID: String, content: JSONObject?, _ dismissal: CardDismissal, _ now: PhoneMoment
    ) -> Bool {
        guard let card = memory.cards[localID], card.isRunning else { return false }
        let timestamp = newerTimestamp(than: card.newestTimestamp, now)
        bidFarewell(localID, content: content, unlessPast(dismissal, now), timestamp: timestamp)
        close(localID) { $0.state = .ended }
        line.endPause()
        pump(now)
        return true
    }

    /// Counts that the person opened the app by a card.
    ///
    /// - Returns: `false` if no such card runs. An ended card has been reported for the last time.
    package mutating func opened(_ localID: String, _ now: PhoneMoment) -> Bool {
        guard let card = memory.cards[localID], card.isRunning else { return false }
        change(localID) { card in
            card.opens = min((card.opens ?? 0) + 1, InstanceRequest.maximumOpens)
            card.version += 1
        }
        tell(PhoneNote(.activityOpened, type: card.type, activity: card.activity, localID: localID))
        line.endPause()
        pump(now)
        return true
    }

    /// Returns a timestamp one second later than now and than any before. What was pushed within this second then
    /// counts as older.
    private func newerTimestamp(than last: Int?, _ now: PhoneMoment) -> Int? {
        serverSeconds(now).map { max($0 + 1, (last ?? 0) + 1) }
    }

    /// Asks iOS to show a content. Until iOS has returned, the card counts as holding its previous content.
    mutating func ask(
        _ localID: String, _ content: JSONObject, _ presentation: CardPresentation, timestamp: Int?, revision: Int?,
        ahead: CardMemory.LocalChange?
    ) {
        change { _ = $0.count() }
        let number = memory.counter
        underWay.insert(number)
        change(localID) { card in
            card.changes.append(
                CardMemory.Change(
                    number: number, held: card.content, content: content, staleAt: presentation.staleAt,
                    timestamp: timestamp, revision: revision, ahead: ahead))
            if card.changes.count > CardMemory.changeLimit { card.changes.removeFirst() }
        }
        act(.update(change: number, localID: localID, content: content, presentation, timestamp: timestamp))
    }

    // MARK: - Starts

    /// Makes the card of an order, unless the order is over.
    mutating func begin(_ number: Int, isConfirmed: Bool, _ now: PhoneMoment) {
        guard let index = orders.firstIndex(where: { $0.number == number }), orders[index].deadline != nil else {
            return
        }
        if orders[index].isWish, !isConfirmed {
            // The server wants this card and starts it by a push if the app does not.
            let order = orders.remove(at: index)
            if order.isAnnounced { withdrawals.append((number, order.card)) }
            return
        }
        orders[index].stage = .starting
        if !isConfirmed {
            let card = orders[index].card
            tell(PhoneNote(.activityStartedWithoutServer, type: card.type, activity: card.activity))
        }
        act(.start(order: number, orders[index].card))
    }

    /// Decides about an order after the server's answer to its announcement.
    mutating func decide(
        _ number: Int, sentAt: Int, _ desired: [DesiredStatesAnswer.DesiredState], _ now: PhoneMoment
    ) {
        guard let index = orders.firstIndex(where: { $0.number == number }), orders[index].deadline != nil else {
            return
        }
        let card = orders[index].card
        guard now.steady - sentAt < limits.announcementLease else {
            // The server may stop waiting before the card is there, so the order is announced again.
            orders[index].stage = .asked(until: now.steady + limits.patience)
            return
        }
        let wish = desired.first { $0.type == card.type && Self.isSame($0.activity, card.activity) }
        guard let wish else {
            // The answer does not contain the activity. An app's own order continues; a server's wish was withdrawn.
            if orders[index].isWish { orders.remove(at: index) } else { begin(number, isConfirmed: true, now) }
            return
        }
        guard wish.attributes != nil, wish.phase == "active" else {
            orders.remove(at: index)
            tell(PhoneNote(.activityLeftToServer, type: card.type, activity: card.activity, detail: wish.phase))
            return
        }
        // A channel of the app's own stays. One that an earlier answer named may be of an earlier run.
        let isOwnChannel = card.channel != nil && card.channel != orders[index].namedChannel
        orders[index].namedChannel = wish.channel
        if !isOwnChannel { orders[index].card.channel = wish.channel }
        begin(number, isConfirmed: true, now)
    }

    /// Returns `true` if a card or an order of the type does not name its activity. It may be the wanted one, which the
    /// server says once it knows of it.
    private func hasUnnamed(_ type: String) -> Bool {
        memory.cards.values.contains { $0.isRunning && $0.type == type && $0.activity == nil }
            || orders.contains { $0.card.type == type && $0.card.activity == nil }
    }

    /// Orders a card that the server wants on this phone. The app may make it only while it is on the screen.
    mutating func consider(_ wish: DesiredStatesAnswer.DesiredState, _ now: PhoneMoment) {
        guard isForeground, memory.facts.activitiesEnabled == true, rules[wish.type]?.startsCards == true,
            let card = CardOrder(wish), !failedWishes.contains(Self.canonical(wish.activity)),
            !hasUnnamed(wish.type), !isShown(card)
        else { return }
        change { _ = $0.count() }
        orders.append(
            Order(
                number: memory.counter, card: card, isWish: true,
                stage: .asked(until: now.steady + limits.announcementLease)))
    }
}
