package import APNSModel
import Foundation
import GRDB
package import LiveActivityCore
package import LiveActivityStorage

extension SQLiteStore: ReadStore {
    package func activity(_ app: BundleID, _ id: ActivityID) async throws(StorageError) -> ActivityState? {
        try await read { db in
            let snapshot = try SnapshotLoader.snapshot(of: [.activity(app, id)], db)
            guard let number = snapshot.activityNumbers[.init(app, id)] else { return nil }
            let phones = try Int.fetchOne(
                db.cachedStatement(sql: "SELECT count(*) FROM instance WHERE activity = ?"), arguments: [number])
            return Self.state(number, snapshot, phones: phones ?? 0)
        }
    }

    package func phones(
        of activity: ActivityNumber, after: DeviceKey, limit: Int
    ) async throws(StorageError) -> [PhoneSituation] {
        try await read { db in
            let keys = try Int64.fetchAll(
                db.cachedStatement(sql: "SELECT dk FROM instance WHERE activity = ? AND dk > ? ORDER BY dk LIMIT ?"),
                arguments: [activity, after, limit])
            let draft = Draft(try SnapshotLoader.snapshot(of: [.phones(activity, devices: keys)], db))
            guard let type = draft.snapshot.activities[activity]?.type else { return [] }
            return keys.compactMap { draft.phone(.init(activity, $0), type: type) }
        }
    }

    package func history(
        of activity: ActivityNumber, after: Int64, limit: Int
    ) async throws(StorageError) -> [(sequence: Int64, record: HistoryRecord)] {
        let rows = try await read { db in
            try Row.fetchAll(
                db.cachedStatement(sql: "SELECT * FROM history WHERE activity = ? AND seq > ? ORDER BY seq LIMIT ?"),
                arguments: [activity, after, limit]
            ).map { row in
                let body: Data = row["body"]
                guard let entries = HistoryCoder.decode(Array(body)) else {
                    throw DamagedRow(table: "history", column: "body")
                }
                let sequence: Int64 = row["seq"]
                return HistoryRow(
                    sequence: sequence,
                    record: HistoryRecord(activity: activity, at: row["at"], revision: row["rev"], entries: entries))
            }
        }
        return rows.map { ($0.sequence, $0.record) }
    }

    package func activities(
        on device: DeviceID, of app: BundleID
    ) async throws(StorageError) -> [(state: ActivityState, instance: InstanceRecord)] {
        let found = try await read { db in
            let snapshot = try SnapshotLoader.snapshot(of: [.device(app, device)], db)
            guard let key = snapshot.deviceKeys[.init(app, device)] else { return [DeviceActivity]() }
            return snapshot.instances.values.filter { $0.device == key }.sorted { $0.activity < $1.activity }
                .compactMap { instance in
                    Self.state(instance.activity, snapshot, phones: 0).map {
                        DeviceActivity(state: $0, instance: instance)
                    }
                }
        }
        return found.map { ($0.state, $0.instance) }
    }

    package func deviceIDs(_ keys: [DeviceKey]) async throws(StorageError) -> [DeviceKey: DeviceID] {
        try await read { db in
            let rows = try Row.fetchAll(
                db.cachedStatement(sql: "SELECT dk, id FROM device WHERE dk IN (SELECT value FROM json_each(?))"),
                arguments: [jsonList(keys)])
            return Dictionary(
                rows.map { ($0["dk"] as Int64, DeviceID(stored: $0["id"])) }, uniquingKeysWith: { first, _ in first })
        }
    }

    private struct HistoryRow: Sendable {
        let sequence: Int64
        let record: HistoryRecord
    }

    private struct DeviceActivity: Sendable {
        let state: ActivityState
        let instance: InstanceRecord
    }

    private static func state(_ number: ActivityNumber, _ snapshot: Snapshot, phones: Int) -> ActivityState? {
        guard let record = snapshot.activities[number] else { return nil }
        return ActivityState(
            record: record, content: snapshot.contents[number], lane: snapshot.lanes[number], phones: phones)
    }
}
