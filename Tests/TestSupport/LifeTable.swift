import Foundation
import LiveActivityCore

/// The table *state × event → state* of a card's life, as a text contains it.
package struct LifeTable: Sendable, Equatable {
    package let columns: [String]
    /// The cells of each event, in the order of the columns.
    package let rows: [String: [String]]

    package init(in text: String) {
        var rows: [String: [String]] = [:]
        for line in text.split(separator: "\n") {
            let cells = line.drop { $0 == "/" || $0 == " " }.split(separator: "|", omittingEmptySubsequences: false)
                .dropFirst().dropLast().map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 8, let event = cells.first, event != "---" else { continue }
            rows[event] = Array(cells.dropFirst())
        }
        columns = rows.removeValue(forKey: "event") ?? []
        self.rows = rows
    }

    /// The table in the doc comment of `CardLife`.
    package static let ofSource = LifeTable(in: text("Sources/LiveActivityCore/Card/CardLife.swift"))
    /// The table in the document.
    package static let ofDocument = LifeTable(in: text("docs/internals/life-of-a-card.md"))

    private static func text(_ path: String) -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        return (try? String(contentsOf: root.appending(path: path), encoding: .utf8)) ?? ""
    }

    /// Returns the cell as written; `nil` if there is none.
    package func cell(_ event: String, _ column: String) -> String? {
        columns.firstIndex(of: column).flatMap { rows[event]?[$0] }
    }

    /// Returns the columns to which the event leads from this one.
    package func after(_ event: String, _ column: String) -> [String] {
        switch cell(event, column) {
        case nil: []
        case "stays"?, "never"?: [column]
        case let cell?: cell.split(separator: ", ").map(String.init)
        }
    }
}

extension CardState {
    /// The column of the table for the state.
    package var column: String { isTombstone ? "over" : name }
}
