package import APNSModel
package import LiveActivityCore
package import LiveActivityStorage

extension SQLStore: EventStore {
    package func eventWakeUps() -> AsyncStream<Void> { eventSubscribers.stream() }

    package func eventSpan(of app: BundleID?) async throws(StorageError) -> EventSpan {
        try await query { sql in try Self.span(of: app, sql) }
    }

    package func events(
        of app: BundleID?, _ filter: EventFilter, after: EventNumber, limit: Int
    ) async throws(StorageError) -> EventPage {
        try await query { sql in
            let span = try Self.span(of: app, sql)
            let start = max(after, span.erasedThrough)
            var (last, events) = (min(span.newest, start + Int64(EventPage.maximumExamined)), [StoredEvent]())
            guard start < last else { return EventPage(events: [], through: max(after, last), span: span) }
            var arguments: [Statements.Argument] = [.int(start), .int(last)]
            var conditions = ""
            if let app {
                conditions += " AND e.app = ?"
                arguments.append(.text(app.text))
            }
            if let kinds = filter.kinds {
                conditions += " AND e.kind IN (SELECT value FROM list(?))"
                arguments.append(.list(kinds.sorted().map { Int64($0.rawValue) }))
            }
            if let activity = filter.activity {
                conditions += " AND a.id IN (SELECT value FROM list(?))"
                arguments.append(.texts(activity.spellings))
            }
            arguments.append(.int(Int64(limit)))
            try sql.query(
                Self.select + " WHERE e.seq > ? AND e.seq <= ?" + conditions + " ORDER BY e.seq LIMIT ?", arguments
            ) { row in events.append(try Self.event(&row)) }
            if events.count == limit, let end = events.last?.number { last = end }
            return EventPage(events: events, through: last, span: span)
        }
    }

    package func events(numbered numbers: [EventNumber]) async throws(StorageError) -> [StoredEvent] {
        try await query { sql in
            var events: [StoredEvent] = []
            try sql.query(
                Self.select + " WHERE e.seq IN (SELECT value FROM list(?)) ORDER BY e.seq",
                [.list(numbers)]
            ) { row in events.append(try Self.event(&row)) }
            return events
        }
    }

    /// Selects events with their ids. The ids of erased activities and devices are `NULL`.
    private static let select = """
        SELECT \(EventRow.list(of: "e")), a.id, d.id FROM event e
        LEFT JOIN activity a ON a.no = e.activity AND a.app = e.app LEFT JOIN device d ON d.dk = e.dk
        """

    private static func event(_ row: inout RowReader) throws -> StoredEvent {
        let event = try EventRow(&row)
        return StoredEvent(
            number: event.number, record: event.record, activity: row.textOrNil().map(ActivityID.init(stored:)),
            device: row.textOrNil().map(DeviceID.init(stored:)))
    }

    /// Returns the numbers of events as one app sees them, or as all apps together see them if `app` is `nil`.
    static func span(of app: BundleID?, _ sql: Statements) throws -> EventSpan {
        let floor = try sql.number("SELECT value FROM meta WHERE name = 'event_floor'") ?? 0
        let newest = try sql.number("SELECT value FROM meta WHERE name = 'event_seq'") ?? 0
        let gap = try sql.number("SELECT value FROM meta WHERE name = 'event_gap'") ?? 0
        guard let app else {
            // An app with too many events has lost some after the first one that remains.
            let last = try sql.number(
                "SELECT max(value) FROM meta WHERE name > 'event_floor:' AND name < 'event_floor;'")
            let lost = last.map { $0 > floor ? $0 : 0 } ?? 0
            return EventSpan(erasedThrough: floor, newest: newest, lostThrough: max(gap, lost))
        }
        let own = try sql.number("SELECT value FROM meta WHERE name = 'event_floor:' || ?", [.text(app.text)])
        return EventSpan(erasedThrough: max(floor, own ?? 0), newest: newest, lostThrough: gap)
    }

    static func places(_ sql: Statements) throws -> [WebhookPlace] {
        var places: [WebhookPlace] = []
        try sql.query("SELECT \(WebhookPlace.list) FROM webhook ORDER BY app, name") { row in
            places.append(try WebhookPlace(&row))
        }
        return places
    }
}
