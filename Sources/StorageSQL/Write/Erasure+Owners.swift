import LiveActivityStorage

/// Erases owners whose token values no row holds any more.
extension Erasure {
    /// Number of owners that one page of the walk examines.
    static let walkedOwners = 1000
    /// Number of leading hash digits that the walk stores as its position. They fit a number, and no two hashes share
    /// them.
    private static let placeDigits = 15

    mutating func eraseOwners() throws {
        try walkOwners()
        try eraseOwners("token_owner_dead", by: "dead_at", olderThan: limits.deadTokens)
        try eraseOwners("token_owner_released", by: "released_at", olderThan: limits.releasedTokens)
    }

    private mutating func eraseOwners(_ index: String, by column: String, olderThan age: Duration) throws {
        guard room > 0 else { return }
        count(
            "token_owner",
            try sql.execute(
                """
                DELETE FROM token_owner WHERE hash IN
                    (SELECT hash FROM token_owner INDEXED BY \(index)
                     WHERE \(column) IS NOT NULL AND \(column) < ? ORDER BY \(column) LIMIT ?)
                """, [before(age), .int(Int64(room))]))
    }

    /// Walks through all owners, one stretch at a time.
    ///
    /// A token row that cannot be read is erased without knowing its values. No index finds the owners of such values,
    /// so the walk does.
    private mutating func walkOwners() throws {
        guard room > 0 else { return }
        let position = try sql.number("SELECT value FROM meta WHERE name = 'owner_walk'") ?? 0
        let limit = min(Self.walkedOwners, room)
        let digits = String(position, radix: 16)
        let start = String(repeating: "0", count: max(0, Self.placeDigits - digits.count)) + digits
        var looked = 0
        var last = ""
        var lost: [String] = []
        try sql.query(
            """
            SELECT hash, dead_at IS NULL AND released_at IS NULL AND NOT EXISTS (
                SELECT 1 FROM update_token t WHERE o.kind = 3 AND t.activity = o.activity AND t.dk = o.dk
            ) AND NOT EXISTS (
                SELECT 1 FROM device_token t WHERE o.kind <> 3 AND t.dk = o.dk AND t.kind = o.kind
            ) FROM token_owner o WHERE hash >= ? ORDER BY hash LIMIT ?
            """, [.text(start), .int(Int64(limit))]
        ) { row in
            last = row.text()
            looked += 1
            if row.bool() { lost.append(last) }
        }
        if !lost.isEmpty {
            count(
                "token_owner",
                try sql.execute(
                    "DELETE FROM token_owner WHERE hash IN (SELECT value FROM list(?))", [.texts(lost)]))
        }
        // Continue after the last hash of the stretch, or from the beginning after the last of all.
        let next = looked < limit ? 0 : (Int64(last.prefix(Self.placeDigits), radix: 16) ?? -1) + 1
        guard next != position else { return }
        try sql.run(
            """
            INSERT INTO meta (name, value) VALUES ('owner_walk', ?)
            ON CONFLICT (name) DO UPDATE SET value = excluded.value
            """, [.int(next)])
    }
}
