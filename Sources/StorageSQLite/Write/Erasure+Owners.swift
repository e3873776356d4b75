import LiveActivityStorage

/// Whose token values are that nothing holds any more.
extension Erasure {
    /// Owners of the walk that one page looks at.
    static let walkedOwners = 1000
    /// By so many of its first digits the walk remembers a hash: they make a number, and no two hashes share them.
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

    /// Goes through all owners a stretch at a time. A token's row that cannot be read is erased without telling whose
    /// values it held: no index finds those, and they count as held for as long as they are there.
    private mutating func walkOwners() throws {
        guard room > 0 else { return }
        let position = try sql.number("SELECT value FROM meta WHERE name = 'owner_walk'") ?? 0
        let limit = min(Self.walkedOwners, room)
        var looked = 0
        var last = ""
        var lost: [String] = []
        try sql.query(
            """
            SELECT hash, dead_at IS NULL AND released_at IS NULL AND NOT EXISTS (
                SELECT 1 FROM update_token t WHERE o.kind = 3 AND t.activity = o.activity AND t.dk = o.dk
            ) AND NOT EXISTS (
                SELECT 1 FROM device_token t WHERE o.kind <> 3 AND t.dk = o.dk AND t.kind = o.kind
            ) FROM token_owner o WHERE hash >= printf('%0\(Self.placeDigits)x', ?) ORDER BY hash LIMIT ?
            """, [.int(position), .int(Int64(limit))]
        ) { row in
            last = row.text()
            looked += 1
            if row.bool() { lost.append(last) }
        }
        if !lost.isEmpty {
            count(
                "token_owner",
                try sql.execute(
                    "DELETE FROM token_owner WHERE hash IN (SELECT value FROM json_each(?))", [.text(jsonTexts(lost))]))
        }
        // Behind the last of the stretch; from the beginning again behind the last of all.
        let next = looked < limit ? 0 : (Int64(last.prefix(Self.placeDigits), radix: 16) ?? -1) + 1
        guard next != position else { return }
        try sql.execute(
            """
            INSERT INTO meta (name, value) VALUES ('owner_walk', ?)
            ON CONFLICT (name) DO UPDATE SET value = excluded.value
            """, [.int(next)])
    }
}
