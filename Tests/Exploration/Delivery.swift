import APNSModel
import LiveActivityCore
import TestSupport

// The process's work, APNs, and the effect of a push on the phone.
extension Situation {
    mutating func claim(_ cells: inout Cells) -> Violation? {
        process.isNew = false
        let before = instance
        let command = ClaimWork(now: now, node: process.node, apps: [Sample.bundleID: Kind.app], seed: 1)
        guard case .success(let reply) = commit(command, &cells) else { return nil }
        let rescued: [Deed] = reply.rescued > 0 ? [.rescued] : []
        let claimed = reply.flights.map { Deed.claimed($0.seats[0].plan.kind, $0.seats[0].plan.part) }
        cells.note(before, rescued + claimed, instance)
        for flight in reply.flights {
            let held = Held(flight: flight, step: Self.step(of: flight.content))
            process.held.append(held)
            if let violation = judge(held.seat, flight) { return violation }
        }
        return nil
    }

    /// Replaces the process with another one, which knows only the committed rows.
    mutating func die() {
        process.held = []
        process.node += 1
        process.isNew = true
    }

    // MARK: - Sending

    mutating func send(_ place: Int, _ fate: Event.Fate) -> Violation? {
        let held = process.held[place]
        process.held[place].stage = .sent(fate)
        let plan = held.seat.plan
        let isTaken = fate == .taken || fate == .takenAndLost
        if plan.kind == .start {
            if isTaken { pushes.append(push(held, to: nil)) }
            return nil
        }
        guard let (index, isDead, since) = destination(of: held) else { return nil }
        if fate == .tokenDead { process.held[place].inactiveSince = since }
        if plan.kind == .end, fate == .taken || fate == .tokenDead { phone.cards[index].isEndAnswered = true }
        guard isTaken, !isDead else { return nil }
        pushes.append(push(held, to: phone.cards[index].number))
        return stamp(held, phone.cards[index].number)
    }

    /// Checks that no two states share a timestamp. iOS ignores a push whose timestamp is not newer than the last.
    private mutating func stamp(_ held: Held, _ card: UInt8) -> Violation? {
        let new = Seen.Stamp(timestamp: held.seat.timestamp, revision: held.seat.plan.revision)
        if let old = seen.stamps[card], old.timestamp >= new.timestamp {
            guard old.revision != new.revision else { return nil }
            return Violation(
                rule: .newestArrives,
                text: "r\(new.revision) goes to card \(card) with a timestamp that is not newer than that of "
                    + "r\(old.revision)")
        }
        seen.stamps[card] = new
        return nil
    }

    private func push(_ held: Held, to card: UInt8?) -> Push {
        let plan = held.seat.plan
        return Push(
            kind: plan.kind, isSuccessor: plan.part == .successor, card: card, run: held.flight.desired.activity.run,
            step: held.step, revision: plan.revision, alert: plan.alertRevision, timestamp: held.seat.timestamp,
            expiresAt: plan.expiresAt)
    }

    // MARK: - Settling

    private static let answerWithin = Duration.seconds(17)

    mutating func awaitAnswer(_ place: Int, _ cells: inout Cells) {
        guard case .sent(let fate) = process.held[place].stage else { return }
        let until = max(now, process.held[place].flight.record.claimedAt) + Self.answerWithin
        settle(process.held[place], .awaited(until: until), nil, .awaited, &cells)
        process.held[place].stage = .awaited(fate, until: until)
    }

    mutating func settle(_ place: Int, _ cells: inout Cells) -> Violation? {
        let held = process.held.remove(at: place)
        let (fate, awaited): (Event.Fate, UnixTime?) =
            switch held.stage {
            case .sent(let fate): (fate, nil)
            case .awaited(let fate, let until): (fate, until)
            }
        let before = rows
        settle(
            held, .answered(Self.result(fate, held.inactiveSince)), awaited,
            .settled(held.seat.plan.kind, held.seat.plan.part, fate), &cells)
        return judge(held, fate, before: before)
    }

    private mutating func settle(
        _ held: Held, _ outcome: SettleFlight.Outcome, _ awaitedUntil: UnixTime?, _ deed: Deed, _ cells: inout Cells
    ) {
        let entry = SettleFlight.Entry(seat: held.seat, outcome: outcome, dice: 0.5, awaitedUntil: awaitedUntil)
        commit(SettleFlight(flight: held.flight, entries: [entry], app: Kind.app, now: now), &cells) { _ in deed }
    }

    private static func result(
        _ fate: Event.Fate, _ inactiveSince: UnixTime?
    ) -> Result<PushAnswer, PushFailure> {
        switch fate {
        case .taken: .success(PushAnswer(status: 200))
        case .takenAndLost, .lost: .failure(PushFailure(.unknownFate, "connection lost"))
        case .tokenDead:
            .success(PushAnswer(status: 410, reason: .known(.expiredToken), inactiveSince: inactiveSince))
        case .slowDown: .success(PushAnswer(status: 429, reason: .known(.tooManyRequests)))
        case .serviceTrouble: .success(PushAnswer(status: 503, reason: .known(.serviceUnavailable)))
        case .refused: .success(PushAnswer(status: 400, reason: .known(.badMessageId)))
        case .notSent: .failure(PushFailure(.notSentInTime, "it waited too long"))
        }
    }

    // MARK: - The phone

    /// Applies a push on the phone as iOS does: by its timestamp.
    mutating func arrive(_ push: Push) -> Violation? {
        guard let number = push.card else { return appear(push) }
        guard let index = card(number), !phone.cards[index].isOver else { return nil }
        // iOS ignores a push that is not newer.
        guard push.timestamp > phone.cards[index].timestamp else { return nil }
        let before = phone.cards[index].revision
        phone.cards[index].timestamp = push.timestamp
        phone.cards[index].step = push.step
        phone.cards[index].revision = push.revision
        if push.kind == .end { close(number, .byPush) }
        if push.revision < before {
            return Violation(
                rule: .newestArrives, text: "card \(number) goes back from r\(before) to r\(push.revision)")
        }
        return ring(push)
    }

    private mutating func appear(_ push: Push) -> Violation? {
        let others = phone.cards.filter { other in
            other.run == push.run && !other.isOver && !other.isSuccessor && !other.isEndAnswered && !other.isApps
        }
        let number = UInt8(phone.cards.count + 1)
        var card = Card(
            number: number, run: push.run, step: push.step, revision: push.revision, timestamp: push.timestamp,
            appearedAt: now)
        card.isSuccessor = push.isSuccessor
        phone.cards.append(card)
        if !push.isSuccessor, let other = others.first {
            return Violation(rule: .noSecondCard, text: "card \(number) appears beside card \(other.number)")
        }
        return ring(push)
    }

    private mutating func ring(_ push: Push) -> Violation? {
        guard push.alert > 0 else { return nil }
        if seen.rung.contains(push.alert) {
            return Violation(rule: .alertsOnce, text: "the alert of r\(push.alert) rings twice")
        }
        seen.rung.append(push.alert)
        return nil
    }
}
