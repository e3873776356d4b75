import JSONText

/// A phone's lock screen as text.
enum LockScreenPicture {
    private static let width = 46

    /// Returns the lines of the drawing.
    ///
    /// - Parameter draw: Returns the play's drawing of a card.
    static func lines(
        of phone: String, _ note: String, _ screen: JSONObject, draw: (JSONObject) -> [String]
    ) -> [String] {
        let cards = screen["cards"]?.array?.compactMap(\.object) ?? []
        let notifications = screen["notifications"]?.array?.compactMap(\.object) ?? []
        var lines = ["  ┌" + pad("─ \(phone)'s iPhone, \(note) ", with: "─") + "┐"]
        if cards.isEmpty, notifications.isEmpty { lines.append(row("(nothing)")) }
        for card in cards {
            var drawn = draw(card)
            let life = card["state"]?.string ?? ""
            if life != "active", let last = drawn.popLast() { drawn.append("\(last)  [\(life)]") }
            lines += drawn.map(row)
            if let title = card["alert"]?.object?["title"]?.string { lines.append(row("! \(title)")) }
        }
        for notification in notifications {
            let texts = ["title", "body"].compactMap { notification[$0]?.string }
            lines.append(row("✉ " + texts.joined(separator: ": ")))
        }
        lines.append("  └" + String(repeating: "─", count: width) + "┘")
        return lines
    }

    private static func row(_ text: String) -> String { "  │" + pad("  " + text) + "│" }

    private static func pad(_ text: String, with filler: Character = " ") -> String {
        var cut = text
        if columns(cut) > width {
            while columns(cut) > width - 1 { cut.removeLast() }
            cut += "…"
        }
        return cut + String(repeating: filler, count: width - columns(cut))
    }

    /// Returns the width of a text in terminal columns. An emoji takes two.
    private static func columns(_ text: String) -> Int {
        text.reduce(0) { $0 + ($1.unicodeScalars.first?.properties.isEmojiPresentation == true ? 2 : 1) }
    }
}
