import JSONText

/// The expected lock screen of a phone.
struct Expected: Sendable {
    /// Visible cards, most relevant first.
    var cards: [Card] = []
    /// Titles of the ordinary notifications that were shown, oldest first.
    var notifications: [String] = []

    struct Card: Sendable {
        /// Whole content state, as the app's type encodes it.
        var contentState: JSONObject
        var state = "active"
        /// Title, or its localization key, of the last alert with the card; `nil`: not checked.
        var alert: String?
    }

    /// A lock screen without cards and notifications.
    static let nothing = Expected()

    /// Returns a lock screen with one card.
    static func card(_ state: some Encodable, _ life: String = "active", alert: String? = nil) throws -> Expected {
        Expected(cards: [try Card(state, life, alert: alert)])
    }

    /// Returns the difference between the actual screen and this one in words, or `nil` if they are equal.
    func difference(from screen: JSONObject) -> String? {
        let shown = screen["cards"]?.array?.compactMap(\.object) ?? []
        let titles = screen["notifications"]?.array?.compactMap { $0.object?["title"]?.string } ?? []
        let isMet =
            shown.count == cards.count && titles == notifications
            && zip(cards, shown).allSatisfy { $0.isMet(by: $1) }
        guard !isMet else { return nil }
        return "expected \(Self.words(cards.map(\.words), notifications)); "
            + "shown \(Self.words(shown.map(Card.words), titles))"
    }

    private static func words(_ cards: [String], _ notifications: [String]) -> String {
        let seen = cards + notifications.map { "the notification \"\($0)\"" }
        return seen.isEmpty ? "nothing" : seen.joined(separator: " and ")
    }
}

extension Expected.Card {
    /// Creates a card.
    ///
    /// - Parameters:
    ///   - state: The app's content state, encoded as a default `JSONEncoder` does.
    ///   - life: `active`, `stale` or `ended`.
    ///   - alert: Title of the last alert; `nil`: not checked.
    init(_ state: some Encodable, _ life: String = "active", alert: String? = nil) throws {
        self.init(contentState: try JSONValue(encoding: state).object ?? [:], state: life, alert: alert)
    }

    func isMet(by card: JSONObject) -> Bool {
        card["contentState"]?.object == contentState && card["state"]?.string == state
            && (alert == nil || Self.alert(of: card) == alert)
    }

    var words: String { Self.words(state, .object(contentState), alert) }

    static func words(_ card: JSONObject) -> String {
        words(card["state"]?.string ?? "?", card["contentState"] ?? .null, alert(of: card))
    }

    private static func words(_ state: String, _ content: JSONValue, _ alert: String?) -> String {
        "the \(state) card \(content)" + (alert.map { " with the alert \"\($0)\"" } ?? "")
    }

    private static func alert(of card: JSONObject) -> String? { card["alert"]?.object?["title"]?.string }
}
