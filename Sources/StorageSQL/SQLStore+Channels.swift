package import APNSModel
package import LiveActivityCore
package import LiveActivityStorage

extension SQLStore {
    package func nextChannelAt() async throws(StorageError) -> UnixTime? {
        try await query { sql in
            try sql.number(
                "SELECT due_at FROM channel INDEXED BY channel_due WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1"
            ).map(UnixTime.init(milliseconds:))
        }
    }

    package func channels(
        of app: BundleID?, after: ChannelKey?, limit: Int
    ) async throws(StorageError) -> ChannelPage {
        try await query { sql in
            let found = try Self.channels(of: app, after: after, limit: limit + 1, sql)
            let page = found.prefix(limit)
            guard !page.isEmpty else { return ChannelPage(rows: [], next: nil) }
            var activities: [ActivityNumber: ActivityRecord] = [:]
            try sql.query(
                "SELECT \(ActivityRecord.list) FROM activity WHERE no IN (SELECT value FROM list(?))",
                [.list(Set(page.map(\.key.activity)).sorted())]
            ) { row in
                let record = try ActivityRecord(&row)
                activities[record.number] = record
            }
            let rows = page.map { channel in
                // An activity that is being erased belongs to no app any more.
                let activity = activities[channel.key.activity].flatMap { $0.app == channel.app ? $0 : nil }
                return ChannelPage.Row(record: channel, activity: activity)
            }
            return ChannelPage(rows: rows, next: found.count > limit ? page.last?.key : nil)
        }
    }

    private static func channels(
        of app: BundleID?, after: ChannelKey?, limit: Int, _ sql: Statements
    ) throws -> [ChannelRecord] {
        var conditions: [String] = []
        var arguments: [Statements.Argument] = []
        if let app {
            conditions.append("app = ?")
            arguments.append(.text(app.text))
        }
        if let after {
            conditions.append("(activity, run, env) < (?, ?, ?)")
            arguments += [.int(after.activity), .int(Int64(after.run)), .text(after.environment.rawValue)]
        }
        let place = conditions.isEmpty ? "" : "WHERE " + conditions.joined(separator: " AND ")
        var found: [ChannelRecord] = []
        try sql.query(
            """
            SELECT \(ChannelRecord.list) FROM channel \(place)
            ORDER BY activity DESC, run DESC, env DESC LIMIT ?
            """, arguments + [.int(Int64(limit))]
        ) { row in found.append(try ChannelRecord(&row)) }
        return found
    }

    package func channelCounts(of app: BundleID?) async throws(StorageError) -> [PushRoute: ChannelCounts] {
        try await query { sql in
            var counts: [PushRoute: ChannelCounts] = [:]
            for (route, number) in try Self.count("channel", of: app, sql) {
                counts[route, default: ChannelCounts()].own = number
            }
            for (route, number) in try Self.count("stranger", of: app, sql) {
                counts[route, default: ChannelCounts()].foreign = number
            }
            return counts
        }
    }

    /// Returns the ids of a route's channels: those of activities, and those that the server has not made.
    package func channelIDs(on route: PushRoute) async throws(StorageError) -> RouteChannels {
        try await query { sql in
            let own = Set(try Self.ids("channel", on: route, sql))
            let foreign = try Self.ids("stranger", on: route, sql).filter { !own.contains($0) }
            return RouteChannels(own: own, foreign: foreign.sorted { $0.text < $1.text })
        }
    }

    private static func ids(_ table: String, on route: PushRoute, _ sql: Statements) throws -> [ChannelID] {
        var ids: [ChannelID] = []
        try sql.query(
            "SELECT id FROM \(table) WHERE id IS NOT NULL AND app = ? AND env = ?",
            [.text(route.app.text), .text(route.environment.rawValue)]
        ) { row in
            guard let id = ChannelID(row.text()) else { throw DamagedRow(table: table, column: "id") }
            ids.append(id)
        }
        return ids
    }

    /// Returns the numbers of a table's rows that have a channel's id.
    private static func count(_ table: String, of app: BundleID?, _ sql: Statements) throws -> [PushRoute: Int] {
        var arguments: [Statements.Argument] = []
        if let app { arguments.append(.text(app.text)) }
        let ofApp = app == nil ? "" : "AND app = ?"
        var counts: [PushRoute: Int] = [:]
        try sql.query(
            "SELECT app, env, count(*) FROM \(table) WHERE id IS NOT NULL \(ofApp) GROUP BY app, env", arguments
        ) { row in
            let bundleID = try decodeBundleID(row.text(), table)
            let environment: APNSEnvironment = try decodeCase(row.text(), table, "env")
            counts[PushRoute(bundleID, environment)] = Int(row.int())
        }
        return counts
    }
}
