import APNSModel
import LiveActivityCore

extension SnapshotLoader {
    mutating func fetchCards(_ keys: Set<Snapshot.PhoneKey>) throws {
        snapshot.cards.reserveCapacity(snapshot.cards.count + keys.count)
        try Self.fetch(CardMachine.self, keys, sql) { record in
            snapshot.cards[.init(record.activity, record.device)] = record
        }
    }

    /// Loads the instances of many devices of one activity.
    ///
    /// A flight took these devices in order, so a scan from the first to the last meets few others. After twice as many
    /// rows as devices, the remaining ones are loaded by key.
    mutating func fetchNeighbours(_ devices: [DeviceKey], of activity: ActivityNumber) throws {
        guard let first = devices.first, let last = devices.last else { return }
        snapshot.cards.reserveCapacity(snapshot.cards.count + devices.count)
        let most = devices.count * 2
        var (met, next) = (0, 0)
        try sql.query(
            """
            SELECT \(CardMachine.list) FROM instance
            WHERE activity = ? AND dk BETWEEN ? AND ? ORDER BY dk LIMIT ?
            """, [.int(activity), .int(first), .int(last), .int(Int64(most))]
        ) { row in
            met += 1
            let device = row.peek(1)
            while next < devices.count, devices[next] < device { next += 1 }
            guard next < devices.count, devices[next] == device else { return }
            next += 1
            snapshot.cards[.init(activity, device)] = try CardMachine(&row)
        }
        guard met == most else { return }
        try fetchCards(Set(devices[next...].map { .init(activity, $0) }))
    }

    mutating func fetchUpdateTokens(_ keys: Set<Snapshot.PhoneKey>) throws {
        try Self.fetch(UpdateTokenRow.self, keys, sql, passesOver: true) { row in
            snapshot.updateTokens[.init(row.record.activity, row.record.device)] = row.record
        }
    }

    /// Number of phones of one activity above which they get a statement of their own.
    static let manyPhones = 16

    /// Loads rows by activity and device. An activity with many phones gets its own statement, and all others share
    /// one.
    ///
    /// - Parameter passesOver: `true` if a row whose token does not open counts as missing.
    static func fetch<Row: StoredRow>(
        _ type: Row.Type, _ keys: Set<Snapshot.PhoneKey>, _ sql: Statements, passesOver: Bool = false,
        _ take: (Row) -> Void
    ) throws {
        guard !keys.isEmpty else { return }
        func read(_ row: inout RowReader) throws {
            if let record = try sql.token(!passesOver, { try Row(&row) }) { take(record) }
        }
        var few: [Snapshot.PhoneKey] = []
        for (activity, phones) in Dictionary(grouping: keys, by: \.activity) {
            guard phones.count > manyPhones else {
                few += phones
                continue
            }
            try sql.query(
                """
                SELECT \(Row.list) FROM \(Row.table)
                WHERE activity = ? AND dk IN (SELECT value FROM list(?))
                """, [.int(activity), .list(phones.map(\.device).sorted())]
            ) { row in try read(&row) }
        }
        guard !few.isEmpty else { return }
        try sql.query(
            """
            SELECT \(Row.list(of: "t")) FROM pairs(?) j CROSS JOIN \(Row.table) t
            ON t.activity = j.a AND t.dk = j.b
            """, [.pairs(few.sorted().map { ($0.activity, $0.device) })]
        ) { row in try read(&row) }
    }
}
