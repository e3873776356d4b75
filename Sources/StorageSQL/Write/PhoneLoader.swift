import APNSModel
import LiveActivityCore

/// Loads the data of the reconciler.
///
/// One statement loads phones with device, update token and budget. It follows the order of the table, so neighbors are
/// read once. For phones without a card, further statements load what a start needs.
struct PhoneLoader {
    let sql: Statements
    /// The types for which the cards of devices are counted.
    var counting: [BundleID: Set<String>] = [:]
    /// `true` if a phone whose token does not open is damaged and skipped. Otherwise it counts as a phone without a
    /// token.
    var isStrict = false

    /// Loads phones.
    ///
    /// - Parameters:
    ///   - condition: The condition and order of the instances `i`.
    ///   - index: The index that finds them, or `nil` for the table's own order.
    /// - Returns: The keys of the phones, in that order.
    func load(
        where condition: String, _ arguments: [Statements.Argument], by index: String? = nil,
        _ snapshot: inout Snapshot
    ) throws -> [Snapshot.PhoneKey] {
        var keys: [Snapshot.PhoneKey] = []
        try sql.query(Self.text(where: condition, by: index), arguments) { row in
            let instance = try CardMachine(&row)
            let key = Snapshot.PhoneKey(instance.activity, instance.device)
            let facts = try DeviceFacts(&row)
            let token = row.has(UpdateTokenRow.self) ? try sql.token(isStrict) { try UpdateTokenRow(&row) } : nil
            let budget = row.has(BudgetRecord.self) ? try BudgetRecord(&row) : nil
            // Set only after all reads, because nothing is known about a skipped phone.
            keys.append(key)
            snapshot.cards[key] = instance
            snapshot.facts[key.device] = facts
            if let token { snapshot.updateTokens[key] = token.record }
            if let budget { snapshot.budgets[budget.key] = budget }
        }
        return keys
    }

    private static let columns = [
        CardMachine.list(of: "i"), DeviceFacts.columns.map { "d.\($0)" }.joined(separator: ", "),
        UpdateTokenRow.list(of: "t", app: "d.app"), BudgetRecord.list(of: "b"),
    ].joined(separator: ", ")

    private static func text(where condition: String, by index: String?) -> String {
        """
        SELECT \(columns)
        FROM instance i\(index.map { " INDEXED BY \($0)" } ?? "") CROSS JOIN device d ON d.dk = i.dk
        LEFT JOIN update_token t ON t.activity = i.activity AND t.dk = i.dk
        LEFT JOIN budget b ON b.dk = i.dk AND b.kind = \(BudgetRecord.Kind.high.rawValue)
        WHERE \(condition)
        """
    }

    /// Loads phones by their keys.
    func load(_ keys: Set<Snapshot.PhoneKey>, _ snapshot: inout Snapshot) throws {
        guard !keys.isEmpty else { return }
        _ = try load(
            where: "(i.activity, i.dk) IN (SELECT a, b FROM pairs(?))",
            [.pairs(keys.sorted().map { ($0.activity, $0.device) })], &snapshot)
    }

    /// Loads what only phones need that may get more than a push to their card. In most fan-outs they are few. Call it
    /// once for all loaded phones.
    func loadStarts(_ keys: some Sequence<Snapshot.PhoneKey>, _ snapshot: inout Snapshot) throws {
        var startable: [ActivityNumber: [DeviceKey]] = [:]
        for key in keys {
            let activity = snapshot.activities[key.activity]
            if let instance = snapshot.cards[key], !instance.needsDevice(in: activity) { continue }
            startable[key.activity, default: []].append(key.device)
        }
        guard !startable.isEmpty else { return }
        let list = Statements.Argument.list(Set(startable.values.joined()).sorted())
        try sql.query(
            """
            SELECT \(DeviceTokenRow.list) FROM device_token
            WHERE dk IN (SELECT value FROM list(?))
            """, [list]
        ) { row in
            guard let record = try sql.token(isStrict, { try DeviceTokenRow(&row) })?.record else { return }
            snapshot.deviceTokens[.init(record.device, record.kind, record.type)] = record
        }
        try sql.query(
            "SELECT \(BudgetRecord.list) FROM budget WHERE dk IN (SELECT value FROM list(?))", [list]
        ) { row in
            let record = try BudgetRecord(&row)
            snapshot.budgets[record.key] = record
        }
        try findOpenStarts(startable, list, &snapshot)
        try countCards(startable, &snapshot)
    }

    /// Loads the cards of devices on which a type with a card limit may start one.
    private func countCards(_ phones: [ActivityNumber: [DeviceKey]], _ snapshot: inout Snapshot) throws {
        guard !counting.isEmpty else { return }
        var devices: Set<DeviceKey> = []
        for (number, list) in phones {
            guard let activity = snapshot.activities[number], counting[activity.app]?.contains(activity.type) == true
            else { continue }
            devices.formUnion(list)
        }
        // Devices of abandoned flights were counted with their pages.
        devices.subtract(snapshot.deviceCards.keys)
        guard !devices.isEmpty else { return }
        try sql.query(
            """
            SELECT i.dk, i.activity, coalesce(a.relevance, 0), coalesce(i.started_at, a.run_started_at),
                i.state = 4 AND t.value IS NOT NULL AND t.dead_at IS NULL
            FROM list(?) j CROSS JOIN instance i INDEXED BY instance_by_device ON i.dk = j.value
            JOIN activity a ON a.no = i.activity
            LEFT JOIN update_token t ON t.activity = i.activity AND t.dk = i.dk
            WHERE i.state IN (2, 3, 4) ORDER BY i.dk, i.activity
            """, [.list(devices.sorted())]
        ) { row in
            let device = row.int()
            let card = DeviceCard(
                activity: row.int(), relevance: row.doubleOrNil() ?? 0, startedAt: row.time(),
                canBeEnded: row.int() != 0)
            snapshot.deviceCards[device, default: []].append(card)
        }
    }

    /// Finds phones with an unmatched start of another activity whose card would look the same.
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
            FROM list(?) j CROSS JOIN instance i INDEXED BY open_start ON i.dk = j.value
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
