import JSONText
import LiveActivityAPI

/// The printed form of broadcast channels.
enum ChannelReport {
    static func table(_ list: ChannelList) -> String {
        let routes = Columns.text(
            ["APP", "ENVIRONMENT", "CHANNELS", "FOREIGN", "LIMIT", "AUTO UP TO"],
            list.routes.map { route in
                [
                    route.app, route.environment, String(route.channels), String(route.foreign), String(route.limit),
                    String(route.automaticLimit),
                ]
            })
        guard !list.channels.isEmpty else {
            return routes + "\nno channels; a type's `delivery` asks for them: docs/policy.md\n"
        }
        let channels = Columns.text(
            [
                "ACTIVITY", "APP", "ENVIRONMENT", "RUN", "CHANNEL", "STATE", "STORED", "REVISION", "ENDS",
                "LAST BROADCAST", "NEXT LOOK", "UNDER WAY", "REASON",
            ], list.channels.map(cells))
        let fixes = list.channels.compactMap { row in
            row.fix.map { "\(name(row)), run \(row.run), \(row.environment): \($0)\n" }
        }
        return routes + "\n" + channels + fixes.joined()
    }

    private static func cells(_ row: ChannelList.Row) -> [String] {
        [
            name(row), row.app, row.environment, String(row.run), row.channel ?? "-", state(row), row.storage,
            revision(row), String(row.ends), row.lastAt?.description ?? "-", row.nextLookAt?.description ?? "-",
            row.operation?.kind ?? "-", row.reason?.text ?? "-",
        ]
    }

    /// Returns the activity's id, or the number of an erased activity.
    private static func name(_ row: ChannelList.Row) -> String {
        row.activity ?? "\(row.activityNumber) (erased)"
    }

    private static func state(_ row: ChannelList.Row) -> String {
        row.deletesAt.map { "\(row.state), deleted at \($0)" } ?? row.state
    }

    private static func revision(_ row: ChannelList.Row) -> String {
        let sent = row.revision.map { "\(row.sentRevision) of \($0)" } ?? String(row.sentRevision)
        return row.isBehind ? "\(sent), behind" : sent
    }

    static func json(_ list: ChannelList) throws -> String { try JSONValue(encoding: list).text }
}
