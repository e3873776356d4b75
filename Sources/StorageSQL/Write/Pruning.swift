import APNSModel
import LiveActivityCore
import LiveActivityStorage

/// Erases one page of history and events: rows that are too old, and rows that exceed a limit.
///
/// Excess rows are taken from the apps with the most, oldest first, until all apps together are within the limit. So a
/// flood of one app erases nothing of an app below its share.
struct Pruning {
    /// The positions at which the search for excess rows continues, in order of age. `nil` means the oldest row.
    struct Walks: Sendable {
        var history: HistoryPlace?
        var event: EventNumber?
    }

    struct HistoryPlace: Sendable {
        let at: Int64
        let activity: ActivityNumber
        let sequence: Int64
    }

    /// Number of rows that a page examines for each row that it may erase. Rows of other apps lie in between.
    static let looks = 10

    let sql: Statements
    let limits: PruneLimits
    let now: UnixTime
    private(set) var walks: Walks
    private(set) var hasMore = false

    init(sql: Statements, limits: PruneLimits, now: UnixTime, walks: Walks) {
        self.sql = sql
        self.limits = limits
        self.now = now
        self.walks = walks
    }

    private var most: Int { limits.rows * Self.looks }

    // MARK: - History

    private struct HistoryPage {
        var rows: [(Int64, Int64)] = []
        var bytes: [String: Int64] = [:]

        mutating func take(_ place: HistoryPlace, of app: String, _ length: Int64) {
            rows.append((place.activity, place.sequence))
            bytes[app, default: 0] += length
        }
    }

    mutating func pruneHistory() throws {
        var page = HistoryPage()
        try sql.query(
            """
            SELECT h.at, h.activity, h.seq, \(AppUse.owner), length(h.body)
            FROM history h INDEXED BY history_by_age LEFT JOIN activity a ON a.no = h.activity
            WHERE h.at < ? ORDER BY h.at, h.activity, h.seq LIMIT ?
            """, [.int((now - limits.history).milliseconds), .int(Int64(limits.rows))]
        ) { row in
            let place = HistoryPlace(at: row.int(), activity: row.int(), sequence: row.int())
            page.take(place, of: row.text(), row.int())
        }
        try erase(page)
        if page.rows.count == limits.rows {
            hasMore = true
        } else {
            try eraseExcessHistory(room: limits.rows - page.rows.count)
        }
    }

    private mutating func eraseExcessHistory(room: Int) throws {
        let use = try AppUse(.historyBytes, sql)
        guard let level = use.level(within: Int64(limits.historyBytes)) else {
            walks.history = nil
            return
        }
        var rest = use.amounts.filter { $0.value > level }
        let start = walks.history ?? HistoryPlace(at: .min, activity: .min, sequence: .min)
        var page = HistoryPage()
        var (looked, last) = (0, start)
        // For apps below the level, only the index is read.
        try sql.query(
            """
            SELECT h.at, h.activity, h.seq, \(AppUse.owner),
                CASE WHEN \(AppUse.owner) IN (SELECT value FROM list(?)) THEN length(h.body) END
            FROM history h INDEXED BY history_by_age LEFT JOIN activity a ON a.no = h.activity
            WHERE (h.at, h.activity, h.seq) > (?, ?, ?) ORDER BY h.at, h.activity, h.seq LIMIT ?
            """,
            [
                .texts(rest.keys.sorted()), .int(start.at), .int(start.activity), .int(start.sequence),
                .int(Int64(most)),
            ]
        ) { row in
            guard page.rows.count < room else { return }
            last = HistoryPlace(at: row.int(), activity: row.int(), sequence: row.int())
            looked += 1
            let app = row.text()
            guard let length = row.intOrNil(), let amount = rest[app], amount > level else { return }
            page.take(last, of: app, length)
            rest[app] = amount - length
        }
        try erase(page)
        let isOver = looked < most && page.rows.count < room
        walks.history = isOver ? nil : last
        hasMore = hasMore || !isOver
    }

    private func erase(_ page: HistoryPage) throws {
        guard !page.rows.isEmpty else { return }
        try sql.delete("DELETE FROM history WHERE (activity, seq) IN (SELECT a, b FROM pairs(?))", .pairs(page.rows))
        try AppUse.add(
            Dictionary(uniqueKeysWithValues: page.bytes.map { (AppUse.name(.historyBytes, $0.key), -$0.value) }), sql)
    }

    // MARK: - Events

    private struct EventPage {
        var numbers: [EventNumber] = []
        var counts: [String: Int64] = [:]
        /// The last erased event of each app that has too many.
        var floors: [String: EventNumber] = [:]
    }

    mutating func pruneEvents() throws {
        let oldest = (now - limits.events).milliseconds
        var page = EventPage()
        var isOver = false
        let floor = try sql.number("SELECT value FROM meta WHERE name = 'event_floor'") ?? 0
        try sql.query(
            "SELECT seq, at, app FROM event WHERE seq > ? ORDER BY seq LIMIT ?",
            [.int(floor), .int(Int64(limits.rows))]
        ) { row in
            let (number, at) = (row.int(), row.int())
            // Commits determine numbers, and clocks determine times. Erasing stops at the first row that is young
            // enough.
            isOver = isOver || at >= oldest
            guard !isOver else { return }
            page.numbers.append(number)
            page.counts[row.text(), default: 0] += 1
        }
        try erase(page)
        if page.numbers.count == limits.rows {
            hasMore = true
        } else {
            try eraseExcessEvents(room: limits.rows - page.numbers.count)
        }
    }

    private mutating func eraseExcessEvents(room: Int) throws {
        let use = try AppUse(.events, sql)
        guard let level = use.level(within: Int64(limits.eventCount)) else {
            walks.event = nil
            return
        }
        var rest = use.amounts
        var page = EventPage()
        var (looked, last) = (0, walks.event ?? 0)
        try sql.query(
            "SELECT seq, app FROM event WHERE seq > ? ORDER BY seq LIMIT ?", [.int(last), .int(Int64(most))]
        ) { row in
            guard page.numbers.count < room else { return }
            last = row.int()
            looked += 1
            let app = row.text()
            guard let amount = rest[app], amount > level else { return }
            rest[app] = amount - 1
            page.numbers.append(last)
            page.counts[app, default: 0] += 1
            page.floors[app] = last
        }
        try erase(page)
        let isOver = looked < most && page.numbers.count < room
        walks.event = isOver ? nil : last
        hasMore = hasMore || !isOver
    }

    /// Deletes events together with their deliveries.
    private func erase(_ page: EventPage) throws {
        guard !page.numbers.isEmpty else { return }
        for table in ["event", "webhook_delivery"] {
            try sql.delete("DELETE FROM \(table) WHERE seq IN (SELECT value FROM list(?))", .list(page.numbers))
        }
        try AppUse.add(
            Dictionary(uniqueKeysWithValues: page.counts.map { (AppUse.name(.events, $0.key), -$0.value) }), sql)
        for (app, number) in page.floors {
            try sql.run(
                """
                INSERT INTO meta (name, value) VALUES ('event_floor:' || ?, ?)
                ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE meta.value < excluded.value
                """, [.text(app), .int(number)])
        }
        // All events before the first remaining one are erased, whatever their app.
        let erased = try sql.number(
            "SELECT coalesce((SELECT min(seq) - 1 FROM event), (SELECT value FROM meta WHERE name = 'event_seq'))")
        guard let erased else { return }
        try sql.run("UPDATE meta SET value = ?1 WHERE name = 'event_floor' AND value < ?1", [.int(erased)])
    }
}
