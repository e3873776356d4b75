package import APNSModel
package import LiveActivityCore
package import LiveActivityStorage

extension SQLStore {
    package func preview<C: Command>(
        _ command: C, of activity: ActivityID, in app: BundleID, phones: [PhoneStretch]
    ) async throws(StorageError) -> Result<Preview<C.Reply>, Refusal> {
        try await query { sql in
            let before = try SnapshotLoader.snapshot(forCommandsWith: command.keys, sql)
            var draft = Draft(before)
            let reply: C.Reply
            switch draft.run(command) {
            case .success(let value): reply = value
            case .failure(let refusal): return .failure(refusal)
            }
            guard let record = draft.activity(app, activity), let state = draft.snapshot.state(of: record.number)
            else { return .failure(.unknownActivity(activity)) }
            let joined = draft.changes.cards.filter {
                $0.activity == record.number && before.cards[$0] == nil
            }.map(\.device)
            return .success(
                Preview(
                    reply: reply, state: state,
                    phones: try phones.map { try Self.phones($0, of: record, joined: joined, draft, sql) }))
        }
    }

    /// Returns the phones of a stretch. Phones that the command touched are as it left them, and the others as stored.
    private static func phones(
        _ stretch: PhoneStretch, of activity: ActivityRecord, joined: [DeviceKey], _ draft: Draft, _ sql: Statements
    ) throws -> [PhoneSituation] {
        var stored: [DeviceKey] = []
        try sql.query(
            "SELECT dk FROM instance WHERE activity = ? AND dk > ? ORDER BY dk LIMIT ?",
            [.int(activity.number), .int(stretch.after), .int(Int64(stretch.limit))]
        ) { stored.append($0.int()) }
        let keys = (stored + joined.filter { $0 > stretch.after }).sorted().prefix(stretch.limit)
        var loaded = try SnapshotLoader.snapshot(of: [.phones(activity.number, devices: Array(keys))], sql)
        if activity.alertsEachPhone {
            // The stored activity may lack the alert, and then what the alert needs of a phone was not loaded.
            loaded.activities[activity.number] = activity
            try PhoneLoader(sql: sql).loadStarts(keys.map { .init(activity.number, $0) }, &loaded)
        }
        let others = Draft(loaded)
        return keys.compactMap { key in
            let phone = Snapshot.PhoneKey(activity.number, key)
            guard var situation = draft.phone(phone, type: activity.type) else {
                return others.phone(phone, type: activity.type)
            }
            // Commands do not load these values.
            situation.highBudget = others.snapshot.budgets[.init(key, .high)]
            situation.startBudget = others.snapshot.budgets[.init(key, .start)]
            situation.hasOtherOpenStart = others.snapshot.otherOpenStarts.contains(phone)
            if !situation.card.needsDevice(in: activity) { situation.forgetDevice() }
            return situation
        }
    }
}
