import APNSModel
import LiveActivityCore

/// Loads broadcast channels: those of activities, those of a route, and those that are due.
extension SnapshotLoader {
    /// Loads the channels of the activities that have any.
    static func fetchChannels(
        of numbers: some Collection<ActivityNumber>, _ sql: Statements, _ snapshot: inout Snapshot
    ) throws {
        guard !numbers.isEmpty else { return }
        try sql.query(
            "SELECT \(ChannelRecord.list) FROM channel WHERE activity IN (SELECT value FROM list(?))",
            [.list(numbers.sorted())]
        ) { row in
            let record = try ChannelRecord(&row)
            snapshot.channels[record.key] = record
        }
    }

    mutating func resolveChannels(_ keys: [SnapshotKey]) throws {
        for key in keys {
            switch key {
            case .channel(let key):
                wanted.activities.insert(key.activity)
                try Self.fetchChannels(of: [key.activity], sql, &snapshot)
            case .channels(let route): try fetchChannels(of: route)
            case .dueChannels(let due): try findDue(due)
            default: break
            }
        }
    }

    private mutating func fetchChannels(of route: PushRoute) throws {
        let arguments = [Statements.Argument.text(route.app.text), .text(route.environment.rawValue)]
        try sql.query("SELECT \(ChannelRecord.list) FROM channel WHERE app = ? AND env = ?", arguments) { row in
            let record = try ChannelRecord(&row)
            snapshot.channels[record.key] = record
            wanted.bare.insert(record.key.activity)
        }
        try sql.query("SELECT \(StrangerRow.list) FROM stranger WHERE app = ? AND env = ?", arguments) { row in
            snapshot.strangers.insert(try StrangerRow(&row).key)
        }
    }

    private mutating func findDue(_ due: DueChannels) throws {
        var found: [ChannelKey] = []
        func take(_ row: inout RowReader) throws {
            let record = try ChannelRecord(&row)
            if snapshot.channels.updateValue(record, forKey: record.key) == nil { found.append(record.key) }
        }
        try sql.query(
            """
            SELECT \(ChannelRecord.list) FROM channel INDEXED BY channel_in_flight
            WHERE flight_node IS NOT NULL AND flight_node <> ? ORDER BY activity, run, env LIMIT ?
            """, [.int(due.node), .int(Int64(due.limit))], take)
        try sql.query(
            """
            SELECT \(ChannelRecord.list) FROM channel INDEXED BY channel_due
            WHERE due_at <= ? ORDER BY due_at, activity, run, env LIMIT ?
            """, [.int(due.at.milliseconds), .int(Int64(due.limit))], take)
        snapshot.dueChannels = Array(found.prefix(due.limit))
        wanted.activities.formUnion(snapshot.dueChannels.map(\.activity))
    }
}
