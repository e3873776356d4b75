import APNSModel
import LiveActivityCore

/// What providers compute: who is due, what they said last, and the activities that follow from it.
extension SnapshotLoader {
    /// What the keys `provided` name.
    struct Provided {
        var activities: Set<Snapshot.AppID<ActivityID>> = []
        /// The owners, with their types.
        var people: [Snapshot.AppID<UserID>: Set<String>] = [:]
    }

    mutating func provided(_ keys: [SnapshotKey]) throws -> Provided {
        var provided = Provided()
        var byApp: [BundleID: [(device: DeviceID, owners: [UserID], types: [String])]] = [:]
        for case .provided(let app, let device, let owners, let types) in keys {
            byApp[app, default: []].append((device, owners, types))
        }
        for (app, all) in byApp {
            var known: [DeviceID: UserID] = [:]
            try sql.query(
                """
                SELECT d.id, d.user_id FROM json_each(?1) j CROSS JOIN device d ON d.app = ?2 AND d.id = j.value
                """, [.text(jsonTexts(Set(all.map(\.device.text)).sorted())), .text(app.text)]
            ) { row in known[DeviceID(stored: row.text())] = UserID(stored: row.text()) }
            for (device, owners, types) in all {
                for owner in owners + (known[device].map { [$0] } ?? []) {
                    provided.people[.init(app, owner), default: []].formUnion(types)
                    for type in types {
                        provided.activities.insert(
                            .init(app, ProvidedActivity.id(type: type, user: owner, device: device)))
                    }
                }
            }
        }
        return provided
    }

    mutating func resolveRefreshes(_ keys: [SnapshotKey], _ provided: Provided) throws {
        var people = provided.people
        var memos: [Snapshot.AppID<UserID>: Set<String>] = [:]
        for key in keys {
            switch key {
            case .refreshes(let app, let users, let types):
                for user in users { people[.init(app, user), default: []].formUnion(types) }
            case .memos(let app, let user, let type): memos[.init(app, user), default: []].insert(type)
            case .dueRefreshes(let due): try findDue(due)
            default: break
            }
        }
        guard !people.isEmpty || !memos.isEmpty else { return }
        var numbers: [Snapshot.AppID<UserID>: UserNumber] = [:]
        for (key, number) in try self.numbers(of: Set(people.keys).union(memos.keys), "user", "no") {
            numbers[key] = number
            snapshot.users[key] = number
        }
        let wanted = people.reduce(into: [UserNumber: Set<String>]()) { wanted, item in
            if let number = numbers[item.key] { wanted[number] = item.value }
        }
        try fetchRefreshes(Set(wanted.keys)) { wanted[$0.user]?.contains($0.type) == true }
        let remembered = memos.reduce(into: [UserNumber: Set<String>]()) { remembered, item in
            if let number = numbers[item.key] { remembered[number] = item.value }
        }
        try fetchMemos(Set(remembered.keys)) { remembered[$0.user]?.contains($0.type) == true }
    }

    private mutating func fetchRefreshes(
        _ users: Set<UserNumber>, where isWanted: (RefreshRecord) -> Bool
    ) throws {
        guard !users.isEmpty else { return }
        try sql.query(
            "SELECT \(RefreshRecord.list) FROM refresh WHERE user IN (SELECT value FROM json_each(?))",
            [.text(jsonList(users.sorted()))]
        ) { row in
            let record = try RefreshRecord(&row)
            if isWanted(record) { snapshot.refreshes[record.key] = record }
        }
    }

    private mutating func fetchMemos(_ users: Set<UserNumber>, where isWanted: (MemoRecord) -> Bool) throws {
        guard !users.isEmpty else { return }
        try sql.query(
            "SELECT \(MemoRecord.list) FROM memo WHERE user IN (SELECT value FROM json_each(?))",
            [.text(jsonList(users.sorted()))]
        ) { row in
            let record = try MemoRecord(&row)
            if isWanted(record) { snapshot.memos[record.key] = record }
        }
    }

    // MARK: - What is due

    private mutating func findDue(_ due: DueRefreshes) throws {
        var keys: [RefreshKey] = []
        try sql.query(
            """
            SELECT user, type FROM refresh INDEXED BY refresh_running
            WHERE node IS NOT NULL AND node <> ? ORDER BY user, type LIMIT ?
            """, [.int(due.node), .int(Int64(DueRefreshes.maximumAbandoned))]
        ) { row in keys.append(RefreshKey(row.int(), row.text())) }
        for want in due.wants {
            for (pace, limit) in [(RefreshRecord.Pace.prompt, want.limit), (.paced, min(want.limit, want.paced))]
            where limit > 0 {
                try sql.query(
                    """
                    SELECT user, type FROM refresh INDEXED BY refresh_due
                    WHERE app = ? AND type = ? AND pace = ? AND due_at <= ? ORDER BY due_at, user LIMIT ?
                    """,
                    [
                        .text(want.app.text), .text(want.type), .int(Int64(pace.rawValue)), .int(due.at.milliseconds),
                        .int(Int64(limit)),
                    ]
                ) { row in keys.append(RefreshKey(row.int(), row.text())) }
            }
        }
        var seen: Set<RefreshKey> = []
        snapshot.dueRefreshes = keys.filter { seen.insert($0).inserted }
        let users = Set(snapshot.dueRefreshes.map(\.user))
        try fetchRefreshes(users) { seen.contains($0.key) }
        try fetchMemos(users) { seen.contains(RefreshKey($0.user, $0.type)) }
        _ = try devices(of: users)
    }
}
