import APNSModel
import LiveActivityCore
import TestSupport

extension History {
    /// The dispatcher: settles what is answered and claims what is due.
    mutating func tick() {
        for index in inFlight.indices.reversed() where inFlight[index].settleAt <= scene.now {
            let done = inFlight.remove(at: index)
            let reply = try? scene.run(
                SettleFlight(flight: done.flight, entries: done.entries, app: scene.app, now: scene.now))
            note("settles \(done.entries.count): \(reply.map { "\($0)" } ?? "failed")")
            late += done.stragglers.map { ($0.at, done.flight, $0.entry) }
        }
        for index in late.indices.reversed() where late[index].at <= scene.now {
            let one = late.remove(at: index)
            _ = try? scene.run(
                SettleFlight(flight: one.flight, entries: [one.entry], app: scene.app, now: scene.now))
            note("settles a straggler of \(one.entry.seat.phone.device.id)")
        }
        for _ in 0..<20 {
            guard let reply = try? scene.claim() else { return }
            for flight in reply.flights { launch(flight) }
            if reply.flights.isEmpty && !reply.hasMore { return }
        }
    }

    /// The process is killed: some of what it claimed has left, nothing of it is settled.
    mutating func crash() {
        guard !inFlight.isEmpty || !late.isEmpty || dice.chance(20) else { return }
        note("CRASH with \(inFlight.count) flights open")
        for one in inFlight { for entry in one.entries { doubt(entry.seat, one.flight) } }
        inFlight = []
        late = []
        scene.node += 1
    }

    private mutating func launch(_ flight: Flight) {
        let step = Self.step(of: flight.content)
        var open = InFlight(flight: flight, settleAt: scene.now, entries: [], stragglers: [])
        for seat in flight.seats {
            checkClaim(seat, flight)
            let outcome = answer(seat, flight, step)
            let entry = SettleFlight.Entry(seat: seat, outcome: outcome.0, dice: dice.fraction())
            if let later = outcome.later {
                let until = scene.now + .seconds(20)
                open.entries.append(.init(seat: seat, outcome: .awaited(until: until), dice: 0.5))
                if case .answered = entry.outcome, later {
                    open.stragglers.append((scene.now + .milliseconds(Int64(dice.roll(19_000))), entry))
                }
            } else {
                open.entries.append(entry)
            }
        }
        open.settleAt = scene.now + .milliseconds(Int64(dice.pick([0, 0, 5, 400, 1500])))
        inFlight.append(open)
        let seats = flight.seats.map { seat in
            let alert = seat.plan.carriesAlert ? " ALERT" : ""
            return "\(seat.plan.kind.name) r\(seat.plan.revision) p\(seat.plan.priority.rawValue) "
                + "to \(seat.phone.device.id) ts \(seat.timestamp)\(alert)"
        }
        note("claims \(seats)")
    }

    private mutating func checkClaim(_ seat: Flight.Seat, _ flight: Flight) {
        pushes += 1
        let device = seat.phone.device.key
        let key = Snapshot.PhoneKey(flight.desired.activity.number, device)
        let token: TokenValue?
        switch seat.plan.kind {
        case .start:
            token = scene.store.rows.deviceTokens[.init(device, .pushToStart, flight.desired.activity.type)]?.value
        case .update, .end: token = scene.store.rows.updateTokens[key]?.value
        }
        let used = seat.plan.kind == .start ? seat.phone.pushToStartToken?.value : seat.phone.updateToken?.value
        if let used, scene.store.rows.owners[.init(Sample.bundleID, used)]?.deadAt != nil {
            violate("3: claimed for a dead token")
        }
        if used == nil || used != token { violate("3: claimed for a replaced token") }
        if seat.timestamp > scene.now.seconds + 3600 { violate("timestamp over an hour ahead") }
        do {
            if try flight.request(of: seat) == nil { violate("no request for a seat") }
        } catch { violate("payload of a seat cannot be built: \(error)") }
    }

    private static func alertKey(_ seat: Flight.Seat) -> String {
        "\(seat.phone.instance.activity) \(seat.phone.device.id) \(seat.plan.alertRevision)"
    }

    /// Nobody learns whether the push arrived: the alert may be given once more where it says so.
    private mutating func doubt(_ seat: Flight.Seat, _ flight: Flight) {
        guard seat.plan.carriesAlert, flight.desired.activity.alert?.onUnknown == .repeat else { return }
        doubtfulAlerts[Self.alertKey(seat), default: 0] += 1
    }

    private mutating func answer(
        _ seat: Flight.Seat, _ flight: Flight, _ step: Int
    ) -> (SettleFlight.Outcome, later: Bool?) {
        let value = seat.plan.kind == .start ? seat.phone.pushToStartToken?.value : seat.phone.updateToken?.value
        if let value, invalid.contains(where: { tokenValues($0).contains(value) }) {
            return (
                .answered(
                    .success(PushAnswer(status: 410, reason: APNSReason("ExpiredToken"), inactiveSince: scene.now))),
                nil
            )
        }
        guard !isHealthy else {
            take(seat, step)
            return (.answered(.success(PushAnswer(status: 200))), nil)
        }
        switch dice.roll(100) {
        case 0..<8: return (.answered(.success(PushAnswer(status: 429, reason: APNSReason("TooManyRequests")))), nil)
        case 8..<13:
            return (.answered(.success(PushAnswer(status: 503, reason: APNSReason("ServiceUnavailable")))), nil)
        case 13..<15: return (.answered(.failure(PushFailure(.cannotConnect, "refused"))), nil)
        case 15..<17: return (.answered(.failure(PushFailure(.notSentInTime, "late"))), nil)
        case 17..<22:
            doubt(seat, flight)
            if dice.chance(50) { take(seat, step) }
            return (.answered(.failure(PushFailure(.unknownFate, "connection lost"))), nil)
        case 22..<28:
            // The answer comes after the flight was settled, or never.
            doubt(seat, flight)
            let arrives = dice.chance(70)
            if arrives { take(seat, step) }
            return (.answered(.success(PushAnswer(status: arrives ? 200 : 503))), dice.chance(70))
        default:
            take(seat, step)
            return (.answered(.success(PushAnswer(status: 200))), nil)
        }
    }

    func tokenValues(_ word: String) -> [TokenValue] {
        [TokenValue(Sample.token(word, as: UpdateTokenKind.self))]
    }

    // MARK: - The device's side

    private mutating func take(_ seat: Flight.Seat, _ step: Int) {
        guard let index = phones.firstIndex(where: { $0.key == seat.phone.device.key }) else { return }
        phones[index].stored.append((seat, step))
        if phones[index].isOnline { catchUp(index) }
    }

    mutating func catchUp(_ index: Int) {
        let stored = phones[index].stored
        phones[index].stored = []
        // Best effort, and out of order at times.
        // A card whose end APNs took is over for all that anybody can know, though a later start may overtake that end.
        let ends = Set(stored.filter { $0.seat.plan.kind == .end }.compactMap { $0.seat.phone.updateToken?.value })
        for (seat, step) in dice.chance(20) ? stored.reversed() : stored { apply(seat, step, index, ends) }
    }

    private mutating func apply(_ seat: Flight.Seat, _ step: Int, _ index: Int, _ ends: Set<TokenValue>) {
        let id = Self.activities.first { (try? scene.activity($0))?.number == seat.phone.instance.activity } ?? "?"
        if seat.plan.carriesAlert {
            let key = Self.alertKey(seat)
            let count = deliveredAlerts[key, default: 0] + 1
            deliveredAlerts[key] = count
            repeatedAlerts += count > 1 ? 1 : 0
            if count > 1 + doubtfulAlerts[key, default: 0] {
                violate("6: alert \(seat.plan.alertRevision) of \(id) \(count) times on \(phones[index].name)")
            }
        }
        guard seat.plan.kind != .start else {
            guard seat.plan.expiresAt >= scene.now else { return note("\(phones[index].name): the start has expired") }
            let run = seat.phone.instance.run
            let shown = phones[index].cards.filter { $0.activity == id && $0.run == run && !$0.isOver }
            if shown.contains(where: { card in !(card.token.map { ends.isSuperset(of: tokenValues($0)) } ?? false) }) {
                violate("2: a second card of \(id) run \(run) on \(phones[index].name)")
            }
            cardsMade += 1
            phones[index].cards.append(
                Card(
                    id: "card-\(cardsMade)", activity: id, run: run, step: step, timestamp: seat.timestamp, token: nil,
                    startedAt: scene.now, tellsStart: dice.chance(50)))
            return note("\(phones[index].name): card-\(cardsMade) of \(id) appears")
        }
        guard
            let card = phones[index].cards.firstIndex(where: {
                $0.token.map { tokenValues($0).first == seat.phone.updateToken?.value } ?? false
            }), !phones[index].cards[card].isOver
        else { return }
        let held = phones[index].cards[card].timestamp
        if let last = lastTimestamps["\(phones[index].cards[card].id) \(seat.timestamp)"], last != seat.plan.revision {
            violate("one timestamp for two revisions on \(phones[index].cards[card].id)")
        }
        lastTimestamps["\(phones[index].cards[card].id) \(seat.timestamp)"] = seat.plan.revision
        guard seat.timestamp > held else { return note("\(phones[index].name): ignored as older") }
        phones[index].cards[card].timestamp = seat.timestamp
        phones[index].cards[card].step = step
        note("\(phones[index].name): \(phones[index].cards[card].id) shows step \(step)")
        if seat.plan.kind == .end { close(index, card) }
    }
}
