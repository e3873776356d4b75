package import APNSModel
import LiveActivityCore
package import LiveActivityStorage

extension SQLiteStore: AdminStore {
    package func insertKey(_ key: APIKeyRecord) async throws(StorageError) {
        try await write { sql in try sql.write([key]) }
    }

    package func key(_ id: String) async throws(StorageError) -> APIKeyRecord? {
        try await query { sql in
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

    package func check() async throws(StorageError) {
        _ = try await query { sql in try sql.number("SELECT 1 FROM activity LIMIT 1") }
    }

    package func statistics() async throws(StorageError) -> StoreStatistics {
        var statistics = counters.statistics
        statistics.waiting = queue.waiting
        statistics.earliestDue = [try await nextWakeAt(), try await nextNotificationAt()].compactMap { $0 }.min()
        return statistics
    }
}

extension APIKeyRecord: StoredRow {
    static let table = "api_key"
    static let columns = ["id", "app", "scope", "secret_hash", "created_at", "revoked_at"]
    static let keyColumns = ["id"]

    init(_ row: inout RowReader) throws {
        self.init(
            id: row.text(), app: try decodeBundleID(row.text(), Self.table),
            scope: try decodeCase(row.text(), Self.table, "scope"), secretHash: row.blob(), createdAt: row.time())
        revokedAt = row.timeOrNil()
    }

    func bind(_ row: inout RowBinder) {
        row.text(id)
        row.text(app.text)
        row.text(scope.rawValue)
        row.blob(secretHash)
        row.time(createdAt)
        row.time(revokedAt)
    }
}
