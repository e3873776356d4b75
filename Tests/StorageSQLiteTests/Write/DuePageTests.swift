import APNSModel
import GRDB
import LiveActivityCore
import LiveActivityStorage
import TestSupport
import Testing

@testable import StorageSQL
@testable import StorageSQLite

/// The cost of a look at one lane of an activity with many.
struct DuePageTests {
    /// Times at which the phones of an activity need their next look.
    enum Looks: String, CaseIterable {
        /// As after quiet hours, or an upload of an audience.
        case allNow
        /// As after failures. The lane of the test has the latest times.
        case oneAfterTheOther
        case allLater
        /// A few now, the others later at the same time.
        case fewNow

        var sql: String {
            let now = Sample.now.milliseconds
            return switch self {
            case .allNow: "\(now)"
            case .oneAfterTheOther: "\(now) - 1000000 + dk"
            case .allLater: "\(now) + 3600000"
            case .fewNow: "\(now) + iif(dk % 100 = 50, 0, 3600000)"
            }
        }
    }

    private static let phonesOfLane: Int64 = 1_000

    @Test(arguments: Looks.allCases)
    func `a look costs at most its lane, however many phones the activity has`(looks: Looks) async throws {
        var steps: [Int] = []
        var pages: [Snapshot.Page] = []
        for lanes in [Int64(1), 64] {
            try await withStore { store in
                try await store.plant(lanes: lanes, of: Self.phonesOfLane, looks)
                let counter = StepCounter()
                let key = LaneKey(1, (lanes - 1) * Self.phonesOfLane)
                let due = DueLanes(
                    at: Sample.now, lanes: 10, phones: 200, phonesOfOne: 200, phonesOfLane: 200, node: 1)
                let page = try await store.query { sql -> Snapshot.Page? in
                    var snapshot = Snapshot()
                    counter.begin(sql.db)
                    try DueLoader.load(due, sql, &snapshot)
                    counter.end(sql.db)
                    return snapshot.pages[key]
                }
                pages.append(try #require(page))
                steps.append(counter.steps)
            }
        }
        let later = Sample.now + .seconds(3_600)
        for page in pages {
            switch looks {
            case .allNow: #expect(page.devices.count == 200 && !page.isComplete && page.nextLookAt == nil)
            case .oneAfterTheOther: #expect(page.devices.count == 200 && !page.isComplete)
            case .allLater: #expect(page.devices.isEmpty && page.isComplete && page.nextLookAt == later)
            case .fewNow: #expect(page.devices.count == 10 && page.isComplete && page.nextLookAt == later)
            }
        }
        // The last term is one pass over the thousand phones of the lane.
        #expect(steps[0] > 10 && steps[1] < 2 * steps[0] + 100, "\(steps)")
    }
}

extension SQLStore {
    /// Plants lanes with so many phones each, up to date. Only the last lane has work now.
    fileprivate func plant(lanes: Int64, of phones: Int64, _ looks: DuePageTests.Looks) async throws {
        try await seed(phones: 1)
        func columns(_ table: String, _ changed: [String: String]) async throws -> String {
            let names = try await pool.read { db in try db.columns(in: table).map(\.name) }
            return names.map { changed[$0] ?? $0 }.joined(separator: ", ")
        }
        let devices = try await columns("device", ["dk": "value", "id": "'d' || value"])
        let cards = try await columns("instance", ["dk": "value", "local_id": "'c' || value"])
        let records = try await columns(
            "lane",
            [
                "from_dk": "value * \(phones)", "to_dk": "(value + 1) * \(phones)", "pos": "value * \(phones)",
                "stop": "value * \(phones)", "live": "\(phones)",
            ])
        let numbers =
            "WITH RECURSIVE numbers(value) AS (SELECT ? UNION ALL SELECT value + 1 FROM numbers WHERE value < ?)"
        try await pool.write { db in
            for (table, columns) in [("device", devices), ("instance", cards)] {
                try db.execute(
                    sql: "\(numbers) INSERT INTO \(table) SELECT \(columns) FROM numbers JOIN \(table) WHERE dk = 1",
                    arguments: [2, lanes * phones - 1])
            }
            try db.execute(sql: "UPDATE instance SET look_at = \(looks.sql)")
            try db.execute(
                sql: """
                    UPDATE lane
                    SET wrapped = 1, stop = pos, lap = (SELECT lap FROM activity), look_at = 1, next_at = NULL
                    """)
            try db.execute(sql: "UPDATE activity SET begun_lap = lap, wake_at = NULL")
            try db.execute(
                sql: "\(numbers) INSERT INTO lane SELECT \(records) FROM numbers JOIN lane WHERE from_dk = 0",
                arguments: [1, max(1, lanes - 1)])
            try db.execute(sql: "UPDATE lane SET to_dk = ? WHERE from_dk = 0", arguments: [phones])
            try db.execute(sql: "UPDATE lane SET live = ?", arguments: [phones])
            try db.execute(sql: "DELETE FROM lane WHERE from_dk >= ?", arguments: [lanes * phones])
            try db.execute(
                sql: "UPDATE lane SET next_at = ? WHERE from_dk = ?",
                arguments: [Sample.now.milliseconds, (lanes - 1) * phones])
        }
    }
}
