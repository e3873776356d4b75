/// Readable lines of everything that happened, and a digest that tells two histories apart.
package struct Timeline: Sendable {
    /// `true` if lines are kept. A history plays much faster without them.
    let isKept: Bool
    package private(set) var lines: [String] = []

    init(isKept: Bool) { self.isKept = isKept }

    mutating func note(_ now: Int64, _ who: String, _ text: @autoclosure () -> String) {
        guard isKept else { return }
        let padded = who + String(repeating: " ", count: max(1, 9 - who.utf8.count))
        lines.append("\(Self.time(now))  \(padded) \(text())")
    }

    /// Returns a time such as `1 02:03:04.567`: days, hours, minutes and seconds since the history began.
    static func time(_ milliseconds: Int64) -> String {
        func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let seconds = milliseconds / 1000
        let rest = milliseconds % 1000
        let fraction = rest < 10 ? "00\(rest)" : rest < 100 ? "0\(rest)" : "\(rest)"
        let days = seconds / 86_400
        return (days > 0 ? "\(days) " : "")
            + "\(two(seconds / 3600 % 24)):\(two(seconds / 60 % 60)):\(two(seconds % 60)).\(fraction)"
    }
}
