import APNSModel
import LiveActivityCore

/// Loads what the reconciler looks at beside the instances of pages: devices, tokens, budgets, other open starts; all
/// pages together, one statement per table.
struct PhoneLoader {
    let sql: Statements

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
                return instance.run != run || instance.state != .live
            }
            if !some.isEmpty { startable[number] = some }
        }
        guard !startable.isEmpty else { return }
        let list = Statements.Argument.text(jsonList(Set(startable.values.joined()).sorted()))
        try sql.query(
            """
            SELECT \(DeviceTokenRecord.list) FROM device_token
            WHERE dk IN (SELECT value FROM json_each(?))
            """, [list]
        ) { row in
            let record = try DeviceTokenRecord(&row)
            snapshot.deviceTokens[.init(record.device, record.kind, record.type)] = record
        }
        try findOpenStarts(startable, list, &snapshot)
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
