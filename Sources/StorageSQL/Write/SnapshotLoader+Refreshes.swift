import APNSModel
import LiveActivityCore

/// Loads the data of providers: due refreshes, their last results, and the activities that follow from them.
extension SnapshotLoader {
    /// The activities and people of the keys `provided`.
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
                SELECT d.id, d.user_id FROM list(?1) j CROSS JOIN device d ON d.app = ?2 AND d.id = j.value
                """, [.texts(Set(all.map(\.device.text)).sorted()), .text(app.text)]
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
            "SELECT \(RefreshRecord.list) FROM refresh WHERE user IN (SELECT value FROM list(?))",
            [.list(users.sorted())]
        ) { row in
            let record = try RefreshRecord(&row)
            if isWanted(record) { snapshot.refreshes[record.key] = record }
        }
    }

    private mutating func fetchMemos(_ users: Set<UserNumber>, where isWanted: (MemoRecord) -> Bool) throws {
        guard !users.isEmpty else { return }
        try sql.query(
            "SELECT \(MemoRecord.list) FROM memo WHERE user IN (SELECT value FROM list(?))",
            [.list(users.sorted())]
        ) { row in
            let record = try MemoRecord(&row)
            if isWanted(record) { snapshot.memos[record.key] = record }
        }
    }

    // MARK: - Due refreshes

    /// Number of unreadable rows beside which a claim still finds as many rows as it wants.
    private static let mostUnreadable = 256

    /// The keys that an index yields, and the number of rows that are wanted.
    private struct DuePage {
        let keys: [RefreshKey]
        let limit: Int
    }

    private mutating func findDue(_ due: DueRefreshes) throws {
        var pages = [
            try page(
                """
                SELECT user, type FROM refresh INDEXED BY refresh_running
                WHERE node IS NOT NULL AND node <> ? ORDER BY user, type LIMIT ?
                """, [.int(due.node)], limit: DueRefreshes.maximumAbandoned)
        ]
        for want in due.wants {
            for (pace, limit) in [(RefreshRecord.Pace.prompt, want.limit), (.paced, min(want.limit, want.paced))]
            where limit > 0 {
                pages.append(
                    try page(
                        """
                        SELECT user, type FROM refresh INDEXED BY refresh_due
                        WHERE app = ? AND type = ? AND pace = ? AND due_at <= ? ORDER BY due_at, user LIMIT ?
                        """,
                        [
                            .text(want.app.text), .text(want.type), .int(Int64(pace.rawValue)),
                            .int(due.at.milliseconds),
                        ], limit: limit))
            }
        }
        let found = Set(pages.flatMap(\.keys))
        try fetchRefreshes(Set(found.map(\.user))) { found.contains($0.key) }
        let records = snapshot.refreshes
        if let notes = sql.damage { try putOff(found.filter { records[$0] == nil }.sorted(), due, notes) }
        var seen: Set<RefreshKey> = []
        snapshot.dueRefreshes = pages.flatMap { page in page.keys.filter { records[$0] != nil }.prefix(page.limit) }
            .filter { seen.insert($0).inserted }
        let users = Set(snapshot.dueRefreshes.map(\.user))
        try fetchMemos(users) { seen.contains(RefreshKey($0.user, $0.type)) }
        _ = try devices(of: users)
    }

    private func page(_ text: String, _ arguments: [Statements.Argument], limit: Int) throws -> DuePage {
        let most = sql.damage == nil ? limit : limit + Self.mostUnreadable
        var keys: [RefreshKey] = []
        try sql.query(text, arguments + [.int(Int64(most))]) { row in keys.append(RefreshKey(row.int(), row.text())) }
        return DuePage(keys: keys, limit: limit)
    }

    /// Postpones refreshes that cannot be read, which every claim would otherwise meet. They are examined again later,
    /// because a person may repair them.
    private func putOff(_ unreadable: [RefreshKey], _ due: DueRefreshes, _ notes: DamageNotes) throws {
        let later = Statements.Argument.int((due.at + DamagedWork.pause).milliseconds)
        for key in unreadable {
            let words = "a refresh of person number \(key.user)"
            do {
                // A refresh of a lost process belongs to this one until it can be read.
                try sql.run(
                    """
                    UPDATE refresh SET due_at = ?, node = CASE WHEN node IS NULL THEN NULL ELSE ? END
                    WHERE user = ? AND type = ?
                    """, [later, .int(due.node), .int(key.user), .text(key.type)])
                notes.note("\(words) is put off for \(DamagedWork.pause.components.seconds) s")
            } catch let error as SQLError where error.kind == .corrupt {
                // The row contradicts its index, so the database cannot update it.
                notes.note("\(words) cannot be put off, and is passed over")
            }
        }
    }
}
