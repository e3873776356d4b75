import LiveActivityCore

/// How much of what is limited as a whole belongs to each app, so that the app that has most of it loses first.
///
/// Rows of `meta` count it, one for each app. They are written by the statement that writes the last number of the
/// same, in the same page of the file; the sum of them is the whole.
struct AppUse {
    enum Kind: String {
        case historyBytes = "history_bytes"
        case events = "events"
    }

    /// Whose history a row is: activities that are being erased keep their app in `type`.
    static let owner = "coalesce(CASE a.app WHEN '\(Erasure.app)' THEN a.type ELSE a.app END, '')"

    let kind: Kind
    private(set) var amounts: [String: Int64]

    init(_ kind: Kind, _ sql: Statements) throws {
        self.kind = kind
        var amounts: [String: Int64] = [:]
        let prefix = kind.rawValue + ":"
        // The semicolon follows the colon: all names that begin with the prefix lie between.
        try sql.query(
            "SELECT name, value FROM meta WHERE name >= ? AND name < ?", [.text(prefix), .text(kind.rawValue + ";")]
        ) { row in amounts[String(row.text().dropFirst(prefix.count))] = max(0, row.int()) }
        self.amounts = amounts
    }

    /// The row that counts what an app has.
    static func name(_ kind: Kind, _ app: String) -> String { "\(kind.rawValue):\(app)" }

    var total: Int64 { amounts.values.reduce(0, +) }

    /// The greatest level at which all apps together stay within a limit when those above it come down to it;
    /// `nil`: they are within it as they are.
    func level(within limit: Int64) -> Int64? {
        guard total > limit else { return nil }
        var rest = max(0, limit)
        var left = Int64(amounts.count)
        for amount in amounts.values.sorted() {
            guard amount <= rest / left else { return rest / left }
            rest -= amount
            left -= 1
        }
        return nil
    }

    /// Adds to what stands in `meta`, by the names of its rows.
    static func add(_ changes: [String: Int64], _ sql: Statements) throws {
        guard !changes.isEmpty else { return }
        let places = Array(repeating: "(?, ?)", count: changes.count).joined(separator: ", ")
        try sql.execute(
            """
            INSERT INTO meta (name, value) VALUES \(places)
            ON CONFLICT (name) DO UPDATE SET value = max(0, value + excluded.value)
            """, changes.sorted { $0.key < $1.key }.flatMap { [.text($0.key), .int($0.value)] })
    }
}
