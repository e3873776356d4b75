import Foundation
import JSONText

/// Rows of figures, as a table for people and as JSON for programs.
enum BenchReport {
    /// Returns the figures of one row by name, in order.
    static func figures(_ row: some Encodable) throws -> JSONObject {
        try JSONValue(encoding: row).object ?? [:]
    }

    /// Returns a table with one line per figure and one column per row, because a row has too many figures for a line.
    static func table(_ rows: [JSONObject]) -> String {
        var names: [String] = []
        for row in rows {
            for name in row.keys where !names.contains(name) { names.append(name) }
        }
        let cells = names.map { name in [name] + rows.map { text($0[name] ?? .null) } }
        let widths = (0...rows.count).map { column in cells.map { $0[column].count }.max() ?? 0 }
        return cells.map { line in
            let padded = zip(line, widths).enumerated().map { index, cell in
                let blanks = String(repeating: " ", count: cell.1 - cell.0.count)
                return index == 0 ? cell.0 + blanks : blanks + cell.0
            }
            return padded.joined(separator: "  ")
        }.joined(separator: "\n")
    }

    /// Prints the table, and writes the JSON file if one is given.
    static func publish(_ rows: [some Encodable], to file: String?) throws {
        let rows = try rows.map { try figures($0) }
        Output.line(table(rows))
        guard let file else { return }
        let lines = rows.map { "  " + JSONValue.object($0).text }.joined(separator: ",\n")
        try Data("[\n\(lines)\n]\n".utf8).write(to: URL(fileURLWithPath: file))
    }

    private static func text(_ value: JSONValue) -> String {
        switch value {
        case .null: "–"
        case .string(let text): text
        default: value.text
        }
    }
}

/// Rounding of figures to significant digits.
extension Double {
    /// Returns the value rounded to this number of decimal places.
    func digits(_ count: Int) -> Double {
        let scale = pow(10, Double(count))
        return (self * scale).rounded() / scale
    }
}

extension Int {
    var megabytes: Double { (Double(self) / 1e6).digits(1) }
}

extension Duration {
    var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
