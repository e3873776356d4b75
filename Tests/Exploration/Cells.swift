package import LiveActivityCore
import TestSupport

/// Counter of visits to each cell of the table of a card's life.
///
/// It also notes transitions that the table does not have.
package struct Cells: Sendable {
    package struct Cell: Hashable, Sendable {
        package var event: LifeEvent
        package var column: String
        package var after: String
    }

    package private(set) var counts: [Cell: Int] = [:]
    package private(set) var deeds: [Deed: Int] = [:]
    /// The states in which a deed left the card.
    package private(set) var states: Set<CardState> = []
    /// Transitions for which the table has no cell.
    package private(set) var strays: Set<String> = []

    package init() {}

    /// - Parameter deeds: Effects of one commit on the card, in order.
    mutating func note(_ before: CardMachine?, _ deeds: [Deed], _ after: CardMachine?) {
        guard let after, !deeds.isEmpty else { return }
        for deed in deeds { self.deeds[deed, default: 0] += 1 }
        states.insert(after.state)
        let old =
            before ?? CardMachine(activity: after.activity, device: after.device, run: after.run, at: after.createdAt)
        for events in Self.events(deeds, old, after) {
            guard let cells = Self.way(from: old.state.column, through: events[...], to: after.state.column) else {
                continue
            }
            for cell in cells { counts[cell, default: 0] += 1 }
            return
        }
        strays.insert("\(old.state.column) × \(deeds) → \(after.state.column)")
    }

    /// Returns the events that the deeds may be for the card, the likeliest first.
    private static func events(_ deeds: [Deed], _ before: CardMachine, _ after: CardMachine) -> [[LifeEvent]] {
        let all = deeds.reduce([[]]) { ways, deed in
            deed.events(before, after).flatMap { events in ways.map { $0 + events } }
        }
        guard before.run != after.run else { return all }
        // A lost flight belongs to the earlier run.
        return all.map { [.runBegins] + $0 } + all.map { $0.prefix(1) + [.runBegins] + $0.dropFirst() }
    }

    /// Returns the cells from one state through the events to another, or `nil` if there are none.
    private static func way(from column: String, through events: ArraySlice<LifeEvent>, to end: String) -> [Cell]? {
        guard let event = events.first else { return column == end ? [] : nil }
        for after in LifeTable.ofSource.after(event.rawValue, column) {
            guard let rest = way(from: after, through: events.dropFirst(), to: end) else { continue }
            return [Cell(event: event, column: column, after: after)] + rest
        }
        return nil
    }

    package mutating func add(_ other: Self) {
        counts.merge(other.counts, uniquingKeysWith: +)
        deeds.merge(other.deeds, uniquingKeysWith: +)
        states.formUnion(other.states)
        strays.formUnion(other.strays)
    }
}

extension Cells {
    /// Cells that can be reached and were not.
    package var missing: [String] {
        let reached = Set(counts.keys.map { "\($0.event.rawValue) × \($0.column)" })
        return LifeEvent.allCases.flatMap { event in
            LifeTable.ofSource.columns.filter { event.impossible(in: $0) == nil }.map { "\(event.rawValue) × \($0)" }
        }
        .filter { !reached.contains($0) }
    }

    /// One line for each cell of the table: its number of visits, or the reason why it is impossible.
    package var lines: [String] {
        LifeEvent.allCases.flatMap { event in
            LifeTable.ofSource.columns.map { column in
                let ways = counts.filter { $0.key.event == event && $0.key.column == column }
                    .sorted { $0.value > $1.value }.map { "\($0.key.after) \($0.value)" }
                let impossible = event.impossible(in: column).map { "impossible: \($0)" } ?? "NOT REACHED"
                return "\(column) × \(event.rawValue) → \(ways.isEmpty ? impossible : ways.joined(separator: ", "))"
            }
        }
    }
}
