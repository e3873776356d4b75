import APNSModel
import LiveActivityCore
package import TestSupport

// Promise 1: the phone shows the newest state once faults have stopped.
extension Situation {
    /// Delivers everything, lets 80 minutes pass without faults, and checks the phone.
    ///
    /// - Returns: A broken promise, or `nil` if every promise holds.
    package func atRest() -> Violation? {
        var calm = self
        return calm.rest()
    }

    private mutating func rest() -> Violation? {
        var cells = Cells()
        if let violation = finish(&cells) { return violation }
        for round in 0..<Self.rounds {
            if let violation = report(&cells) ?? work(for: round == 0 ? .seconds(150) : .seconds(1200), &cells) {
                return violation
            }
        }
        return report(&cells) ?? look()
    }

    /// Rounds that take 80 minutes: past a start's end, APNs's 15 minutes, and the first repeat of an end.
    private static let rounds = 5

    /// Delivers every answer, call and push that is on its way, in order.
    private mutating func finish(_ cells: inout Cells) -> Violation? {
        while !process.held.isEmpty {
            if let violation = settle(0, &cells) { return violation }
        }
        for call in calls {
            if let violation = take(call, &cells) { return violation }
        }
        calls = []
        return deliver()
    }

    private func fate(of place: Int) -> Event.Fate {
        destination(of: process.held[place])?.isDead ?? false ? .tokenDead : .taken
    }

    private mutating func deliver() -> Violation? {
        while !pushes.isEmpty {
            if let violation = arrive(pushes.removeFirst()) { return violation }
        }
        return nil
    }

    /// Opens the app: each card has a token, and the app reports all of them.
    private mutating func report(_ cells: inout Cells) -> Violation? {
        for index in phone.cards.indices where !phone.cards[index].isOver && phone.cards[index].tokens == 0 {
            phone.cards[index].tokens = 1
        }
        phone.sequence += 1
        let listed = phone.cards.filter { !$0.isOver }.map {
            Call.Listed(card: $0.number, step: $0.step, token: $0.tokens)
        }
        return take(Call(what: .inventory(listed), sequence: phone.sequence, madeAt: now), &cells)
    }

    /// Does all work that becomes due within this time. APNs takes every push.
    private mutating func work(for duration: Duration, _ cells: inout Cells) -> Violation? {
        let end = now + duration
        for _ in 0..<Self.mostClaims {
            guard process.isNew || nextWorkAt.map({ $0 <= now }) ?? false else {
                guard let next = nextWorkAt, next <= end else {
                    pass(end - now)
                    return nil
                }
                pass(next - now)
                continue
            }
            if let violation = claim(&cells) { return violation }
            while !process.held.isEmpty {
                let isTooMany = phone.cards.count >= Self.mostCards && process.held[0].seat.plan.kind == .start
                if let violation = send(0, isTooMany ? .lost : fate(of: 0)) ?? deliver() ?? settle(0, &cells) {
                    return violation
                }
            }
        }
        return Violation(rule: .newestArrives, text: "work is due without end")
    }

    private static let mostClaims = 200

    // MARK: - The phone's screen

    private func look() -> Violation? {
        guard let activity, activity.phase != .announced else { return nil }
        let open = phone.cards.filter { !$0.isOver }
        func broken(_ text: String) -> Violation {
            Violation(rule: .newestArrives, text: "\(text): \(instance.map(Self.words) ?? "no row")")
        }
        guard let instance else {
            return open.first.map { broken("card \($0.number) is there, of which nothing is known") }
        }
        // A push that APNs refuses because of our own fault is not repeated.
        if instance.revisions.parked >= activity.revision { return nil }
        let reaches = updateToken.map { $0.deadAt == nil } ?? false
        guard activity.phase == .active, instance.isWanted else {
            guard let card = open.first, reaches || instance.state == .live || instance.state.isTombstone else {
                return nil
            }
            return broken("card \(card.number) should be over")
        }
        guard instance.run == activity.run else {
            return open.isEmpty ? nil : broken("a card of an earlier run is still there")
        }
        if instance.state == .live, reaches, instance.heldRevision < activity.revision {
            return broken("r\(activity.revision) was not sent")
        }
        let newest = rows.contents[activity.number].map(Self.step) ?? 0
        for card in open where card.step != newest {
            if instance.revisions.contradictions >= Reconciler.maximumContradictions { continue }
            // A card that a renewal replaced is ended once. After that iOS ends it.
            if kind.renews, instance.localID != Self.local(card.number) { continue }
            return broken("card \(card.number) shows step \(card.step) instead of \(newest)")
        }
        return open.isEmpty ? missing(instance, activity).map(broken) : nil
    }

    /// Returns the fault in words, if nothing explains the missing card.
    private func missing(_ instance: CardMachine, _ activity: ActivityRecord) -> String? {
        switch instance.state {
        case .live, .ending: return "no card is there"
        case .starting: return "its start is never settled"
        case .dismissed, .ended, .gone, .requesting: return nil
        case .unconfirmed:
            guard let expires = instance.startExpiresAt, expires + .seconds(1200) < now else { return nil }
            return "a start that failed is not noticed"
        case .absent:
            switch decision(instance, activity) {
            case .send: return phone.cards.count < Self.mostCards ? "a start is due and is not sent" : nil
            case .nothing(let reason) where reason.code != .fellBack && reason.code != .parked:
                return "no card, for \(reason.code.rawValue)"
            case .nothing, .wait, .fallBack, nil: return nil
            }
        }
    }

    private func decision(_ instance: CardMachine, _ activity: ActivityRecord) -> Decision? {
        guard let type = Kind.types[kind], let content = rows.contents[activity.number] else { return nil }
        let part = ModelStore(rows: rows).load([.phones(activity.number, devices: [Self.deviceKey])])
        let phone = Draft(part).phone(.init(activity.number, Self.deviceKey), type: activity.type)
        return phone.map { Reconciler.decide(DesiredSituation(activity, type, content), $0, now: now) }
    }

    private static func words(_ instance: CardMachine) -> String {
        "\(instance.state.name) run \(instance.run) sent r\(instance.sentRevision) shown r\(instance.shownRevision) "
            + "ts \(instance.timestamp) card \(instance.localID?.text ?? "-") tries \(instance.attempts.tries) "
            + "last \(instance.last?.reason.code.rawValue ?? "-") lookAt \(instance.lookAt?.description ?? "-") "
            + "dueAt \(instance.attempts.dueAt?.description ?? "-")"
    }
}
