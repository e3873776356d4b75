import APNSModel
import GRDB
import LiveActivityCore

extension UpdateTokenRecord {
    init(_ row: Row) throws {
        self.init(
            activity: row["activity"], device: row["dk"], generation: row["gen"],
            environment: try decodeCase(row["env"], "update_token", "env"), value: TokenValue(stored: row["value"]),
            firstSeenAt: row["seen_at"])
        deadAt = row["dead_at"]
    }

    func write(_ db: Database) throws {
        let statement = try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO update_token (activity, dk, gen, env, value, seen_at, dead_at)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                """)
        try statement.execute(arguments: [
            activity, device, generation, environment.rawValue, value.hex, firstSeenAt, deadAt,
        ])
    }
}

extension DeviceTokenRecord {
    init(_ row: Row) throws {
        self.init(
            device: row["dk"], kind: try decodeCase(row["kind"], "device_token", "kind"), type: row["type"],
            generation: row["gen"], environment: try decodeCase(row["env"], "device_token", "env"),
            value: TokenValue(stored: row["value"]), firstSeenAt: row["seen_at"])
        deadAt = row["dead_at"]
        missedStarts = row["missed_starts"]
    }

    func write(_ db: Database) throws {
        let statement = try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO device_token (dk, kind, type, gen, env, value, seen_at, dead_at, missed_starts)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                """)
        try statement.execute(arguments: [
            device, kind.rawValue, type, generation, environment.rawValue, value.hex, firstSeenAt, deadAt,
            missedStarts,
        ])
    }
}

extension TokenOwnerRecord {
    init(_ row: Row) throws {
        self.init(
            value: TokenValue(stored: row["value"]), kind: try decodeCase(row["kind"], "token_owner", "kind"),
            device: row["dk"], activity: row["activity"], firstSeenAt: row["seen_at"])
        deadAt = row["dead_at"]
    }

    func write(_ db: Database) throws {
        let statement = try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO token_owner (value, kind, dk, activity, seen_at, dead_at)
                VALUES (?, ?, ?, ?, ?, ?)
                """)
        try statement.execute(arguments: [value.hex, kind.rawValue, device, activity, firstSeenAt, deadAt])
    }
}
