package import APNSModel
package import LiveActivityCore
package import LiveActivityStorage

extension SQLiteStore {
    package func activities(
        of app: BundleID, _ filter: ActivityFilter
    ) async throws(StorageError) -> ActivityPage {
        try await query { sql in
            let examined = try Self.examined(sql, app, filter)
            var found: [ActivityNumber] = []
            try sql.query(
                """
                SELECT no FROM activity WHERE no IN (SELECT value FROM json_each(?1)) AND app = ?2
                    AND (?3 = '' OR type = ?3) AND (?4 = '' OR phase = ?4)
                ORDER BY no LIMIT ?5
                """,
                [
                    .text(jsonList(examined)), .text(app.text), .text(filter.type ?? ""),
                    .text(filter.phase?.rawValue ?? ""), .int(Int64(filter.limit + 1)),
                ]
            ) { found.append($0.int()) }
            let page = found.prefix(filter.limit)
            let more = found.count > filter.limit ? page.last : nil
            var snapshot = Snapshot()
            try SnapshotLoader.fetchActivities(Set(page), sql, &snapshot)
            return ActivityPage(
                rows: page.compactMap { number in
                    snapshot.activities[number].map { record in
                        let lanes = snapshot.lanes[number] ?? []
                        return ActivityPage.Row(record: record, phones: lanes.reduce(0) { $0 + $1.counts.total })
                    }
                }, next: more ?? (examined.count < ActivityFilter.maximumExamined ? nil : examined.last))
        }
    }

    /// The numbers of the next activities, whether they fit the filter or not; a person's own by their index.
    private static func examined(
        _ sql: Statements, _ app: BundleID, _ filter: ActivityFilter
    ) throws -> [ActivityNumber] {
        var numbers: [ActivityNumber] = []
        let limit = Statements.Argument.int(Int64(ActivityFilter.maximumExamined))
        guard let user = filter.user else {
            try sql.query("SELECT no FROM activity WHERE no > ? ORDER BY no LIMIT ?", [.int(filter.after), limit]) {
                numbers.append($0.int())
            }
            return numbers
        }
        try sql.query(
            """
            SELECT activity FROM member
            WHERE user = (SELECT no FROM user WHERE app = ? AND id = ?) AND activity > ?
            ORDER BY activity LIMIT ?
            """, [.text(app.text), .text(user.text), .int(filter.after), limit]
        ) { numbers.append($0.int()) }
        return numbers
    }

    package func preview<C: Command>(
        _ command: C, of activity: ActivityID, in app: BundleID, phones: [PhoneStretch]
    ) async throws(StorageError) -> Result<Preview<C.Reply>, Refusal> {
        try await query { sql in
            let before = try SnapshotLoader.snapshot(of: command.keys, sql)
            var draft = Draft(before)
            let reply: C.Reply
            switch draft.run(command) {
            case .success(let value): reply = value
            case .failure(let refusal): return .failure(refusal)
            }
            guard let record = draft.activity(app, activity), let state = draft.snapshot.state(of: record.number)
            else { return .failure(.unknownActivity(activity)) }
            let joined = draft.changes.instances.filter {
                $0.activity == record.number && before.instances[$0] == nil
            }.map(\.device)
            return .success(
                Preview(
                    reply: reply, state: state,
                    phones: try phones.map { try Self.phones($0, of: record, joined: joined, draft, sql) }))
        }
    }

    /// The phones of a stretch: those that the command touched as it left them, the others as they are stored.
    private static func phones(
        _ stretch: PhoneStretch, of activity: ActivityRecord, joined: [DeviceKey], _ draft: Draft, _ sql: Statements
    ) throws -> [PhoneSituation] {
        var stored: [DeviceKey] = []
        try sql.query(
            "SELECT dk FROM instance WHERE activity = ? AND dk > ? ORDER BY dk LIMIT ?",
            [.int(activity.number), .int(stretch.after), .int(Int64(stretch.limit))]
        ) { stored.append($0.int()) }
        let keys = (stored + joined.filter { $0 > stretch.after }).sorted().prefix(stretch.limit)
        let others = Draft(
            try SnapshotLoader.snapshot(of: [.phones(activity.number, devices: Array(keys))], sql))
        return keys.compactMap { key in
            let phone = Snapshot.PhoneKey(activity.number, key)
            guard var situation = draft.phone(phone, type: activity.type) else {
                return others.phone(phone, type: activity.type)
            }
            // What commands have no need to load.
            situation.highBudget = others.snapshot.budgets[.init(key, .high)]
            situation.startBudget = others.snapshot.budgets[.init(key, .start)]
            situation.hasOtherOpenStart = others.snapshot.otherOpenStarts.contains(phone)
            return situation
        }
    }
}
