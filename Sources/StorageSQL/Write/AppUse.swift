import LiveActivityCore

/// The share of each app in a resource that is limited as a whole. The app with the largest share loses first.
///
/// The table `meta` has one count for each app, and their sum is the total. The statement that updates the last number
/// of the same kind also updates these counts, in the same page of the file.
struct AppUse {
    enum Kind: String {
        case historyBytes = "history_bytes"
        case events = "events"
    }

    /// Expression for the app that owns a history row. An activity that is being erased has its app in `type`.
    static let owner = "coalesce(CASE a.app WHEN '\(Erasure.app)' THEN a.type ELSE a.app END, '')"

    let kind: Kind
    private(set) var amounts: [String: Int64]

    init(_ kind: Kind, _ sql: Statements) throws {
        self.kind = kind
        var amounts: [String: Int64] = [:]
        let prefix = kind.rawValue + ":"
        // A semicolon follows a colon in ASCII, so all names with the prefix lie in this range.
        try sql.query(
            "SELECT name, value FROM meta WHERE name >= ? AND name < ?", [.text(prefix), .text(kind.rawValue + ";")]
        ) { row in amounts[String(row.text().dropFirst(prefix.count))] = max(0, row.int()) }
        self.amounts = amounts
    }

    /// Returns the name of the row with an app's count.
    static func name(_ kind: Kind, _ app: String) -> String { "\(kind.rawValue):\(app)" }

    var total: Int64 { amounts.values.reduce(0, +) }

    /// Returns the highest level for which all apps together stay within the limit, if those above it are reduced to
    /// it. Returns `nil` if the total is already within the limit.
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

    /// Adds to the values in `meta`, by name.
    static func add(_ changes: [String: Int64], _ sql: Statements) throws {
        guard !changes.isEmpty else { return }
        // SQLite needs `WHERE` to tell the conflict's ON from that of a join.
        try sql.run(
            """
            INSERT INTO meta (name, value) SELECT b, a FROM tuples(?) WHERE true
            ON CONFLICT (name) DO UPDATE SET value =
                CASE WHEN meta.value + excluded.value > 0 THEN meta.value + excluded.value ELSE 0 END
            """, [.tuples(changes.sorted { $0.key < $1.key }.map { ($0.value, $0.key, nil, nil) })])
    }
}
