import APNSModel
import GRDB
import LiveActivityCore
import LiveActivityStorage
import TestSupport
import Testing

@testable import StorageConformance
@testable import StorageSQL
@testable import StorageSQLite

/// The cost of reads against the size of what they read from. A page costs its own rows, however many there are.
@Suite(.timeLimit(.minutes(10)))
struct ReadSizeTests {
    /// A read, by name, with the number of rows that it must return.
    private struct Read: Sendable {
        let name: String
        let rows: Int
        let run: @Sendable (SQLStore) async throws -> Int

        init(_ name: String, _ rows: Int, _ run: @escaping @Sendable (SQLStore) async throws -> Int) {
            self.name = name
            self.rows = rows
            self.run = run
        }
    }

    private static let app = Sample.bundleID

    /// Lists activities from the newest or oldest on, or from the middle.
    private static func listing(_ name: String, _ change: @escaping @Sendable (inout ActivityFilter) -> Void) -> Read {
        Read("activities \(name)", 50) { store in
            var filter = ActivityFilter(limit: 50)
            change(&filter)
            return try await store.activities(of: app, filter).rows.count
        }
    }

    private static func reads(of count: Int) -> [Read] {
        let middle = Int64(count / 2)
        return [
            Read("an activity", 1) { try await $0.activity(app, Sample.activityID("a")) == nil ? 0 : 1 },
            // Its phones are too many for one answer.
            Read("an activity with its phones", 0) { store in
                try await store.activityWithPhones(app, Sample.activityID("a"))?.phones?.count ?? 0
            },
            Read("phones, first page", 50) { try await $0.phones(of: 1, after: 0, limit: 50).count },
            Read("phones, a page of the middle", 50) { try await $0.phones(of: 1, after: middle, limit: 50).count },
            Read("the timeline", 50) { try await $0.history(of: 1, after: middle, limit: 50).count },
            Read("the end of the timeline", 50) { try await $0.latestHistory(of: 1, limit: 50).count },
            Read("people", 50) { try await $0.people(of: app, after: middle, limit: 50).count },
            listing("from the first on") { _ in },
            listing("from the newest on") { $0.isNewestFirst = true },
            listing("from the middle on") { $0.after = middle },
            listing("of a phase") { $0.phase = .active },
            listing("of a type, newest first") { filter in
                filter.type = "order"
                filter.isNewestFirst = true
            },
            listing("of a person") { $0.user = Sample.user("user-1") },
            Read("events, half of them behind", 50) { store in
                try await store.events(of: app, EventFilter(), after: middle, limit: 50).events.count
            },
            Read("events of a kind that none has", 0) { store in
                let filter = EventFilter(kinds: [.keyHalted])
                return try await store.events(of: app, filter, after: middle, limit: 50).events.count
            },
            Read("the range of events", 0) { Int(try await $0.eventSpan(of: app).erasedThrough) },
            Read("the next work", 0) { try await $0.nextWork().conditions.count },
        ]
    }

    @Test func `a page costs the same, however many activities, phones and events there are`() async throws {
        var costs: [[String: Int]] = []
        // The smaller number is above what one call examines.
        for count in [25_000, 100_000] {
            try await withStore { store in
                try await store.seed(phones: 1)
                try await store.copyRows(to: count)
                var cost: [String: Int] = [:]
                let counter = StepCounter(every: 1)
                try await counter.begin(onReadersOf: store.pool)
                for read in Self.reads(of: count) {
                    // Prepares the statements.
                    #expect(try await read.run(store) == read.rows, "\(read.name)")
                    let before = counter.steps
                    _ = try await read.run(store)
                    cost[read.name] = counter.steps - before
                }
                costs.append(cost)
            }
        }
        for (name, steps) in costs[0].sorted(by: { $0.key < $1.key }) {
            let larger = costs[1][name] ?? 0
            #expect(steps > 10, "\(name): the reads were not counted")
            #expect(larger <= steps + steps / 10, "\(name): \(steps) instructions, then \(larger)")
        }
    }
}

extension SQLStore {
    /// Copies the first row of each table, as if there were many activities, phones, people and events. The first
    /// activity has all phones, and the first person is in all activities.
    fileprivate func copyRows(to count: Int) async throws {
        let event = EventRecord(.started, app: Sample.bundleID, at: Sample.now)
        _ = try await commit(PutRows { draft in draft.tell(event) }).get()
        try await pool.write { db in
            func copy(_ table: String, where condition: String, _ changed: [String: String]) throws {
                let values = try db.columns(in: table).map(\.name).map { changed[$0] ?? $0 }
                try db.execute(
                    sql: """
                        WITH RECURSIVE numbers(value) AS
                            (SELECT 2 UNION ALL SELECT value + 1 FROM numbers WHERE value < \(count))
                        INSERT INTO \(table) SELECT \(values.joined(separator: ", "))
                        FROM numbers JOIN \(table) WHERE \(condition)
                        """)
            }
            let history = try Int64.fetchOne(db, sql: "SELECT min(seq) FROM history") ?? 0
            try copy("activity", where: "no = 1", ["no": "value", "id": "'a' || value"])
            try copy("content", where: "activity = 1", ["activity": "value"])
            try copy("lane", where: "activity = 1", ["activity": "value"])
            try copy("user", where: "no = 1", ["no": "value", "id": "'user-' || value"])
            try copy("device", where: "dk = 1", ["dk": "value", "id": "'d' || value", "user": "value"])
            try copy("instance", where: "dk = 1", ["dk": "value", "local_id": "'c' || value"])
            try copy("member", where: "activity = 1 AND user = 1", ["user": "value"])
            try copy("member", where: "activity = 1 AND user = 1", ["activity": "value"])
            try copy("history", where: "seq = \(history)", ["seq": "value + \(history)"])
            try copy("event", where: "seq = (SELECT min(seq) FROM event)", ["seq": "value + 1"])
            try db.execute(sql: "UPDATE meta SET value = ? WHERE name = 'event_seq'", arguments: [count])
            try db.execute(sql: "UPDATE lane SET live = ? WHERE activity = 1", arguments: [count])
        }
    }
}
