import Foundation

/// The printed form of an explanation: a table for people, or lines of JSON.
enum ExplainTable {
    static func text(_ lines: [ExplainLine]) -> String {
        let width = max(5, lines.compactMap { $0.phone?.count }.max() ?? 0)
        func pad(_ text: String, _ width: Int) -> String {
            text + String(repeating: " ", count: max(0, width - text.count))
        }
        var rows = ["\(pad("TIME", 10))  \(pad("PHONE", width))  WHAT"]
        for line in lines {
            rows.append("\(pad(time(line.at), 10))  \(pad(line.phone ?? "", width))  \(what(line))")
        }
        return rows.joined(separator: "\n") + "\n"
    }

    static func json(_ lines: [ExplainLine]) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try lines.map { String(decoding: try encoder.encode($0), as: UTF8.self) + "\n" }.joined()
    }

    private static func what(_ line: ExplainLine) -> String {
        switch line.kind {
        case .call: "\(line.text): revision \(line.revision ?? 0)"
        case .phone, .refused: line.text
        case .held: "held" + (line.until.map { " until \(time($0))" } ?? "") + ": " + line.text
        case .sent:
            "\(line.push ?? "") sent: revision \(line.revision ?? 0), priority \(line.priority ?? 0)"
                + (line.alert == true ? ", with an alert" : "") + ", timestamp \(line.timestamp ?? 0): \(line.text)"
        }
    }

    /// Returns a time such as `7h15m0s`, `1m30s` or `0.3s`.
    static func time(_ seconds: Double) -> String {
        let milliseconds = Int((seconds * 1000).rounded())
        let (whole, rest) = (milliseconds / 1000, milliseconds % 1000)
        let (hours, minutes) = (whole / 3600, whole / 60 % 60)
        var digits = String(1000 + rest).dropFirst()
        while digits.last == "0" { digits.removeLast() }
        let fraction = digits.isEmpty ? "" : ".\(digits)"
        return (hours > 0 ? "\(hours)h" : "") + (whole >= 60 ? "\(minutes)m" : "") + "\(whole % 60)\(fraction)s"
    }
}
