import LiveActivityCore

/// Reseals the rows of one table that are not sealed under the keys in use, one page per transaction.
struct TokenResealer: Sendable {
    enum Table: String, CaseIterable {
        case updateTokens = "update_token"
        case deviceTokens = "device_token"
        case owners = "token_owner"
    }

    /// The position after the examined rows: numbers, or a hash.
    struct Position: Sendable {
        fileprivate var activity: Int64 = -1
        fileprivate var device: Int64 = -1
        fileprivate var hash = ""
    }

    struct Page: Sendable {
        var resealed = 0
        var damaged = 0
        /// The position of the next page, or `nil` if there is none.
        var next: Position?
    }

    private let store: SQLStore

    init(_ store: SQLStore) {
        self.store = store
    }

    /// Reseals one page.
    ///
    /// A reader finds the rows, so that no writer waits. The writer then examines them again, because rows written
    /// meanwhile are under the keys in use.
    func page(of table: Table, after position: Position) async throws -> Page {
        let found = try await store.query { sql in try Self.find(table, after: position, sql) }
        guard let last = found.last else { return Page() }
        var page = try await store.write(rank: .prune) { sql in
            switch table {
            case .updateTokens: try Self.resealUpdateTokens(found, sql)
            case .deviceTokens: try Self.resealDeviceTokens(found, sql)
            case .owners: try Self.resealOwners(found, sql)
            }
        }
        page.next = last
        return page
    }

    private static func find(_ table: Table, after last: Position, _ sql: Statements) throws -> [Position] {
        let key = Statements.Argument.int(try sql.sealing.primary(.sealing))
        let limit = Statements.Argument.int(Int64(TokenRotation.page))
        var found: [Position] = []
        switch table {
        case .updateTokens:
            try sql.query(
                """
                SELECT activity, dk FROM update_token WHERE (activity, dk) > (?, ?) AND key <> ?
                ORDER BY activity, dk LIMIT ?
                """, [.int(last.activity), .int(last.device), key, limit]
            ) { row in found.append(Position(activity: row.int(), device: row.int())) }
        case .deviceTokens:
            try sql.query(
                "SELECT dk FROM device_token WHERE dk > ? AND key <> ? ORDER BY dk LIMIT ?",
                [.int(last.device), key, limit]
            ) { row in found.append(Position(device: row.int())) }
            // A device is resealed as a whole. The last one on a full page may have more rows than were found.
            if found.count == TokenRotation.page, let cut = found.last?.device, found.first?.device != cut {
                found.removeAll { $0.device == cut }
            }
        case .owners:
            try sql.query(
                "SELECT hash FROM token_owner WHERE hash > ? AND (key <> ? OR look_up <> ?) ORDER BY hash LIMIT ?",
                [.text(last.hash), key, .int(try sql.sealing.primary(.lookUp)), limit]
            ) { row in found.append(Position(hash: row.text())) }
        }
        return found
    }

    // MARK: - Rows

    private static func resealUpdateTokens(_ found: [Position], _ sql: Statements) throws -> Page {
        let key = try sql.sealing.primary(.sealing)
        var page = Page()
        var rows: [(row: UpdateTokenRow, app: String)] = []
        try sql.query(
            """
            SELECT \(UpdateTokenRow.list(of: "t")), (SELECT app FROM device WHERE dk = t.dk)
            FROM pairs(?) j CROSS JOIN update_token t ON t.activity = j.a AND t.dk = j.b
            WHERE t.key <> ?
            """, [.pairs(found.map { ($0.activity, $0.device) }), .int(key)]
        ) { row in
            guard let token = try sql.token(false, { try UpdateTokenRow(&row) }) else {
                page.damaged += 1
                return
            }
            rows.append((token, row.text()))
        }
        for (old, app) in rows {
            let new = try UpdateTokenRow(sealing: old.record, app: app, sql.sealing)
            page.resealed += try sql.execute(
                """
                UPDATE update_token SET key = ?, value = ?, predecessor = ?
                WHERE activity = ? AND dk = ? AND gen = ? AND key = ?
                """,
                [.int(new.key), .blob(new.value)] + [new.predecessor.map(Statements.Argument.blob) ?? .null]
                    + [.int(old.record.activity), .int(old.record.device), .int(old.record.generation), .int(old.key)])
        }
        return page
    }

    private static func resealDeviceTokens(_ found: [Position], _ sql: Statements) throws -> Page {
        let key = try sql.sealing.primary(.sealing)
        var page = Page()
        var rows: [(row: DeviceTokenRow, app: String)] = []
        try sql.query(
            """
            SELECT \(DeviceTokenRow.list(of: "t")), (SELECT app FROM device WHERE dk = t.dk)
            FROM device_token t WHERE t.dk IN (SELECT value FROM list(?)) AND t.key <> ?
            """, [.list(Set(found.map(\.device)).sorted()), .int(key)]
        ) { row in
            guard let token = try sql.token(false, { try DeviceTokenRow(&row) }) else {
                page.damaged += 1
                return
            }
            rows.append((token, row.text()))
        }
        for (old, app) in rows {
            let new = try DeviceTokenRow(sealing: old.record, app: app, sql.sealing)
            page.resealed += try sql.execute(
                """
                UPDATE device_token SET key = ?, value = ?
                WHERE dk = ? AND kind = ? AND type = ? AND gen = ? AND key = ?
                """,
                [
                    .int(new.key), .blob(new.value), .int(old.record.device), .int(Int64(old.record.kind.rawValue)),
                    .text(old.record.type), .int(old.record.generation), .int(old.key),
                ])
        }
        return page
    }

    /// Reseals owners. A new hash is a new row, and the same commit deletes the old one.
    private static func resealOwners(_ found: [Position], _ sql: Statements) throws -> Page {
        let keys = (try sql.sealing.primary(.sealing), try sql.sealing.primary(.lookUp))
        var page = Page()
        var old: [TokenOwnerRow] = []
        try sql.query(
            """
            SELECT \(TokenOwnerRow.list) FROM token_owner WHERE hash IN (SELECT value FROM list(?))
            AND (key <> ? OR look_up <> ?)
            """, [.texts(found.map(\.hash)), .int(keys.0), .int(keys.1)]
        ) { row in
            guard let owner = try sql.token(false, { try TokenOwnerRow(&row) }) else {
                page.damaged += 1
                return
            }
            old.append(owner)
        }
        for row in old {
            page.resealed += try sql.execute(
                "DELETE FROM token_owner WHERE hash = ? AND key = ? AND look_up = ?",
                [.text(row.hash), .int(row.key), .int(row.lookUp)])
        }
        try sql.write(
            try old.map { try TokenOwnerRow(sealing: $0.record, sql.sealing) }.sorted { $0.hash < $1.hash })
        return page
    }
}
