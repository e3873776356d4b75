package import LiveActivityCore

/// Effect of an event on the server's state machine for a card, seen from outside.
package enum Deed: Hashable, Sendable {
    case set, ended, left, joined
    case requested
    case withdrawn
    /// `ofCard` is `true` if the report is of the card that the server knows afterwards.
    case reported(ofCard: Bool)
    case reportedOver(ofCard: Bool)
    /// An inventory.
    case listed, notListed
    case rescued, claimed(PushKind, PushPlan.Part), awaited
    case settled(PushKind, PushPlan.Part, Event.Fate)
}

extension Deed {
    /// Returns the sequences of life events that the deed may be for the card, the likeliest first.
    ///
    /// One commit may be several events in a row.
    func events(_ before: CardMachine, _ after: CardMachine) -> [[LifeEvent]] {
        switch self {
        case .set, .ended, .left, .awaited: [[.anythingElse]]
        case .joined:
            switch (before.state, after.state) {
            case (.ending, .live): [[.noEndCame]]
            case (.ending, .unconfirmed), (.ended, .unconfirmed): [[.personComesBackToRenewal]]
            case (.ending, .absent), (.ended, .absent): [[.personComesBack]]
            default: [[.anythingElse]]
            }
        case .requested: [[.requested]]
        case .withdrawn: [[.withdrawn]]
        case .reported(ofCard: true), .listed:
            before.successor != nil && before.state == .dismissed
                ? [[.unwelcomeShown], [.shown], [.anythingElse]]
                : [[.shown], [.noEndCame, .shown], [.anythingElse]]
        case .reportedOver(ofCard: true): [[.reportedOver], [.anythingElse]]
        case .reported(ofCard: false), .reportedOver(ofCard: false): [[.anythingElse]]
        case .notListed: before.hasOpenStart ? [[.startsCardLacks], [.cardLacks]] : [[.cardLacks], [.anythingElse]]
        case .rescued: [[.flightLost]]
        case .claimed(.start, .successor): [[.renewalClaimed]]
        case .claimed(.start, _): [[.startClaimed]]
        case .claimed: [[.anythingElse]]
        case .settled(.start, .successor, _), .settled(_, .predecessor, _): [[.anythingElse]]
        case .settled(.start, _, .taken), .settled(.start, _, .takenAndLost), .settled(.start, _, .lost):
            [[.startTaken], [.anythingElse]]
        case .settled(.start, _, _): [[.startRefused], [.anythingElse]]
        case .settled(.end, _, .taken): [[.endTaken], [.anythingElse]]
        case .settled(_, _, .tokenDead): [[.tokenInactive], [.anythingElse]]
        case .settled: [[.anythingElse]]
        }
    }
}
