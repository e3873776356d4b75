import APNSModel
import GRDB
import LiveActivityCore
import StorageSQL

/// Carries withdrawals over from the replaced database to the restored one. What was revoked since the backup stays
/// revoked. The restored database grants nothing that the backup did not grant.
enum BackupInheritance {
    /// Applies the withdrawals since the backup.
    ///
    /// - Parameters:
    ///   - copy: The database to restore, outside a transaction.
    ///   - path: The path of the replaced database, which is not changed.
    /// - Returns: `nil`, without any change, if the replaced database cannot be read or is not a later state of the
    ///   copy. It is not a later state if it was created again since, or restored from an older backup.
    static func apply(_ copy: DatabaseQueue, from path: String, now: UnixTime) -> BackupRestore.Withdrawn? {
        do {
            let old = try DatabaseQueue(path: path, configuration: BackupCopy.configuration)
            defer { try? old.close() }
            guard try old.read(DatabaseKind.of) == .known, try old.read(Schema.migrator.hasCompletedMigrations) else {
                return nil
            }
            return try copy.writeWithoutTransaction { db in
                try db.execute(sql: "ATTACH DATABASE ? AS former", arguments: [path])
                defer { try? db.execute(sql: "DETACH DATABASE former") }
                guard try isLater(db) else { return nil }
                // Each part runs by itself, so that a damaged database still contributes what can be read.
                let keys = part(db) { try revokeKeys(db, now: now) }
                let devices = part(db) { try signOut(db, now: now) }
                _ = part(db) { try keepCredentials(db) }
                _ = part(db) { try goOnNumbering(db) }
                return BackupRestore.Withdrawn(keys: keys, devices: devices)
            }
        } catch {
            return nil
        }
    }

    private static func part<Value>(_ db: Database, _ work: () throws -> Value) -> Value? {
        var value: Value?
        do {
            try db.inTransaction {
                value = try work()
                return .commit
            }
            return value
        } catch {
            return nil
        }
    }

    /// Returns `true` if the replaced database is a later state of the copy. Its counters never decrease, so what it
    /// lacks was withdrawn since.
    private static func isLater(_ db: Database) throws -> Bool {
        try Int.fetchOne(
            db,
            sql: """
                SELECT count(*) FROM main.meta m JOIN former.meta f USING (name)
                WHERE name IN ('history_seq', 'event_seq') AND f.value >= m.value
                """) == 2
    }

    /// Revokes keys that the replaced database has revoked. Keys that it lacks were revoked or expired, and then
    /// erased.
    private static func revokeKeys(_ db: Database, now: UnixTime) throws -> Int {
        try db.execute(
            sql: """
                UPDATE main.api_key SET revoked_at =
                    coalesce((SELECT revoked_at FROM former.api_key f WHERE f.id = api_key.id), :now)
                WHERE revoked_at IS NULL AND id NOT IN (SELECT id FROM former.api_key WHERE revoked_at IS NULL)
                """, arguments: ["now": now.milliseconds])
        return db.changesCount
    }

    /// Keeps the current credentials: a revoked credential stays revoked, and its replacement stays valid.
    private static func keepCredentials(_ db: Database) throws {
        try db.execute(
            sql: """
                UPDATE main.device SET credentials = f.credentials FROM former.device f
                WHERE f.app = device.app AND f.id = device.id AND f.user_id = device.user_id
                    AND device.signed_out_at IS NULL AND f.signed_out_at IS NULL
                    AND f.credentials IS NOT device.credentials
                """)
    }

    /// Continues the numbering of events after the replaced database, so that no number is used twice.
    ///
    /// The events in between no longer exist. A reader that was there, or at the backup's end, must be told about the
    /// gap.
    private static func goOnNumbering(_ db: Database) throws {
        let newest = "(SELECT value FROM former.meta WHERE name = 'event_seq')"
        try db.execute(
            sql: """
                INSERT OR REPLACE INTO main.meta SELECT 'event_gap', \(newest)
                WHERE \(newest) > (SELECT value FROM main.meta WHERE name = 'event_seq')
                """)
        try db.execute(sql: "UPDATE main.meta SET value = max(value, \(newest)) WHERE name = 'event_seq'")
    }

    /// Signs devices out as the sign-out did, but without sending ends: their cards were ended then.
    ///
    /// Devices that the replaced database lacks have signed out and were erased since.
    private static func signOut(_ db: Database, now: UnixTime) throws -> Int {
        try db.execute(
            sql: """
                CREATE TEMP TABLE cut AS SELECT d.dk FROM main.device d LEFT JOIN former.device f USING (app, id)
                WHERE d.signed_out_at IS NULL
                    AND (f.dk IS NULL OR f.signed_out_at IS NOT NULL OR f.user_id <> d.user_id)
                """)
        for table in ["device_token", "update_token"] {
            try db.execute(sql: "DELETE FROM main.\(table) WHERE dk IN (SELECT dk FROM cut)")
        }
        // A dead token value is dead for every device.
        try db.execute(sql: "DELETE FROM main.token_owner WHERE dead_at IS NULL AND dk IN (SELECT dk FROM cut)")
        try BackupSafety.forgetCards(SQLiteTransaction(db), on: "SELECT dk FROM cut", now: now)
        try db.execute(
            sql: """
                UPDATE main.device SET signed_out_at = ?, credentials = NULL WHERE dk IN (SELECT dk FROM cut)
                """, arguments: [now.milliseconds])
        let count = db.changesCount
        try db.execute(sql: "DROP TABLE cut")
        return count
    }
}
