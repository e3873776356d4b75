import APNSModel
import LiveActivityCore

/// Loads what the reconciler looks at beside the instances of pages: devices, tokens, budgets, other open starts; all
/// pages together, one statement per table.
struct PhoneLoader {
    let sql: Statements
    /// The types whose devices' cards are counted.
    var counting: [BundleID: Set<String>] = [:]

    func complete(_ snapshot: inout Snapshot) throws {
        var byActivity: [ActivityNumber: [DeviceKey]] = [:]
        for (key, page) in snapshot.pages { byActivity[key.activity, default: []] += page.devices }
        try complete(byActivity, &snapshot)
    }

    func complete(_ phones: [ActivityNumber: [DeviceKey]], _ snapshot: inout Snapshot) throws {
        var devices: Set<DeviceKey> = []
        for list in phones.values { devices.formUnion(list) }
        guard !devices.isEmpty else { return }
        let list = Statements.Argument.text(jsonList(devices.sorted()))
        snapshot.devices.reserveCapacity(devices.count)
        try sql.query(
            "SELECT \(DeviceRecord.list) FROM device WHERE dk IN (SELECT value FROM json_each(?))", [list]
        ) { row in
            let record = try DeviceRecord(&row)
            snapshot.devices[record.key] = record
        }
        try sql.query(
            "SELECT \(BudgetRecord.list) FROM budget WHERE dk IN (SELECT value FROM json_each(?))", [list]
        ) { row in
            let record = try BudgetRecord(&row)
            snapshot.budgets[record.key] = record
        }
        var keys: Set<Snapshot.PhoneKey> = []
        for (activity, list) in phones { keys.formUnion(list.map { .init(activity, $0) }) }
        snapshot.updateTokens.reserveCapacity(keys.count)
        try SnapshotLoader.fetch(UpdateTokenRecord.self, keys, sql) { record in
            snapshot.updateTokens[.init(record.activity, record.device)] = record
        }
        try loadStarts(phones, &snapshot)
    }

    /// What only a phone without a card asks for: by far the fewest in a fan-out.
    private func loadStarts(_ phones: [ActivityNumber: [DeviceKey]], _ snapshot: inout Snapshot) throws {
        var startable: [ActivityNumber: [DeviceKey]] = [:]
        for (number, devices) in phones {
            let run = snapshot.activities[number]?.run
            let some = devices.filter { device in
                guard let instance = snapshot.instances[.init(number, device)] else { return true }
                return instance.run != run || instance.state != .live || instance.mayBeRenewed
            }
            if !some.isEmpty { startable[number] = some }
        }
        guard !startable.isEmpty else { return }
        let list = Statements.Argument.text(jsonList(Set(startable.values.joined()).sorted()))
        try sql.query(
            """
            SELECT \(DeviceTokenRecord.list) FROM device_token
            WHERE dk IN (SELECT value FROM json_each(?)) AND kind = 2
            """, [list]
        ) { row in
            let record = try DeviceTokenRecord(&row)
            snapshot.deviceTokens[.init(record.device, record.kind, record.type)] = record
        }
        try findOpenStarts(startable, list, &snapshot)
        try countCards(startable, &snapshot)
    }

    /// What the devices show of their app: those that may be started on by a type that asks for it.
    private func countCards(_ phones: [ActivityNumber: [DeviceKey]], _ snapshot: inout Snapshot) throws {
        guard !counting.isEmpty else { return }
        var devices: Set<DeviceKey> = []
        for (number, list) in phones {
            guard let activity = snapshot.activities[number], counting[activity.app]?.contains(activity.type) == true
            else { continue }
            devices.formUnion(list)
        }
        guard !devices.isEmpty else { return }
        try sql.query(
            """
            SELECT i.dk, i.activity, coalesce(a.relevance, 0), coalesce(i.started_at, i.created_at),
                i.state = 4 AND t.value IS NOT NULL AND t.dead_at IS NULL
            FROM json_each(?) j CROSS JOIN instance i INDEXED BY instance_by_device ON i.dk = j.value
            JOIN activity a ON a.no = i.activity
            LEFT JOIN update_token t ON t.activity = i.activity AND t.dk = i.dk
            WHERE i.state IN (2, 3, 4) ORDER BY i.dk, i.activity
            """, [.text(jsonList(devices.sorted()))]
        ) { row in
            let device = row.int()
            let card = DeviceCard(
                activity: row.int(), relevance: row.doubleOrNil() ?? 0, startedAt: row.time(),
                canBeEnded: row.int() != 0)
            snapshot.cards[device, default: []].append(card)
        }
    }

    /// Phones whose device has an unmatched start of another activity which its card could not be told from.
    private func findOpenStarts(
        _ phones: [ActivityNumber: [DeviceKey]], _ list: Statements.Argument, _ snapshot: inout Snapshot
    ) throws {
        struct Look: Hashable {
            let app: String
            let type: String
            let digest: UInt64
        }
        var open: [DeviceKey: [(activity: ActivityNumber, look: Look)]] = [:]
        try sql.query(
            """
            SELECT i.dk, i.activity, a.app, a.type, c.attributes_digest
            FROM json_each(?) j CROSS JOIN instance i INDEXED BY open_start ON i.dk = j.value
            JOIN activity a ON a.no = i.activity JOIN content c ON c.activity = i.activity
            WHERE i.state IN (2, 3) AND i.local_id IS NULL
            """, [list]
        ) { row in
            let (device, activity) = (row.int(), row.int())
            let look = Look(app: row.text(), type: row.text(), digest: UInt64(bitPattern: row.int()))
            open[device, default: []].append((activity, look))
        }
        guard !open.isEmpty else { return }
        for (number, devices) in phones {
            guard let record = snapshot.activities[number], let content = snapshot.contents[number] else { continue }
            let look = Look(app: record.app.text, type: record.type, digest: content.attributesDigest)
            for device in devices
            where open[device]?.contains(where: { $0.activity != number && $0.look == look }) == true {
                snapshot.otherOpenStarts.insert(.init(number, device))
            }
        }
    }
}
