import APNSModel
import Foundation
import GRDB
import LiveActivityCore

extension Draft {
    /// Writes what the draft changed, table by table in key order.
    func write(_ db: Database) throws {
        for number in changes.activities.sorted() { try snapshot.activities[number]?.write(db) }
        for number in changes.contents.sorted() { try snapshot.contents[number]?.write(db) }
        for number in changes.lanes.sorted() { try snapshot.lanes[number]?.write(db) }
        for key in changes.users {
            let statement = try db.cachedStatement(sql: "INSERT INTO user (no, app, id) VALUES (?, ?, ?)")
            try statement.execute(arguments: [snapshot.users[key], key.app.text, key.id.text])
        }
        for key in changes.devices.sorted() { try snapshot.devices[key]?.write(db) }
        for key in changes.deviceTokens { try snapshot.deviceTokens[key]?.write(db) }
        for key in changes.instances.sorted() { try snapshot.instances[key]?.write(db) }
        for key in changes.removedUpdateTokens.sorted() {
            let statement = try db.cachedStatement(sql: "DELETE FROM update_token WHERE activity = ? AND dk = ?")
            try statement.execute(arguments: [key.activity, key.device])
        }
        for key in changes.updateTokens.sorted() { try snapshot.updateTokens[key]?.write(db) }
        for (activity, user) in changes.addedMembers {
            let statement = try db.cachedStatement(sql: "INSERT OR IGNORE INTO member (activity, user) VALUES (?, ?)")
            try statement.execute(arguments: [activity, user])
        }
        for (activity, user) in changes.removedMembers {
            let statement = try db.cachedStatement(sql: "DELETE FROM member WHERE activity = ? AND user = ?")
            try statement.execute(arguments: [activity, user])
        }
        for key in changes.tombstones { try snapshot.tombstones[key]?.write(db) }
        for value in changes.owners { try snapshot.owners[value]?.write(db) }
        for record in changes.history {
            let statement = try db.cachedStatement(
                sql: """
                    INSERT INTO history (activity, seq, at, rev, n, body) VALUES
                    (?1, (SELECT coalesce(max(seq), 0) + 1 FROM history WHERE activity = ?1), ?2, ?3, ?4, ?5)
                    """)
            try statement.execute(arguments: [
                record.activity, record.at, record.revision, record.entries.count,
                Data(HistoryCoder.encode(record.entries)),
            ])
        }
    }

    /// The commit leaves something to do, now or at a time that the dispatcher does not know yet.
    var makesWorkDue: Bool {
        changes.activities.contains { snapshot.activities[$0]?.wakeAt != nil }
    }
}
