import JSONText

/// A phone's lock screen in characters.
enum LockScreenPicture {
    private static let width = 46

    static func lines(of phone: String, _ note: String, cards: [JSONObject]) -> [String] {
        var lines = ["  ┌" + pad("─ \(phone)'s iPhone, \(note) ", with: "─") + "┐"]
        if cards.isEmpty { lines.append("  │" + pad("  (nothing)") + "│") }
        for card in cards {
            let state = card["contentState"]?.object ?? [:]
            let attributes = card["attributes"]?.object ?? [:]
            let status = state["status"]?.string ?? "?"
            let progress = state["progress"]?.double ?? 0
            let full = Int((progress * 10).rounded())
            let bar = String(repeating: "█", count: full) + String(repeating: "░", count: 10 - full)
            let eta = state["eta"]?.int.map { "\($0) min" } ?? ""
            let life = card["state"]?.string ?? ""
            lines.append(
                "  │" + pad("  \(attributes["restaurant"]?.string ?? "")  \(attributes["orderId"]?.string ?? "")") + "│"
            )
            lines.append("  │" + pad("  \(bar)  \(status)  \(eta)\(life == "active" ? "" : "  [\(life)]")") + "│")
            if let alert = card["alert"]?.object, let title = alert["title"]?.string {
                lines.append("  │" + pad("  ! \(title)") + "│")
            }
        }
        lines.append("  └" + String(repeating: "─", count: width) + "┘")
        return lines
    }

    private static func pad(_ text: String, with filler: Character = " ") -> String {
        let cut = text.count > width ? String(text.prefix(width - 1)) + "…" : text
        return cut + String(repeating: filler, count: width - cut.count)
    }
}
