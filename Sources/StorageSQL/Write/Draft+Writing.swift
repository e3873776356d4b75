import APNSModel
import LiveActivityCore

extension Draft {
    /// Writes the changes of a group, table by table in key order.
    func write(_ sql: Statements) throws {
        let moved = changes.activities.intersection(changes.movedActivities)
        try sql.write(moved.sorted().compactMap { snapshot.activities[$0] })
        try sql.write(
            changes.activities.subtracting(moved).sorted().compactMap { snapshot.activities[$0] }, leavesPlaces: true)
        try sql.write(changes.contents.sorted().compactMap { snapshot.contents[$0] })
        try sql.write(changes.lanes.sorted().compactMap { snapshot.lane($0) })
        try sql.write(
            changes.users.compactMap { key in
                snapshot.users[key].map { UserRow(number: $0, app: key.app, id: key.id) }
            }.sorted { $0.number < $1.number })
        try sql.write(changes.devices.sorted().compactMap { snapshot.devices[$0] })
        try writeDeviceTokens(sql)
        let movedCards = changes.cards.intersection(changes.movedCards)
        try sql.write(movedCards.sorted().compactMap { snapshot.cards[$0] })
        try sql.write(
            changes.cards.subtracting(movedCards).sorted().compactMap { snapshot.cards[$0] },
            leavesPlaces: true)
        let removed = changes.removedUpdateTokens.sorted()
        try sql.delete(
            "DELETE FROM update_token WHERE (activity, dk) IN (SELECT a, b FROM pairs(?))",
            .pairs(removed.map { ($0.activity, $0.device) }))
        try writeUpdateTokens(sql)
        let left = changes.removedMembers.sorted()
        try sql.delete(
            "DELETE FROM member WHERE (activity, user) IN (SELECT a, b FROM pairs(?))",
            .pairs(left.map { ($0.activity, $0.user) }))
        try sql.write(
            changes.addedMembers.union(changes.memberMarks).sorted().map { key in
                MemberRow(key, mark: snapshot.memberMarks[key, default: 0])
            })
        try sql.write(changes.audiences.sorted().compactMap { snapshot.audiences[$0] })
        try sql.write(changes.idempotency.compactMap { snapshot.idempotency[$0] })
        let forgotten = changes.removedTombstones.sorted()
        try sql.delete(
            "DELETE FROM tombstone WHERE (dk, local_id) IN (SELECT a, b FROM tuples(?))",
            .tuples(forgotten.map { ($0.device, $0.localID.text, nil, nil) }))
        try sql.write(changes.tombstones.sorted().compactMap { snapshot.tombstones[$0] })
        try writeOwners(sql)
        try writeReleases(sql)
        try sql.write(changes.budgets.sorted().compactMap { snapshot.budgets[$0] })
        try writeNotifications(sql)
        try sql.write(changes.refreshes.sorted().compactMap { snapshot.refreshes[$0] })
        for key in changes.removedMemos.sorted() {
            try sql.run(
                "DELETE FROM memo WHERE user = ? AND type = ? AND zone = ?",
                [.int(key.user), .text(key.type), .text(key.zone)])
        }
        try sql.write(changes.memos.sorted().compactMap { snapshot.memos[$0] })
        try writeChannels(sql)
        try writeHistory(sql)
        try writeEvents(sql)
    }

    private func writeChannels(_ sql: Statements) throws {
        for key in changes.removedChannels.sorted() {
            try sql.run(
                "DELETE FROM channel WHERE activity = ? AND env = ? AND run = ?",
                [.int(key.activity), .text(key.environment.rawValue), .int(Int64(key.run))])
        }
        try sql.write(changes.channels.sorted().compactMap { snapshot.channels[$0] })
        for key in changes.removedStrangers.sorted() {
            try sql.run(
                "DELETE FROM stranger WHERE app = ? AND env = ? AND id = ?",
                [.text(key.route.app.text), .text(key.route.environment.rawValue), .text(key.id.text)])
        }
        try sql.write(changes.strangers.sorted().map(StrangerRow.init))
    }

    /// Numbers the events here. Only one thread writes, so the order of numbers is the order of commits.
    private func writeEvents(_ sql: Statements) throws {
        guard !changes.events.isEmpty else { return }
        let last = try sql.number("SELECT value FROM meta WHERE name = 'event_seq'") ?? 0
        try sql.write(
            changes.events.enumerated().map { index, event in
                EventRow(number: last + Int64(index) + 1, record: event)
            })
        var counts = ["event_seq": Int64(changes.events.count)]
        for event in changes.events { counts[AppUse.name(.events, event.app.text), default: 0] += 1 }
        try AppUse.add(counts, sql)
    }

    private func writeNotifications(_ sql: Statements) throws {
        let over = changes.removedNotifications
        try sql.delete("DELETE FROM notification WHERE no IN (SELECT value FROM list(?))", .list(over.sorted()))
        let done = changes.removedAddressees.sorted()
        try sql.delete(
            "DELETE FROM addressee WHERE (notification, dk) IN (SELECT a, b FROM pairs(?))",
            .pairs(done.map { ($0.notification, $0.device) }))
        try sql.write(changes.notifications.sorted().compactMap { snapshot.notifications[$0] })
        try sql.write(changes.addressees.sorted().compactMap { snapshot.addressees[$0] })
    }

    private func writeHistory(_ sql: Statements) throws {
        guard !changes.history.isEmpty else { return }
        var sequence = try sql.number("SELECT value FROM meta WHERE name = 'history_seq'") ?? 0
        var rows: [HistoryRow] = []
        for record in changes.history {
            sequence += 1
            rows.append(HistoryRow(sequence: sequence, record: record))
        }
        try sql.write(rows.sorted { ($0.record.activity, $0.sequence) < ($1.record.activity, $1.sequence) })
        var counts = ["history_seq": Int64(rows.count)]
        let apps = try owners(of: Set(rows.map(\.record.activity)), sql)
        for row in rows {
            let app = apps[row.record.activity] ?? ""
            counts[AppUse.name(.historyBytes, app), default: 0] += Int64(row.body.count)
        }
        try AppUse.add(counts, sql)
    }

    /// Returns the apps of activities: nearly all from the draft, and the remaining ones by a query.
    private func owners(of numbers: Set<ActivityNumber>, _ sql: Statements) throws -> [ActivityNumber: String] {
        var apps: [ActivityNumber: String] = [:]
        for number in numbers { apps[number] = snapshot.activities[number]?.app.text }
        let others = numbers.filter { apps[$0] == nil }
        guard !others.isEmpty else { return apps }
        try sql.query(
            "SELECT a.no, \(AppUse.owner) FROM activity a WHERE a.no IN (SELECT value FROM list(?))",
            [.list(others.sorted())]
        ) { row in apps[row.int()] = row.text() }
        return apps
    }
}
