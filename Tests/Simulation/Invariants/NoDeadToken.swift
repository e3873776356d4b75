import APNSModel
import LiveActivityCore
import TestSupport

/// **No dead token.** Nothing is claimed for a token after its replacement or refusal was recorded.
///
/// A claimed push leaves within its lease or not at all. An answer about one generation of a token never affects the
/// next.
final class NoDeadToken: Invariant {
    /// Latest token values from each phone's accepted reports, by card or purpose.
    private var current: [String: String] = [:]
    private var firstSeen: [String: UnixTime] = [:]
    /// Token values that must not be used any more, and the reason.
    private var dead: [String: String] = [:]
    /// Token values that APNs refused in a recorded answer.
    private var refused: Set<String> = []
    /// Environments that refused each token of a phone that named no environment. The other one is tried.
    private var refusedIn: [String: Set<APNSEnvironment>] = [:]

    func see(_ event: Observation, in world: World) {
        switch event {
        case .reported(let report): take(report)
        case .claimed(let flight, _):
            for seat in flight.seats { claim(seat.phone.token(of: seat.plan), flight, seat, world) }
        case .claimedNotifications(let flight, _):
            for seat in flight.seats {
                if let why = dead[seat.token.value.hex] {
                    world.violate(.noDeadToken, "a notification is claimed for a device token that \(why)")
                }
            }
        case .settled(let settlement, let before): settle(settlement, before, world)
        case .settledNotifications(let settlement, let before):
            for entry in settlement.entries {
                refuse(
                    entry.seat.token.value, entry.outcome, of: entry.seat.device.facts,
                    in: entry.seat.token.environment)
            }
            checkOthers(settlement.now, Set(settlement.entries.map(\.seat.token.value)), before, world)
        case .left(let sent, let node, _):
            if world.now >= sent.leaseUntil {
                world.violate(
                    .noDeadToken,
                    "\(node.name) sends \(sent.words) \(world.now - sent.claimedAt) ms after its claim, after its lease"
                )
            }
        default: break
        }
    }

    private func take(_ report: Phone.Report) {
        switch report.what {
        case .card(let local, _, _, let token?): name(token, "\(report.device) \(local)", report.now)
        case .inventory(let cards):
            for (local, _, token) in cards {
                if let token { name(token, "\(report.device) \(local)", report.now) }
            }
        case .startToken(let token, let type): name(token, "\(report.device) start \(type)", report.now)
        case .registered(_, let token): name(token, "\(report.device) notifications", report.now)
        default: break
        }
    }

    private func name(_ token: String, _ place: String, _ now: UnixTime) {
        if firstSeen[token] == nil { firstSeen[token] = now }
        guard let old = current[place], old != token, dead[token] == nil else {
            if dead[token] == nil { current[place] = token }
            return
        }
        // One start token may serve several types.
        current[place] = token
        if !current.values.contains(old) { dead[old] = "was replaced" }
    }

    private func claim(_ value: TokenValue?, _ flight: Flight, _ seat: Flight.Seat, _ world: World) {
        guard let value else {
            return world.violate(.noDeadToken, "a claim without a token: \(flight.desired.activity.id)")
        }
        // A renewed card's first token is used once more, to end it in favor of its successor.
        guard let why = dead[value.hex], seat.plan.part != .predecessor || refused.contains(value.hex) else { return }
        world.violate(
            .noDeadToken,
            "a \(seat.plan.kind.name) of \(flight.desired.activity.id) to \(seat.phone.device.id) is claimed "
                + "for the token \(value.hex.prefix(6)) that \(why)")
    }

    private func refuse(
        _ value: TokenValue, _ outcome: Result<PushAnswer, PushFailure>, of device: DeviceFacts,
        in environment: APNSEnvironment
    ) {
        guard case .success(let answer) = outcome, case .tokenDead(let why) = answer.verdict else { return }
        if case .inactive(let since) = why, let since, let first = firstSeen[value.hex], first > since { return }
        if case .badToken = why {
            refusedIn[value.hex, default: []].insert(environment)
            if device.environment != nil || refusedIn[value.hex]?.count == 2 { refused.insert(value.hex) }
            return
        }
        refused.insert(value.hex)
        dead[value.hex] = "APNs refused"
    }

    private func settle(_ settlement: SettleFlight, _ before: Snapshot, _ world: World) {
        var values: Set<TokenValue> = []
        for entry in settlement.entries {
            guard let value = entry.seat.phone.token(of: entry.seat.plan) else { continue }
            values.insert(value)
            if case .answered(let outcome) = entry.outcome {
                let phone = entry.seat.phone
                let environment =
                    entry.seat.plan.kind == .start
                    ? phone.pushToStartToken?.environment : phone.updateToken?.environment
                refuse(value, outcome, of: phone.device, in: environment ?? .production)
            }
            checkCard(settlement, entry, value, before, world)
        }
        checkOthers(settlement.now, values, before, world)
    }

    /// Checks that only tokens named in the answers have died.
    private func checkOthers(_ now: UnixTime, _ values: Set<TokenValue>, _ before: Snapshot, _ world: World) {
        for (key, owner) in world.store.rows.owners where owner.deadAt != nil && !values.contains(owner.value) {
            if before.owners[key]?.deadAt == nil {
                world.violate(.noDeadToken, "an answer about another token made \(owner.value) dead")
            }
        }
        for (key, token) in world.store.rows.updateTokens where token.deadAt != nil && !values.contains(token.value) {
            if before.updateTokens[key]?.deadAt == nil {
                world.violate(.noDeadToken, "an answer about another token made \(token.value) dead")
            }
        }
    }

    /// Checks that a refusal of a token that was replaced meanwhile does not change the card.
    private func checkCard(
        _ settlement: SettleFlight, _ entry: SettleFlight.Entry, _ value: TokenValue, _ before: Snapshot,
        _ world: World
    ) {
        let key = Snapshot.PhoneKey(settlement.lane.activity, entry.seat.phone.device.key)
        guard entry.seat.plan.kind != .start, let old = before.cards[key], old.state == .live,
            let token = before.updateTokens[key], token.value != value,
            let new = world.store.rows.cards[key], new.state.isTombstone
        else { return }
        world.violate(.noDeadToken, "an answer about \(value) made a card \(new.state.name) that has another token")
    }
}
