package import APNSModel
package import LiveActivityCore
package import LiveActivityStorage

extension SQLStore: KeyStore {
    package func insertKey(_ key: APIKeyRecord) async throws(StorageError) {
        try await write { sql in try sql.write([key]) }
    }

    package func key(_ id: String) async throws(StorageError) -> APIKeyRecord? {
        try await briefQuery { sql in
            var found: APIKeyRecord?
            try sql.query("SELECT \(APIKeyRecord.list) FROM api_key WHERE id = ?", [.text(id)]) { row in
                found = try APIKeyRecord(&row)
            }
            return found
        }
    }

    package func keys() async throws(StorageError) -> [APIKeyRecord] {
        try await query { sql in
            var keys: [APIKeyRecord] = []
            try sql.query("SELECT \(APIKeyRecord.list) FROM api_key ORDER BY created_at, id") { row in
                keys.append(try APIKeyRecord(&row))
            }
            return keys
        }
    }

    package func revokeKey(_ id: String, at time: UnixTime) async throws(StorageError) -> Bool {
        try await write { sql in
            try sql.execute(
                "UPDATE api_key SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL",
                [.int(time.milliseconds), .text(id)]) > 0
        }
    }

    package func noteUses(_ uses: [String: UnixTime]) async throws(StorageError) {
        // The lowest rank, because nobody waits for it.
        try await write(rank: .prune) { sql in
            for (id, time) in uses.sorted(by: { $0.key < $1.key }) {
                try sql.run(
                    "UPDATE api_key SET used_at = ?1 WHERE id = ?2 AND (used_at IS NULL OR used_at < ?1)",
                    [.int(time.milliseconds), .text(id)])
            }
        }
    }

    package func eraseKeys(overBefore time: UnixTime) async throws(StorageError) -> Int {
        try await write { sql in
            try sql.execute(
                "DELETE FROM api_key WHERE revoked_at < ?1 OR expires_at < ?1", [.int(time.milliseconds)])
        }
    }

    package func device(_ key: DeviceKey) async throws(StorageError) -> DeviceRecord? {
        try await query { sql in
            var found: DeviceRecord?
            try sql.query("SELECT \(DeviceRecord.list) FROM device WHERE dk = ?", [.int(key)]) { row in
                found = try DeviceRecord(&row)
            }
            return found
        }
    }
}

extension SQLStore: AdminStore {
    /// Number of commands that wait to be written.
    package var waiting: Int { queue.waiting }

    package func check() async throws(StorageError) {
        _ = try await query { sql in try sql.number("SELECT 1 FROM activity LIMIT 1") }
    }

    package func statistics() async throws(StorageError) -> StoreStatistics {
        var statistics = counters.statistics
        statistics.waiting = waiting
        statistics.earliestDue = try await nextWork().earliest
        return statistics
    }

    package var health: StoreHealth { counters.health }

    /// Counts index entries only, up to `Backlog.most` of each kind.
    package func backlog(at now: UnixTime) async throws(StorageError) -> Backlog {
        try await query { sql in
            func count(_ rows: String, _ arguments: [Statements.Argument] = []) throws -> Int {
                let text = "SELECT count(*) FROM (SELECT 1 FROM \(rows) LIMIT \(Backlog.most)) AS counted"
                return Int(try sql.number(text, arguments) ?? 0)
            }
            var backlog = Backlog()
            backlog.lanes = try count("lane WHERE next_at IS NOT NULL AND next_at <= ?", [.int(now.milliseconds)])
            backlog.notifications = try count("notification WHERE next_at <= ?", [.int(now.milliseconds)])
            backlog.openStarts = try count("instance INDEXED BY open_start WHERE state IN (2, 3) AND local_id IS NULL")
            return backlog
        }
    }

    package func deviceCounts() async throws(StorageError) -> [BundleID: Int] {
        try await query { sql in
            var counts: [BundleID: Int] = [:]
            try sql.query("SELECT app, count(*) FROM device GROUP BY app") { row in
                let app = try decodeBundleID(row.text(), "device")
                counts[app] = Int(row.int())
            }
            return counts
        }
    }
}

extension APIKeyRecord: StoredRow {
    static let table = "api_key"
    static let columns = [
        "id", "app", "scope", "name", "secret_hash", "created_at", "expires_at", "used_at", "revoked_at",
    ]
    static let keyColumns = ["id"]

    init(_ row: inout RowReader) throws {
        let id = row.text()
        let app = try decodeBundleID(row.text(), Self.table)
        let scope: Scope = try decodeCase(row.text(), Self.table, "scope")
        let name = row.textOrNil()
        self.init(id: id, app: app, scope: scope, secretHash: row.blob(), createdAt: row.time())
        self.name = name
        expiresAt = row.timeOrNil()
        usedAt = row.timeOrNil()
        revokedAt = row.timeOrNil()
    }

    func bind(_ row: inout RowBinder) {
        row.text(id)
        row.text(app.text)
        row.text(scope.rawValue)
        row.text(name)
        row.blob(secretHash)
        row.time(createdAt)
        row.time(expiresAt)
        row.time(usedAt)
        row.time(revokedAt)
    }
}
