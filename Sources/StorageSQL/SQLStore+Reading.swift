package import APNSModel
package import LiveActivityCore
package import LiveActivityStorage

extension SQLStore: ReadStore {
    package func activity(_ app: BundleID, _ id: ActivityID) async throws(StorageError) -> ActivityState? {
        try await briefQuery { sql in
            let snapshot = try SnapshotLoader.snapshot(of: [.activity(app, id)], sql)
            return snapshot.activityNumbers[.init(app, id)].flatMap { snapshot.state(of: $0) }
        }
    }

    package func activityWithPhones(
        _ app: BundleID, _ id: ActivityID
    ) async throws(StorageError) -> ActivityWithPhones? {
        try await briefQuery { sql in
            let draft = Draft(try SnapshotLoader.snapshot(of: [.activityWithPhones(app, id)], sql))
            guard let record = draft.activity(app, id), let state = draft.snapshot.state(of: record.number) else {
                return nil
            }
            return (state, draft.fewPhones(of: record))
        }
    }

    package func phones(
        of activity: ActivityNumber, after: DeviceKey, limit: Int
    ) async throws(StorageError) -> [PhoneSituation] {
        try await query { sql in
            var snapshot = Snapshot()
            try SnapshotLoader.fetchActivities([activity], sql, &snapshot)
            guard let record = snapshot.activities[activity] else { return [] }
            return try Self.phones(of: record, after: after, limit: limit, sql, &snapshot)
        }
    }

    private static func phones(
        of activity: ActivityRecord, after: DeviceKey, limit: Int, _ sql: Statements, _ snapshot: inout Snapshot
    ) throws -> [PhoneSituation] {
        let phones = PhoneLoader(sql: sql)
        let keys = try phones.load(
            where: "i.activity = ? AND i.dk > ? ORDER BY i.dk LIMIT ?",
            [.int(activity.number), .int(after), .int(Int64(limit))], &snapshot)
        try phones.loadStarts(keys, &snapshot)
        let draft = Draft(snapshot)
        return keys.compactMap { draft.phone($0, type: activity.type) }
    }

    package func history(
        of activity: ActivityNumber, after: Int64, limit: Int
    ) async throws(StorageError) -> [(sequence: Int64, record: HistoryRecord)] {
        let rows = try await query { sql in
            var rows: [HistoryRow] = []
            try sql.query(
                "SELECT \(HistoryRow.list) FROM history WHERE activity = ? AND seq > ? ORDER BY seq LIMIT ?",
                [.int(activity), .int(after), .int(Int64(limit))]
            ) { row in rows.append(try HistoryRow(&row)) }
            return rows
        }
        return rows.map { ($0.sequence, $0.record) }
    }

    package func activities(
        on device: DeviceID, of app: BundleID
    ) async throws(StorageError) -> [(state: ActivityState, card: CardMachine)] {
        let found = try await query { sql in
            let snapshot = try SnapshotLoader.snapshot(of: [.device(app, device)], sql)
            guard let key = snapshot.deviceKeys[.init(app, device)] else { return [DeviceActivity]() }
            let isSignedOut = snapshot.devices[key]?.signedOutAt != nil
            return snapshot.cards.values.filter { $0.device == key }.sorted { $0.activity < $1.activity }
                .compactMap { card in
                    var card = card
                    if isSignedOut, card.isWanted { card.admit(isSignedIn: false) }
                    return snapshot.state(of: card.activity).map { DeviceActivity(state: $0, card: card) }
                }
        }
        return found.map { ($0.state, $0.card) }
    }

    package func latestHistory(of activity: ActivityNumber, limit: Int) async throws(StorageError) -> [HistoryRecord] {
        let rows = try await query { sql in
            var rows: [HistoryRow] = []
            try sql.query(
                "SELECT \(HistoryRow.list) FROM history WHERE activity = ? ORDER BY seq DESC LIMIT ?",
                [.int(activity), .int(Int64(limit))]
            ) { row in rows.append(try HistoryRow(&row)) }
            return rows
        }
        return rows.map(\.record)
    }

    package func activities(
        of app: BundleID, _ type: String, from: UnixTime, before: UnixTime, limit: Int
    ) async throws(StorageError) -> RecentActivities {
        try await query { sql in
            var ids: [ActivityID] = []
            // The index contains the activity and the time, so no timeline row is read.
            try sql.query(
                """
                SELECT a.id FROM (
                    SELECT activity, max(at) AS newest FROM (
                        SELECT activity, at FROM history INDEXED BY history_by_age
                        WHERE at >= ? AND at < ? ORDER BY at DESC LIMIT ?
                    ) AS recent GROUP BY activity
                ) h JOIN activity a ON a.no = h.activity
                WHERE a.app = ? AND a.type = ? ORDER BY h.newest DESC, a.no DESC LIMIT ?
                """,
                [
                    .int(from.milliseconds), .int(before.milliseconds), .int(Int64(RecentActivities.maximumRows)),
                    .text(app.text), .text(type), .int(Int64(limit + 1)),
                ]
            ) { row in ids.append(ActivityID(stored: row.text())) }
            let rows = try sql.number(
                """
                SELECT count(*) FROM (
                    SELECT 1 FROM history INDEXED BY history_by_age WHERE at >= ? AND at < ? LIMIT ?
                ) AS recent
                """,
                [
                    .int(from.milliseconds), .int(before.milliseconds), .int(Int64(RecentActivities.maximumRows) + 1),
                ])
            return RecentActivities(
                ids: Array(ids.prefix(limit)),
                hasMore: ids.count > limit || (rows ?? 0) > Int64(RecentActivities.maximumRows))
        }
    }

    package func snapshot(of keys: [SnapshotKey]) async throws(StorageError) -> Snapshot {
        try await query { sql in try SnapshotLoader.snapshot(of: keys, sql) }
    }

    package func tokenHolders(
        among devices: [DeviceKey], starting type: String
    ) async throws(StorageError) -> TokenHolders {
        try await query { sql in
            var holders = TokenHolders()
            try sql.query(
                """
                SELECT dk, kind FROM device_token
                WHERE dk IN (SELECT value FROM list(?)) AND dead_at IS NULL AND (type = ? OR type = '')
                """, [.list(devices), .text(type)]
            ) { row in
                let (device, kind) = (row.int(), DeviceTokenRecord.Kind(rawValue: Int(row.int())))
                switch kind {
                case .device: holders.device.insert(device)
                case .pushToStart: holders.pushToStart.insert(device)
                case nil: break
                }
            }
            return holders
        }
    }

    package func deviceIDs(_ keys: [DeviceKey]) async throws(StorageError) -> [DeviceKey: DeviceID] {
        try await query { sql in
            var ids: [DeviceKey: DeviceID] = [:]
            try sql.query(
                "SELECT dk, id FROM device WHERE dk IN (SELECT value FROM list(?))", [.list(keys)]
            ) { row in ids[row.int()] = DeviceID(stored: row.text()) }
            return ids
        }
    }

    private struct DeviceActivity: Sendable {
        let state: ActivityState
        let card: CardMachine
    }
}

extension Snapshot {
    /// Adds an activity under the id that callers use for it.
    ///
    /// Earlier versions treated a UUID in uppercase and lowercase as two ids, so an activity may exist twice. The later
    /// one counts, because the backend created it beside the phone's.
    mutating func name(_ number: ActivityNumber, _ key: AppID<ActivityID>) {
        activityNumbers[key] = max(number, activityNumbers[key] ?? number)
    }
}
