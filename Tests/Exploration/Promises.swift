import APNSModel
import LiveActivityCore
import TestSupport

// Promises that are judged at a claim and at a settlement (docs/internals/promises.md).
extension Situation {
    func judge(_ seat: Flight.Seat, _ flight: Flight) -> Violation? {
        let plan = seat.plan
        if plan.kind != .start {
            guard let value = seat.phone.token(of: plan), let token = Self.token(of: value) else {
                return Violation(rule: .noDeadToken, text: "an \(plan.kind.name) is claimed without a token")
            }
            // The token of a replaced card is used once more, to end that card.
            if seen.dead.contains(token), plan.part != .predecessor {
                return Violation(
                    rule: .noDeadToken,
                    text: "an \(plan.kind.name) is claimed for token \(token.version) of card \(token.card)")
            }
        }
        guard plan.carriesAlert else { return nil }
        guard let alert = flight.desired.activity.alert, alert.revision == plan.alertRevision else {
            return Violation(rule: .alertsOnce, text: "an alert is claimed that the activity does not have")
        }
        if plan.alertRevision > plan.revision {
            return Violation(rule: .alertsOnce, text: "an alert goes before its state")
        }
        if now >= alert.expiresAt { return Violation(rule: .alertsOnce, text: "an alert goes that has expired") }
        return nil
    }

    mutating func judge(_ held: Held, _ fate: Event.Fate, before: Snapshot) -> Violation? {
        let value = held.seat.phone.token(of: held.seat.plan)
        if fate == .tokenDead, let value, let token = Self.token(of: value) { noteDead(token, held) }
        for (key, owner) in rows.owners where owner.deadAt != nil && owner.value != value {
            if before.owners[key]?.deadAt == nil {
                return Violation(rule: .noDeadToken, text: "an answer about another token made \(owner.value) dead")
            }
        }
        for (key, token) in rows.updateTokens where token.deadAt != nil && token.value != value {
            if before.updateTokens[key]?.deadAt == nil {
                return Violation(rule: .noDeadToken, text: "an answer about another token made \(token.value) dead")
            }
        }
        return nil
    }

    /// Records that a token is dead, unless the 410 names a time before the token was known. The server doubts such a
    /// 410.
    private mutating func noteDead(_ token: Seen.Token, _ held: Held) {
        if let since = held.inactiveSince, let first = held.seat.phone.updateToken?.firstSeenAt, first > since,
            held.seat.plan.part != .predecessor
        {
            return
        }
        bury(token)
    }
}
