package import APNSModel
package import LiveActivityCore
package import LiveActivityStorage

extension SQLStore: WebhookStore {
    package func webhook(_ key: WebhookKey) async throws(StorageError) -> WebhookState {
        try await write { sql in
            guard let place = try Self.place(key, sql) else {
                let place = WebhookPlace(key, position: try Self.span(of: key.app, sql).newest)
                try sql.write([place])
                return WebhookState(place: place)
            }
            return try Self.state(place, sql)
        }
    }

    /// Returns the first waiting deliveries of each activity, and the activities that have more.
    private static func state(_ place: WebhookPlace, _ sql: Statements) throws -> WebhookState {
        let limit = Statements.Argument.int(Int64(WebhookState.waitingOfOne))
        let rows = try deliveries(
            """
            WHERE app = ?1 AND name = ?2 AND seq IN (
                SELECT seq FROM (
                    SELECT seq, row_number() OVER (PARTITION BY activity ORDER BY seq) AS place
                    FROM webhook_delivery WHERE app = ?1 AND name = ?2 AND dead_at IS NULL
                ) AS ranked WHERE place <= ?3
            ) ORDER BY seq
            """, names(place.key) + [limit], sql)
        var parked: Set<ActivityNumber?> = []
        try sql.query(
            """
            SELECT activity FROM webhook_delivery WHERE app = ? AND name = ? AND dead_at IS NULL
            GROUP BY activity HAVING count(*) > ?
            """, names(place.key) + [limit]
        ) { row in parked.insert(row.intOrNil()) }
        return WebhookState(place: place, waiting: rows, parked: parked)
    }

    package func waiting(
        for key: WebhookKey, of activity: ActivityNumber?, limit: Int
    ) async throws(StorageError) -> [WebhookDelivery] {
        try await query { sql in
            try Self.deliveries(
                """
                INDEXED BY webhook_delivery_by_activity
                WHERE app = ? AND name = ? AND activity IS NOT DISTINCT FROM ? AND dead_at IS NULL ORDER BY seq LIMIT ?
                """,
                Self.names(key) + [activity.map { .int($0) } ?? .null, .int(Int64(limit))], sql)
        }
    }

    package func webhooks() async throws(StorageError) -> [WebhookPlace] {
        try await query { sql in try Self.places(sql) }
    }

    package func save(_ progress: WebhookProgress) async throws(StorageError) -> Bool {
        try await write(rank: .settle) { sql in
            let place = progress.place
            guard try Self.place(place.key, sql)?.version == place.version else { return false }
            try sql.write([place])
            try sql.write(progress.rows.map { WebhookDeliveryRow(key: place.key, record: $0) })
            if !progress.done.isEmpty {
                try sql.run(
                    "DELETE FROM webhook_delivery WHERE app = ? AND name = ? AND seq IN (SELECT value FROM list(?))",
                    Self.names(place.key) + [.list(progress.done)])
            }
            return true
        }
    }

    package func deadDeliveries(
        to key: WebhookKey, after: EventNumber, limit: Int
    ) async throws(StorageError) -> [WebhookDelivery] {
        try await query { sql in
            try Self.deliveries(
                "WHERE app = ? AND name = ? AND seq > ? AND dead_at IS NOT NULL ORDER BY seq LIMIT ?",
                Self.names(key) + [.int(after), .int(Int64(limit))], sql)
        }
    }

    package func deliveryCounts(of key: WebhookKey) async throws(StorageError) -> (waiting: Int, dead: Int) {
        try await query { sql in
            let all = "SELECT count(*) FROM webhook_delivery WHERE app = ? AND name = ? AND dead_at IS "
            return (
                Int(try sql.number(all + "NULL", Self.names(key)) ?? 0),
                Int(try sql.number(all + "NOT NULL", Self.names(key)) ?? 0)
            )
        }
    }

    package func replay(
        _ what: WebhookReplay, to key: WebhookKey, at now: UnixTime
    ) async throws(StorageError) -> Int? {
        try await write { sql in
            guard var place = try Self.place(key, sql) else { return nil }
            place.version += 1
            var count = 0
            let revive = """
                UPDATE webhook_delivery SET dead_at = NULL, tries = 0, first_at = NULL, due_at = NULL
                WHERE app = ? AND name = ? AND dead_at IS NOT NULL
                """
            switch what {
            case .dead(nil): count = try sql.execute(revive, Self.names(key))
            case .dead(let numbers?):
                count = try sql.execute(
                    revive + " AND seq IN (SELECT value FROM list(?))",
                    Self.names(key) + [.list(numbers)])
            case .everything(let number):
                let span = try Self.span(of: key.app, sql)
                place.position = min(place.position, max(number, span.erasedThrough))
                count = try sql.execute(
                    "DELETE FROM webhook_delivery WHERE app = ? AND name = ? AND seq > ? AND dead_at IS NOT NULL",
                    Self.names(key) + [.int(place.position)])
            }
            try sql.write([place])
            return count
        }
    }

    package func discard(_ dead: [EventNumber]?, of key: WebhookKey) async throws(StorageError) -> Int? {
        try await write { sql in
            guard try Self.place(key, sql) != nil else { return nil }
            let erase = "DELETE FROM webhook_delivery WHERE app = ? AND name = ? AND dead_at IS NOT NULL"
            guard let dead else { return try sql.execute(erase, Self.names(key)) }
            return try sql.execute(
                erase + " AND seq IN (SELECT value FROM list(?))", Self.names(key) + [.list(dead)])
        }
    }

    package func enable(_ key: WebhookKey) async throws(StorageError) -> Bool? {
        try await write { sql in
            guard var place = try Self.place(key, sql) else { return nil }
            guard place.disabledAt != nil else { return false }
            place.disabledAt = nil
            place.failures = 0
            place.failingSince = nil
            place.version += 1
            try sql.write([place])
            return true
        }
    }

    // MARK: - Rows

    private static func names(_ key: WebhookKey) -> [Statements.Argument] { [.text(key.app.text), .text(key.name)] }

    private static func place(_ key: WebhookKey, _ sql: Statements) throws -> WebhookPlace? {
        var place: WebhookPlace?
        try sql.query("SELECT \(WebhookPlace.list) FROM webhook WHERE app = ? AND name = ?", names(key)) { row in
            place = try WebhookPlace(&row)
        }
        return place
    }

    private static func deliveries(
        _ condition: String, _ arguments: [Statements.Argument], _ sql: Statements
    ) throws -> [WebhookDelivery] {
        var found: [WebhookDelivery] = []
        try sql.query("SELECT \(WebhookDeliveryRow.list) FROM webhook_delivery \(condition)", arguments) { row in
            found.append(try WebhookDeliveryRow(&row).record)
        }
        return found
    }
}
