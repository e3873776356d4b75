import APNSModel
import LiveActivityCore

// Events that can come next.
extension Situation {
    /// Limits that keep the search finite. Each kind of event stays possible.
    private enum Most {
        static let puts = 3
        static let alerts = 1
        static let ends = 2
        static let leaves = 1
        static let held = 2
        static let requests = 1
        static let pushes = 3
    }

    /// Number of calls that may be late at the same time.
    private var mostCalls: Int { focus == .reports ? 2 : 1 }
    /// Longest time that the network holds back a call.
    static let callTravel = Duration.seconds(120)

    /// Every event that can come next, in a fixed order.
    package func events() -> [Event] {
        var events: [Event] = []
        addBackend(&events)
        addPhone(&events)
        addProcess(&events)
        for index in pushes.indices { events.append(.pushArrives(UInt8(index))) }
        for pause in Event.Pause.allCases where duration(of: pause) != nil { events.append(.pass(pause)) }
        return events
    }

    private func addBackend(_ events: inout [Event]) {
        if backend.puts < Most.puts {
            events.append(.put(withAlert: false))
            if backend.alerts < Most.alerts { events.append(.put(withAlert: true)) }
        }
        guard activity?.phase == .active, focus != .reports else { return }
        if backend.ends < Most.ends { events.append(.end) }
        guard focus != .delivery else { return }
        if !isInAudience { events.append(.join) } else if backend.leaves < Most.leaves { events.append(.leave) }
    }

    private func addPhone(_ events: inout [Event]) {
        for card in phone.cards {
            if card.isOver {
                if !card.isReported { addCall(&events) { .reportOver(card: card.number, $0) } }
                continue
            }
            addCall(&events) { .report(card: card.number, $0) }
            if card.tokens < Self.mostTokens, focus != .delivery || card.tokens == 0 {
                events.append(.giveToken(card: card.number))
            }
            if focus != .delivery { events.append(.swipe(card: card.number)) }
        }
        if instance != nil { addCall(&events) { .inventory($0) } }
        if phone.requests < Most.requests, activity?.phase == .active, focus == .everything || focus == .lives {
            addCall(&events) { .request($0) }
        }
        if phone.withdrawals < phone.requests, !phone.cards.contains(where: \.isApps) {
            addCall(&events) { .withdraw($0) }
        }
        if case .requesting(let request) = instance?.life, now < request.until, phone.withdrawals == 0,
            phone.cards.allSatisfy(\.isOver), phone.cards.count < Self.mostCards
        {
            events.append(.startItself)
        }
        for index in calls.indices { events.append(.callArrives(UInt8(index))) }
    }

    private func addCall(_ events: inout [Event], _ call: (Event.Travel) -> Event) {
        events.append(call(.atOnce))
        guard calls.count < mostCalls, focus == .everything || focus == .reports else { return }
        events.append(call(.twice))
        events.append(call(.late))
    }

    private func addProcess(_ events: inout [Event]) {
        if process.held.count < Most.held, process.isNew || nextWorkAt.map({ $0 <= now }) ?? false {
            addClaim(&events)
        }
        for (index, held) in process.held.enumerated() {
            events.append(.settle(UInt8(index)))
            if case .sent = held.stage, focus != .reports { events.append(.await(UInt8(index))) }
        }
        if !process.held.isEmpty, focus != .reports { events.append(.die) }
    }

    /// Adds the events of a claim. A claimed push leaves at once.
    ///
    /// Sending reads no rows. An event between claim and sending therefore has the effect that it has before the
    /// claim or after the sending.
    private func addClaim(_ events: inout [Event]) {
        var (trial, cells) = (self, Cells())
        _ = trial.claim(&cells)
        guard trial.process.held.count > process.held.count, let held = trial.process.held.last else {
            events.append(.claim(nil))
            return
        }
        for fate in Event.Fate.allCases where canHave(fate, held) { events.append(.claim(fate)) }
        if focus != .reports { events.append(.claimAndDie) }
    }

    private func canHave(_ fate: Event.Fate, _ held: Held) -> Bool {
        switch fate {
        case .tokenDead: return destination(of: held)?.isDead ?? false
        case .taken, .takenAndLost:
            return pushes.count < Most.pushes
                && (held.seat.plan.kind != .start || phone.cards.count < Self.mostCards)
        case .lost: return true
        case .slowDown, .serviceTrouble, .refused, .notSent: return focus == .everything || focus == .delivery
        }
    }

    /// Returns the card whose token a push goes to, and whether that token is dead. Returns `nil` for a start.
    func destination(of held: Held) -> (index: Int, isDead: Bool, since: UnixTime?)? {
        guard held.seat.plan.kind != .start, let value = held.seat.phone.token(of: held.seat.plan),
            let token = Self.token(of: value), let index = card(token.card)
        else { return nil }
        let card = phone.cards[index]
        return (index, card.isOver || card.tokens > token.version, card.tokenEndedAt)
    }

    /// Returns the length of a pause now, or `nil` if the pause leads to nothing new.
    func duration(of pause: Event.Pause) -> Duration? {
        switch pause {
        case .second:
            // A push of the next second gets another timestamp than one of this second.
            guard let instance, instance.timestamp >= now.seconds else { return nil }
            return .milliseconds((now.seconds + 1) * 1000 - now.milliseconds)
        case .lease:
            guard let until = lane?.flight?.leaseUntil, until > now else { return nil }
            return until - now
        case .call:
            guard let oldest = calls.map(\.madeAt).min(), oldest + Self.callLate > now else { return nil }
            return oldest + Self.callLate - now
        case .work:
            guard let next = nextWorkAt, next > now, next <= now + .seconds(13 * 3600) else { return nil }
            return next - now
        case .start:
            guard let instance, instance.hasOpenStart, let expires = instance.startExpiresAt else { return nil }
            let failed = expires + ReportInventory.travel + .seconds(1)
            return failed > now ? failed - now : nil
        case .renewal:
            guard let instance, kind.renews, let due = instance.renewalDue(at: now), due > now else { return nil }
            return due - now
        case .lifetime: return phone.cards.contains { !$0.isOver } ? Reconciler.activityLifetime : nil
        }
    }

    private static let callLate = Duration.seconds(110)
}
