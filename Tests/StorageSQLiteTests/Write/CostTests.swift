import APNSModel
import GRDB
import LiveActivityCore
import LiveActivityStorage
import Synchronization
import TestSupport
import Testing

@testable import StorageConformance
@testable import StorageSQL
@testable import StorageSQLite

/// Tests of costs that must not grow with the number of phones or of rows.
struct CostTests {
    @Test func `a new state writes the same few rows, whoever watches`() async throws {
        var written: [Int] = []
        for phones in [1, 1000] {
            try await withStore { store in
                try await store.seed(phones: phones)
                let before = try await store.totalChanges()
                _ = try await store.commit(Self.put(step: 2)).get()
                written.append(try await store.totalChanges() - before)
                // Setting the same state again writes no further rows.
                _ = try await store.commit(Self.put(step: 2)).get()
                written.append(try await store.totalChanges() - before)
            }
        }
        // The activity, its content, a row of the timeline and its two counters.
        #expect(written == [5, 5, 5, 5])
    }

    @Test func `a claim runs the same few statements for any number of phones, and writes one lane`() async throws {
        var statements: [Int] = []
        for phones in [2, 900] {
            try await withStore { store in
                try await store.seed(phones: phones)
                _ = try await store.commit(Self.put(step: 2)).get()
                let before = try await store.totalChanges()
                let recorder = StatementRecorder()
                try await recorder.listen(to: store)
                let reply = try await store.commit(Self.claim(at: Sample.now)).get()
                #expect(reply.flights.map(\.seats.count) == [phones])
                statements.append(recorder.count)
                #expect(try await store.totalChanges() - before == 2)
            }
        }
        #expect(statements[0] == statements[1] && statements[0] < 30, "\(statements)")
    }

    @Test func `every statement finds its rows by an index`() async throws {
        try await withStore { store in
            let recorder = StatementRecorder()
            try await recorder.listen(to: store)
            var life = RandomLife(seed: 7, Pair(store))
            try await life.live(steps: 300)
            let statements = recorder.texts.filter { !$0.hasPrefix("SELECT * FROM sqlite") && Self.isOfCommands($0) }
            #expect(statements.count > 30)
            let plans = try await store.pool.read { db in
                try statements.sorted().map { text -> (String, [String]) in
                    let sample = text.replacing(/\?[0-9]*/, with: "1")
                    let plan = try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN \(sample)")
                    return (text, plan.map { $0["detail"] as String })
                }
            }
            for (text, plan) in plans {
                // The rows of a subquery are found by a line of their own.
                let subqueries = plan.filter { $0.hasPrefix("CO-ROUTINE ") || $0.hasPrefix("MATERIALIZE ") }
                    .map { "SCAN \($0.split(separator: " ", maxSplits: 1).last ?? "")" }
                let scans = plan.filter {
                    $0.contains("SCAN") && !$0.contains("json_each") && !$0.contains("VIRTUAL TABLE")
                        && !$0.contains("CONSTANT") && !$0.contains("SCAN (subquery") && !subqueries.contains($0)
                }
                #expect(scans.isEmpty, "\(text): \(scans)")
            }
        }
    }

    @Test func `pages of people, of held phones and of what is erased begin where the one before ended`() async throws {
        try await withStore { store in
            let pages = [
                (SQLStore.pageOfPeople, "SEARCH user USING INTEGER PRIMARY KEY"),
                (Erasure.oldAnnounced, "INDEX activity_announced (run_started_at<?)"),
                (NotificationLoader.pageOfDue, "INDEX addressee_due (notification=? AND due_at<?)"),
            ]
            for (text, way) in pages {
                let plan = try await store.pool.read { db in
                    let sample = text.replacing(/\?[0-9]*/, with: "1")
                    return try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN \(sample)").map { $0["detail"] as String }
                }
                #expect(plan.contains { $0.contains(way) } && !plan.contains { $0.contains("TEMP") }, "\(plan)")
            }
        }
    }

    private static let lists: [(ActivityRecord.Phase?, String?)] = [
        (nil, nil), (.active, nil), (nil, "ann"), (.ended, "ann"),
    ]

    @Test(arguments: [false, true], lists)
    func `a list is read along an index from either end, without a sort`(
        isNewestFirst: Bool, by: (ActivityRecord.Phase?, String?)
    ) async throws {
        let (phase, user) = (by.0, by.1.map(Sample.user))
        var filter = ActivityFilter(limit: 10)
        (filter.isNewestFirst, filter.phase, filter.user) = (isNewestFirst, phase, user)
        let way =
            if user != nil {
                "INDEX member_by_user (user=? AND activity"
            } else if phase != nil {
                "INDEX activity_by_phase (app=? AND phase=? AND rowid"
            } else {
                "SEARCH a USING INTEGER PRIMARY KEY (rowid"
            }
        try await withStore { store in
            for text in [ActivityListing(filter).end, ActivityListing(filter).page] {
                let plan = try await store.pool.read { db in
                    try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN \(text.replacing(/\?[0-9]*/, with: "1"))")
                        .map { $0["detail"] as String }
                }
                #expect(plan.contains { $0.contains(way) }, "\(text): \(plan)")
                #expect(!plan.contains { $0.contains("SCAN") || $0.contains("TEMP") }, "\(text): \(plan)")
            }
        }
    }

    @Test(arguments: [false, true])
    func `a call looks at so many and no more, and the next one goes on where it ended`(
        isNewestFirst: Bool
    )
        async throws
    {
        try await withStore { store in
            let count = ActivityFilter.maximumExamined + 5
            try await store.plantActivities(count, rare: isNewestFirst ? 3 : count - 2)
            var filter = ActivityFilter(limit: 10)
            (filter.isNewestFirst, filter.type) = (isNewestFirst, "Rare")
            let first = try await store.activities(of: Sample.bundleID, filter)
            #expect(first.rows.isEmpty)
            #expect(first.next == ActivityNumber(isNewestFirst ? 6 : ActivityFilter.maximumExamined))
            filter.after = first.next
            let rest = try await store.activities(of: Sample.bundleID, filter)
            #expect(rest.rows.map(\.record.type) == ["Rare"] && rest.next == nil)
        }
    }

    @Test func `the number of prepared statements does not grow with the number of activities`() async throws {
        try await withStore { store in
            let recorder = StatementRecorder()
            try await recorder.listen(to: store)
            var counts: [Int] = []
            for number in 1...6 {
                let id = Sample.activityID("a\(number)")
                var body = SetDesiredState.Body(state: Sample.state(1))
                body.users = [Sample.user("ann")]
                try await store.register()
                for step in 1...2 {
                    body.state = Sample.state(step)
                    let put = SetDesiredState(
                        app: Sample.bundleID, id: id, type: Sample.type(), body: body, now: Sample.now)
                    _ = try await store.commit(put).get()
                    _ = try await store.commit(Self.claim(at: Sample.now + .seconds(60 * number))).get()
                }
                counts.append(recorder.texts.count)
            }
            #expect(counts[3] == counts[5], "\(counts)")
        }
    }

    private static func isOfCommands(_ text: String) -> Bool {
        ["SELECT", "INSERT", "UPDATE", "DELETE"].contains { text.hasPrefix($0) }
    }

    static func put(step: Int) -> SetDesiredState {
        SetDesiredState(
            app: Sample.bundleID, id: Sample.activityID("a"), type: Sample.type(),
            body: SetDesiredState.Body(state: Sample.state(step)), now: Sample.now)
    }

    static func claim(at now: UnixTime) -> ClaimWork {
        ClaimWork(now: now, node: 1, apps: [Sample.bundleID: Sample.app()], seed: 3)
    }
}

extension SQLStore {
    fileprivate func totalChanges() async throws -> Int {
        try await pool.writeWithoutTransaction { db in db.totalChangesCount }
    }

    /// Adds activities numbered from 1. One has another type.
    fileprivate func plantActivities(_ count: Int, rare: Int) async throws {
        _ = try await commit(CostTests.put(step: 1)).get()
        let columns = try await pool.read { db in try db.columns(in: "activity").map(\.name) }
        let values = columns.map { ["no": "value", "id": "'a' || value"][$0] ?? $0 }.joined(separator: ", ")
        try await pool.write { db in
            try db.execute(
                sql: """
                    WITH RECURSIVE numbers(value) AS (SELECT 2 UNION ALL SELECT value + 1 FROM numbers WHERE value < ?)
                    INSERT INTO activity SELECT \(values) FROM numbers JOIN activity WHERE no = 1
                    """, arguments: [count])
            try db.execute(sql: "UPDATE activity SET type = 'Rare' WHERE no = ?", arguments: [rare])
        }
    }

    fileprivate func register() async throws {
        var body = RegisterDevice.Body(user: Sample.user("ann"))
        body.osVersion = .inputPush
        _ = try await commit(
            RegisterDevice(app: Sample.app(), id: Sample.device("phone"), body: body, now: Sample.now, freshKey: 7)
        ).get()
    }

    /// Adds an activity that the given number of phones show, each up to date.
    func seed(phones: Int) async throws {
        _ = try await commit(CostTests.put(step: 1)).get()
        let seed = PutRows { draft in
            for key in Int64(1)...Int64(phones) {
                draft.put(Sample.deviceRecord(key, user: draft.user(Sample.bundleID, Sample.user("user-\(key)"))))
                draft.addMember(key, to: 1)
                var instance = CardMachine(activity: 1, device: key, run: 1, at: Sample.now)
                instance.columns.state = .live
                instance.columns.sentRevision = 1
                instance.columns.localID = Sample.local("card-\(key)")
                draft.put(instance)
                draft.put(Sample.updateToken(1, key))
            }
        }
        _ = try await commit(seed).get()
    }
}

/// Records the text of each statement that the writer's connection runs.
final class StatementRecorder: Sendable {
    private let seen = Mutex<(count: Int, texts: Set<String>)>((0, []))

    var count: Int { seen.withLock(\.count) }
    var texts: Set<String> { seen.withLock(\.texts) }

    func listen(to store: SQLStore) async throws {
        try await store.pool.writeWithoutTransaction { db in
            db.trace(options: .statement) { event in
                guard case .statement(let statement) = event else { return }
                self.seen.withLock { seen in
                    seen.count += 1
                    seen.texts.insert(statement.sql)
                }
            }
        }
    }
}
