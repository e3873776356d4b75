package import LiveActivityCore

/// An event of the state machine that the server keeps for a card.
package enum Deed: Hashable, Sendable {
    case set, ended, left, joined
    case reported, reportedEnded, reportedDismissed, listed, notListed
    case claimedStart, claimedSuccessor, claimedUpdate, claimedEnd, claimedEndOfPredecessor, rescued, awaited
    case start(Event.Fate), successor(Event.Fate), update(Event.Fate), end(Event.Fate), endOfPredecessor(Event.Fate)

    static func claimed(_ plan: PushPlan) -> Self {
        switch (plan.kind, plan.part) {
        case (.start, .successor): .claimedSuccessor
        case (.start, _): .claimedStart
        case (.update, _): .claimedUpdate
        case (.end, .predecessor): .claimedEndOfPredecessor
        case (.end, _): .claimedEnd
        }
    }

    static func settled(_ plan: PushPlan, _ fate: Event.Fate) -> Self {
        switch (plan.kind, plan.part) {
        case (.start, .successor): .successor(fate)
        case (.start, _): .start(fate)
        case (.update, _): .update(fate)
        case (.end, .predecessor): .endOfPredecessor(fate)
        case (.end, _): .end(fate)
        }
    }
}

/// Counts of transitions: the cells of *state × event → state* that the search has reached.
package struct Cells: Sendable {
    package struct Cell: Hashable, Sendable {
        package var before: CardState?
        package var deed: Deed
        package var after: CardState?
    }

    package private(set) var counts: [Cell: Int] = [:]

    package init() {}

    mutating func note(_ before: CardState?, _ deed: Deed, _ after: CardState?) {
        counts[Cell(before: before, deed: deed, after: after), default: 0] += 1
    }

    package mutating func add(_ other: Self) { counts.merge(other.counts, uniquingKeysWith: +) }
}

extension Cells {
    /// One line for each state and event, with the states that followed and their counts.
    package var lines: [String] {
        let groups = Dictionary(grouping: counts) { "\($0.key.before.map(\.name) ?? "none") × \($0.key.deed)" }
        return groups.sorted { $0.key < $1.key }.map { name, all in
            let ends = all.sorted { $0.value > $1.value }.map { "\($0.key.after.map(\.name) ?? "none") \($0.value)" }
            return "\(name) → \(ends.joined(separator: ", "))"
        }
    }
}
