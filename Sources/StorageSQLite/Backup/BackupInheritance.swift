import APNSModel
import GRDB
import LiveActivityCore

/// What a database that is put back takes over from the one that was there: whatever was taken from somebody since the
/// backup was made stays taken. Nothing is given that the backup does not give.
enum BackupInheritance {
    /// - Parameters:
    ///   - copy: The database that is put back; not in a transaction.
    ///   - path: The database that was there; it is not changed.
    /// - Returns: `nil` when that one cannot be read, or is no later state of the copy's: one that was made anew since,
    ///   or put back from an older backup. Then nothing is changed.
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
                // Each by itself: of a database that is damaged counts what can be read.
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

    /// What is counted never goes back: only then has what it lacks been taken away since.
    private static func isLater(_ db: Database) throws -> Bool {
        try Int.fetchOne(
            db,
            sql: """
                SELECT count(*) FROM main.meta m JOIN former.meta f USING (name)
                WHERE name IN ('history_seq', 'event_seq') AND f.value >= m.value
                """) == 2
    }

    /// Keys that are not there any more were revoked, or over, and erased since.
    private static func revokeKeys(_ db: Database, now: UnixTime) throws -> Int {
        try db.execute(
            sql: """
                UPDATE main.api_key SET revoked_at =
                    coalesce((SELECT revoked_at FROM former.api_key f WHERE f.id = api_key.id), :now)
                WHERE revoked_at IS NULL AND id NOT IN (SELECT id FROM former.api_key WHERE revoked_at IS NULL)
                """, arguments: ["now": now.milliseconds])
        return db.changesCount
    }

    /// A credential that was revoked is not good again, and the one that took another's place stays good.
    private static func keepCredentials(_ db: Database) throws {
        try db.execute(
            sql: """
                UPDATE main.device SET credentials = f.credentials FROM former.device f
                WHERE f.app = device.app AND f.id = device.id AND f.user_id = device.user_id
                    AND device.signed_out_at IS NULL AND f.signed_out_at IS NULL
                    AND f.credentials IS NOT device.credentials
                """)
    }

    /// No number is given to another event. Those between are nowhere any more: who has read up to one of them, or up
    /// to the backup, has to be told.
    private static func goOnNumbering(_ db: Database) throws {
        let newest = "(SELECT value FROM former.meta WHERE name = 'event_seq')"
        try db.execute(
            sql: """
                INSERT OR REPLACE INTO main.meta SELECT 'event_gap', \(newest)
                WHERE \(newest) > (SELECT value FROM main.meta WHERE name = 'event_seq')
                """)
        try db.execute(sql: "UPDATE main.meta SET value = max(value, \(newest)) WHERE name = 'event_seq'")
    }

    /// As the sign-out did it, but that no end is sent: the cards were ended then. Devices that are not there any more
    /// signed out and were erased since.
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
        // That a value is dead holds for whoever has it.
        try db.execute(sql: "DELETE FROM main.token_owner WHERE dead_at IS NULL AND dk IN (SELECT dk FROM cut)")
        try BackupSafety.forgetCards(db, on: "SELECT dk FROM cut", now: now)
        try db.execute(
            sql: """
                UPDATE main.device SET signed_out_at = ?, credentials = NULL WHERE dk IN (SELECT dk FROM cut)
                """, arguments: [now.milliseconds])
        let count = db.changesCount
        try db.execute(sql: "DROP TABLE cut")
        return count
    }
}
