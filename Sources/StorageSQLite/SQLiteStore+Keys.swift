package import APNSModel
import Foundation
import GRDB
import LiveActivityCore
package import LiveActivityStorage

extension SQLiteStore: AdminStore {
    package func insertKey(_ key: APIKeyRecord) async throws(StorageError) {
        try await write { db in
            try db.execute(
                sql: "INSERT INTO api_key (id, app, scope, secret_hash, created_at) VALUES (?, ?, ?, ?, ?)",
                arguments: [key.id, key.app.text, key.scope.rawValue, Data(key.secretHash), key.createdAt])
        }
    }

    package func key(_ id: String) async throws(StorageError) -> APIKeyRecord? {
        try await read { db in
            try Row.fetchOne(db.cachedStatement(sql: "SELECT * FROM api_key WHERE id = ?"), arguments: [id])
                .map(Self.key)
        }
    }

    package func keys() async throws(StorageError) -> [APIKeyRecord] {
        try await read { db in
            try Row.fetchAll(db, sql: "SELECT * FROM api_key ORDER BY created_at, id").map(Self.key)
        }
    }

    package func revokeKey(_ id: String, at time: UnixTime) async throws(StorageError) -> Bool {
        try await write { db in
            try db.execute(
                sql: "UPDATE api_key SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", arguments: [time, id])
            return db.changesCount > 0
        }
    }

    package func check() async throws(StorageError) {
        _ = try await read { db in try Int.fetchOne(db, sql: "SELECT 1 FROM activity LIMIT 1") }
    }

    private static func key(_ row: Row) throws -> APIKeyRecord {
        let hash: Data = row["secret_hash"]
        var record = APIKeyRecord(
            id: row["id"], app: try decodeBundleID(row["app"], "api_key"),
            scope: try decodeCase(row["scope"], "api_key", "scope"), secretHash: Array(hash),
            createdAt: row["created_at"])
        record.revokedAt = row["revoked_at"]
        return record
    }
}
