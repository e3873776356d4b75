import APNSModel
import GRDB
import LiveActivityCore

/// What a database that is put back takes over from the one that was there: whatever was taken from somebody since the
/// backup was made stays taken. Nothing is given that the backup does not give.
enum BackupInheritance {
    /// - Parameters:
    ///   - copy: The database that is put back; not in a transaction.
    ///   - path: The database that was there; it is not changed.
    /// - Returns: `nil` when that one cannot be read. Then nothing is changed.
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
                var withdrawn = BackupRestore.Withdrawn(keys: 0, devices: 0)
                try db.inTransaction {
                    withdrawn = try takeOver(db, now: now)
                    return .commit
                }
                return withdrawn
            }
        } catch {
            return nil
        }
    }

    private static func takeOver(_ db: Database, now: UnixTime) throws -> BackupRestore.Withdrawn {
        try db.execute(
            sql: """
                UPDATE main.api_key SET revoked_at = (SELECT revoked_at FROM former.api_key f WHERE f.id = api_key.id)
                WHERE revoked_at IS NULL AND id IN (SELECT id FROM former.api_key WHERE revoked_at IS NOT NULL)
                """)
        let keys = db.changesCount
        let devices = try signOut(db, now: now)
        // A credential that was revoked is not good again, and the one that took another's place stays good.
        try db.execute(
            sql: """
                UPDATE main.device SET credentials = f.credentials FROM former.device f
                WHERE f.app = device.app AND f.id = device.id AND f.user_id = device.user_id
                    AND device.signed_out_at IS NULL AND f.signed_out_at IS NULL
                    AND f.credentials IS NOT device.credentials
                """)
        // Who has read events goes on behind them, so no number is given to another event.
        try db.execute(
            sql: """
                UPDATE main.meta SET value = max(value, (SELECT value FROM former.meta WHERE name = 'event_seq'))
                WHERE name = 'event_seq'
                """)
        return BackupRestore.Withdrawn(keys: keys, devices: devices)
    }

    /// As the sign-out did it, but that no end is sent: the cards were ended then.
    private static func signOut(_ db: Database, now: UnixTime) throws -> Int {
        try db.execute(
            sql: """
                CREATE TEMP TABLE cut AS SELECT d.dk FROM main.device d JOIN former.device f USING (app, id)
                WHERE d.signed_out_at IS NULL AND (f.signed_out_at IS NOT NULL OR f.user_id <> d.user_id)
                """)
        for table in ["device_token", "update_token"] {
            try db.execute(sql: "DELETE FROM main.\(table) WHERE dk IN (SELECT dk FROM cut)")
        }
        try db.execute(
            sql: """
                UPDATE main.device SET signed_out_at = ?, credentials = NULL WHERE dk IN (SELECT dk FROM cut)
                """, arguments: [now.milliseconds])
        let count = db.changesCount
        try db.execute(sql: "DROP TABLE cut")
        return count
    }
}
