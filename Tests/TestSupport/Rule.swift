/// Rules that must hold in every history. The first eight are the design's, in its words and with its numbers. The
/// others are the store's own.
package enum Rule: Int, Sendable, CaseIterable {
    case newestArrives = 1
    case noSecondCard = 2
    case noDeadToken = 3
    case acceptedIsKept = 4
    case budgetsHold = 5
    case alertsOnce = 6
    case nobodyElses = 7
    case nothingLeaks = 8
    case lanes = 9
    case nothingStays = 10
    case channelsAreTidy = 11

    package var title: String {
        switch self {
        case .newestArrives: "1 The newest state arrives"
        case .noSecondCard: "2 No second card"
        case .noDeadToken: "3 No dead token"
        case .acceptedIsKept: "4 Accepted is kept"
        case .budgetsHold: "5 Our budgets hold"
        case .alertsOnce: "6 Alerts once"
        case .nobodyElses: "7 Nobody reads or changes what is not theirs"
        case .nothingLeaks: "8 Nothing leaks"
        case .lanes: "9 Lanes and fences"
        case .nothingStays: "10 Nothing stays"
        case .channelsAreTidy: "11 Channels"
        }
    }
}

/// A violation of a rule.
package struct Violation: Sendable, Equatable {
    package let rule: Rule
    package let text: String

    package init(rule: Rule, text: String) {
        self.rule = rule
        self.text = text
    }
}
