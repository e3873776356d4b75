import APNSModel
import JSONText
import LiveActivityCore
package import TestSupport

// Effects of events.
extension Situation {
    /// Plays one event that `events()` offers.
    ///
    /// - Parameter cells: Counts the transition of the server's record of the card.
    /// - Returns: A promise that this event breaks, or `nil` if every promise holds.
    package mutating func play(_ event: Event, _ cells: inout Cells) -> Violation? {
        switch event {
        case .put(let withAlert): put(withAlert: withAlert, &cells)
        case .end:
            backend.ends += 1
            commit(
                EndActivity(
                    app: Kind.app, id: Self.activityID, state: nil, alert: nil, dismissal: .systemDefault, now: now),
                &cells
            ) { _ in .ended }
        case .leave:
            backend.leaves += 1
            changeAudience(.change(add: [], remove: [Self.user]), .left, &cells)
        case .join: changeAudience(.change(add: [Self.user], remove: []), .joined, &cells)
        case .report(let number, let travel):
            guard let index = card(number) else { break }
            return call(.report(listed(phone.cards[index])), travel, &cells)
        case .reportOver(let number, let travel):
            guard let index = card(number) else { break }
            phone.cards[index].isReported = true
            return call(.over(number, dismissed: phone.cards[index].end == .swiped), travel, &cells)
        case .inventory(let travel):
            return call(.inventory(phone.cards.filter { !$0.isOver }.map(listed)), travel, &cells)
        case .request(let travel):
            phone.requests += 1
            return call(.request, travel, &cells)
        case .withdraw(let travel):
            phone.withdrawals += 1
            return call(.withdraw, travel, &cells)
        case .startItself: startItself()
        case .giveToken(let number):
            guard let index = card(number) else { break }
            phone.cards[index].tokens += 1
            phone.cards[index].tokenEndedAt = now
        case .swipe(let number): close(number, .swiped)
        case .callArrives(let place): return take(calls.remove(at: Int(place)), &cells)
        case .claim(let fate):
            let count = process.held.count
            if let violation = claim(&cells) { return violation }
            if let fate, process.held.count > count { return send(count, fate) }
        case .claimAndDie:
            defer { die() }
            return claim(&cells)
        case .await(let place): awaitAnswer(Int(place), &cells)
        case .settle(let place): return settle(Int(place), &cells)
        case .die: die()
        case .pushArrives(let place): return arrive(pushes.remove(at: Int(place)))
        case .pass(let pause): pass(duration(of: pause) ?? .zero)
        }
        return nil
    }

    // MARK: - Commits

    @discardableResult
    mutating func commit<C: Command>(
        _ command: C, _ cells: inout Cells, _ deed: ((CardMachine?) -> Deed)? = nil
    ) -> Result<C.Reply, Refusal> {
        let before = instance
        var store = ModelStore(rows: rows)
        let result = store.run(command)
        rows = store.rows
        if let deed { cells.note(before, [deed(instance)], instance) }
        return result
    }

    private mutating func put(withAlert: Bool, _ cells: inout Cells) {
        guard let type = Kind.types[kind] else { return }
        let step = Int(activity?.revision ?? 0) + 1
        var body = SetDesiredState.Body(state: Self.state(step))
        if backend.puts == 0 {
            body.users = [Self.user]
            body.attributes = ["name": "a"]
        }
        body.reopen = true
        if withAlert {
            backend.alerts += 1
            body.alert = SetDesiredState.AlertWish(Sample.alert)
            body.alert?.id = "alert \(step)"
        }
        backend.puts += 1
        commit(
            SetDesiredState(app: Sample.bundleID, id: Self.activityID, type: type, body: body, now: now), &cells
        ) { _ in .set }
    }

    private mutating func changeAudience(_ change: ChangeAudience.Change, _ deed: Deed, _ cells: inout Cells) {
        commit(ChangeAudience(app: Sample.bundleID, id: Self.activityID, change: change, now: now), &cells) { _ in deed
        }
    }

    // MARK: - The app

    private func listed(_ card: Card) -> Call.Listed {
        .init(card: card.number, step: card.step, token: card.tokens)
    }

    private mutating func call(_ what: Call.What, _ travel: Event.Travel, _ cells: inout Cells) -> Violation? {
        phone.sequence += 1
        let call = Call(what: what, sequence: phone.sequence, madeAt: now)
        if travel != .atOnce { calls.append(call) }
        return travel == .late ? nil : take(call, &cells)
    }

    /// Starts a card in the app. It shows a state that nobody sent.
    private mutating func startItself() {
        var card = Card(
            number: UInt8(phone.cards.count + 1), run: activity?.run ?? 1, step: 0, revision: 0, timestamp: 0,
            appearedAt: now)
        card.isApps = true
        phone.cards.append(card)
    }

    mutating func close(_ number: UInt8, _ end: Card.End) {
        guard let index = card(number), !phone.cards[index].isOver else { return }
        phone.cards[index].end = end
        phone.cards[index].tokenEndedAt = now
    }

    /// Delivers a call to the server.
    mutating func take(_ call: Call, _ cells: inout Cells) -> Violation? {
        guard let type = Kind.types[kind] else { return nil }
        switch call.what {
        case .report(let listed):
            let isOvertaken = isOvertaken(call, listed.card)
            let report = report(listed, type, call.sequence)
            let command = ReportCard(app: Kind.app, device: Self.device, report: report, now: now)
            let local = Self.local(listed.card)
            guard case .success = commit(command, &cells, { .reported(ofCard: $0?.localID == local) }) else {
                return nil
            }
            noteShown(listed.card, call.sequence)
            if !isOvertaken { name(listed) }
        case .over(let number, let dismissed):
            var report = CardReport(localID: Self.local(number), type: type, state: dismissed ? .dismissed : .ended)
            report.activity = Self.activityID
            report.sequence = call.sequence
            let command = ReportCard(app: Kind.app, device: Self.device, report: report, now: now)
            let local = Self.local(number)
            commit(command, &cells) { .reportedOver(ofCard: $0?.localID == local) }
        case .inventory(let all):
            let isOld = call.sequence <= rows.devices[Self.deviceKey]?.inventorySequence ?? 0
            let named = isOld ? [] : all.filter { !isShownSince(call, $0.card) }
            let command = ReportInventory(
                app: Kind.app, device: Self.device, sequence: call.sequence,
                reports: all.map { report($0, type, nil) }, now: now)
            let locals = Set(all.map { Self.local($0.card) })
            let deed = { (card: CardMachine?) -> Deed in
                card?.localID.map(locals.contains) ?? false ? .listed : .notListed
            }
            guard case .success = commit(command, &cells, isOld ? nil : deed), !isOld else { return nil }
            for listed in all { noteShown(listed.card, call.sequence) }
            for listed in named { name(listed) }
        case .request:
            var word = CardReport(localID: Sample.local("soon"), type: type, state: .requesting)
            word.activity = Self.activityID
            commit(ReportCard(app: Kind.app, device: Self.device, report: word, now: now), &cells) { _ in .requested }
        case .withdraw:
            var word = CardReport(localID: Sample.local("soon"), type: type, state: .notStarted)
            word.activity = Self.activityID
            word.sequence = call.sequence
            let isOld = call.sequence < rows.devices[Self.deviceKey]?.reportSequence ?? 0
            commit(
                ReportCard(app: Kind.app, device: Self.device, report: word, now: now), &cells,
                isOld ? nil : { _ in .withdrawn })
        }
        return nil
    }

    private func report(_ listed: Call.Listed, _ type: ActivityType, _ sequence: Int64?) -> CardReport {
        var report = CardReport(localID: Self.local(listed.card), type: type, state: .active)
        report.activity = Self.activityID
        report.token = Self.token(listed.card, listed.token)
        report.contentState = Self.state(listed.step)
        report.sequence = sequence
        return report
    }

    private mutating func noteShown(_ card: UInt8, _ sequence: Int64) {
        seen.shownIn[card] = max(seen.shownIn[card] ?? 0, sequence)
    }

    /// Returns `true` if the server has taken a newer report that shows the card, or a newer inventory.
    private func isOvertaken(_ call: Call, _ card: UInt8) -> Bool {
        call.sequence < rows.devices[Self.deviceKey]?.inventorySequence ?? 0 || isShownSince(call, card)
    }

    private func isShownSince(_ call: Call, _ card: UInt8) -> Bool {
        let isOver = rows.tombstones[.init(Self.deviceKey, Self.local(card))] != nil
        let newest = isOver ? rows.devices[Self.deviceKey]?.reportSequence : seen.shownIn[card]
        return newest.map { call.sequence < $0 } ?? false
    }

    /// Records a token that the server now knows. The previous token must not be used any more.
    private mutating func name(_ listed: Call.Listed) {
        guard listed.token > 0 else { return }
        let token = Seen.Token(card: listed.card, version: listed.token)
        guard !seen.dead.contains(token) else { return }
        if let place = seen.named.firstIndex(where: { $0.card == listed.card }) {
            guard seen.named[place] != token else { return }
            bury(seen.named[place])
            seen.named[place] = token
        } else {
            seen.named.append(token)
        }
    }

    mutating func bury(_ token: Seen.Token) {
        if !seen.dead.contains(token) { seen.dead.append(token) }
    }

    // MARK: - Time

    mutating func pass(_ duration: Duration) {
        now = now + duration
        for card in phone.cards where !card.isOver && card.appearedAt + Reconciler.activityLifetime <= now {
            close(card.number, .bySystem)
        }
        calls.removeAll { $0.madeAt + Self.callTravel < now }
        pushes.removeAll { $0.expiresAt < now }
    }

    // MARK: - Content

    private static let states = (0..<64).map { Sample.state($0) }
    static func state(_ step: Int) -> JSONObject { states[step] }
    static func step(of content: ContentRecord) -> Int {
        (try? JSONValue(parsing: content.state.bytes))?.object?["step"]?.int ?? 0
    }
}
