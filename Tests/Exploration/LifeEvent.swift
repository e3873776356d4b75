import LiveActivityCore
import TestSupport

/// A row of the table *state × event → state* of a card's life.
package enum LifeEvent: String, Hashable, Sendable, CaseIterable {
    case startClaimed = "a start is claimed"
    case renewalClaimed = "a renewal is claimed"
    case startTaken = "a start is taken, or may be"
    case startRefused = "a start is refused"
    case endTaken = "an end is taken"
    case tokenInactive = "a token is inactive"
    case flightLost = "a flight is lost"
    case requested = "the app requests"
    case withdrawn = "the app takes its request back"
    case shown = "a card is shown"
    case unwelcomeShown = "an unwelcome card is shown"
    case reportedOver = "a card is reported over"
    case cardLacks = "an inventory lacks the card"
    case startsCardLacks = "an inventory lacks the start's card"
    case noEndCame = "no end has come to the card"
    case runBegins = "a run begins"
    case personComesBack = "a person comes back"
    case personComesBackToRenewal = "a person comes back to a renewal"
    case anythingElse = "anything else"
}

extension LifeEvent {
    /// Returns the reason why the event cannot happen in a state of this column, or `nil` if it can.
    func impossible(in column: String) -> String? {
        switch (self, column) {
        case (_, _) where LifeTable.ofSource.cell(rawValue, column) == "never": "the table says so"
        case (.startsCardLacks, "absent"), (.startsCardLacks, "requesting"), (.startsCardLacks, "live"),
            (.startsCardLacks, "ending"), (.startsCardLacks, "over"):
            "no start's card is awaited"
        case (.noEndCame, _) where column != "ending": "no end is under way"
        case (.personComesBack, _), (.personComesBackToRenewal, _):
            column == "ending" || column == "over" ? nil : "nothing of theirs has ended"
        case (.unwelcomeShown, _): column == "over" ? nil : "the person has swiped no card away"
        default: nil
        }
    }
}
