import APNSModel
import LiveActivityCore
import LiveActivityStorage
import TestSupport
import Testing

@testable import StorageConformance
@testable import StorageSQL

/// Tests that limits shared by all apps are enforced on the apps that use most.
struct AppShareTests {
    private static let apps = ["com.acme.pizza", "com.acme.taxi", "com.acme.bank"].map(Sample.bundle)

    /// Adds an activity for each app, numbered 1, 2 and 3.
    private static func prepare(_ store: SQLStore) async throws {
        _ = try await store.commit(
            PutRows { draft in
                for (index, app) in apps.enumerated() {
                    draft.put(
                        ActivityRecord(
                            number: ActivityNumber(index + 1), app: app, id: Sample.activityID("a"), type: "order",
                            at: Sample.now))
                }
            }
        ).get()
    }

    /// Adds rows to one app's timeline, one second apart.
    private static func record(_ store: SQLStore, _ activity: ActivityNumber, _ rows: Range<Int>) async throws {
        _ = try await store.commit(
            PutRows { draft in
                for row in rows {
                    let at = Sample.now - .seconds(10_000 - row)
                    draft.record(
                        HistoryRecord(
                            activity: activity, at: at, revision: 1,
                            entries: [HistoryEntry(.reported, device: 1, at: at, revision: 1, detail: "row \(row)")]))
                }
            }
        ).get()
    }

    private static func tell(_ store: SQLStore, _ app: BundleID, _ count: Int) async throws {
        _ = try await store.commit(
            PutRows { draft in
                for _ in 0..<count { draft.tell(EventRecord(.ended, app: app, at: Sample.now)) }
            }
        ).get()
    }

    private static func prune(_ store: SQLStore, _ limits: PruneLimits) async throws {
        for _ in 0..<10_000 { guard try await store.prune(limits, at: Sample.now) else { return } }
        Issue.record("there is always more")
    }

    /// Returns the time and size of each row, by activity.
    private static func history(_ store: SQLStore) async throws -> [Int64: [(at: Int64, bytes: Int64)]] {
        try await store.query { sql in
            var found: [Int64: [(at: Int64, bytes: Int64)]] = [:]
            try sql.query("SELECT activity, at, length(body) FROM history ORDER BY at, seq") { row in
                found[row.int(), default: []].append((row.int(), row.int()))
            }
            return found
        }
    }

    private static func numbers(_ store: SQLStore, _ app: BundleID) async throws -> [EventNumber] {
        try await store.events(of: app, EventFilter(), after: 0, limit: 10_000).events.map(\.number)
    }

    private static func use(_ store: SQLStore, _ kind: AppUse.Kind) async throws -> [String: Int64] {
        try await store.query { sql in try AppUse(kind, sql).amounts.filter { $0.value != 0 } }
    }

    // MARK: - Levels

    @Test(
        arguments: [
            ([10, 10, 10], 30, nil), ([10, 10, 10], 29, 9), ([1, 2, 100], 53, 50), ([1, 2, 100], 5, 2), ([7], 0, 0),
            ([40, 60, 1], 81, 40), ([], 0, nil),
        ] as [([Int64], Int64, Int64?)])
    func `the greatest come down to one level`(amounts: [Int64], limit: Int64, level: Int64?) async throws {
        try await withStores { store in
            let found = try await store.write { sql in
                try AppUse.add(
                    Dictionary(
                        uniqueKeysWithValues: amounts.enumerated().map { (AppUse.name(.events, "app-\($0)"), $1) }), sql
                )
                return try AppUse(.events, sql).level(within: limit)
            }
            #expect(found == level)
        }
    }

    // MARK: - Timelines

    @Test func `a flood of one app's timelines erases nothing of another's, though that is older`() async throws {
        try await withStores { store in
            try await Self.prepare(store)
            try await Self.record(store, 1, 0..<20)
            try await Self.record(store, 2, 100..<900)
            var limits = PruneLimits()
            limits.rows = 50
            let before = try await Self.history(store)
            limits.historyBytes = Int(before.values.joined().reduce(0) { $0 + $1.bytes }) / 4
            try await Self.prune(store, limits)
            let after = try await Self.history(store)
            #expect(after[1]?.count == 20)
            let left = try #require(after[2])
            #expect(left.map(\.at) == before[2]?.suffix(left.count).map(\.at), "its newest are left")
            #expect(after.values.joined().reduce(0) { $0 + $1.bytes } <= Int64(limits.historyBytes))
        }
    }

    @Test(arguments: UInt64(1)...100)
    func `whoever has less than a fair share loses nothing, and all others their oldest`(seed: UInt64) async throws {
        var dice = SeededDice(seed: seed)
        try await withStores(onServer: seed.isMultiple(of: 8)) { store in
            try await Self.prepare(store)
            for activity in 1...3 {
                let start = dice.roll(400)
                try await Self.record(store, ActivityNumber(activity), start..<start + 1 + dice.roll(60))
                try await Self.tell(store, Self.apps[activity - 1], dice.roll(40))
            }
            let (before, told) = (try await Self.history(store), try await Self.allNumbers(store))
            var limits = PruneLimits()
            limits.rows = 1 + dice.roll(20)
            let total = before.values.joined().reduce(0) { $0 + $1.bytes }
            limits.historyBytes = dice.roll(Int(total) + 2)
            limits.eventCount = dice.roll(told.joined().count + 2)
            try await Self.prune(store, limits)
            let (after, left) = (try await Self.history(store), try await Self.allNumbers(store))
            var bytes: [String: Int64] = [:]
            for (activity, rows) in before {
                let kept = after[activity] ?? []
                #expect(kept.map(\.at) == rows.suffix(kept.count).map(\.at), "seed \(seed): the oldest go")
                let had = rows.reduce(0) { $0 + $1.bytes }
                if had <= Int64(limits.historyBytes / 3) { #expect(kept.count == rows.count, "seed \(seed)") }
                let sum = kept.reduce(0) { $0 + $1.bytes }
                if sum > 0 { bytes[Self.apps[Int(activity) - 1].text] = sum }
            }
            #expect(bytes.values.reduce(0, +) <= Int64(limits.historyBytes), "seed \(seed)")
            #expect(try await Self.use(store, .historyBytes) == bytes, "seed \(seed): what is counted is what is there")
            #expect(left.joined().count <= limits.eventCount, "seed \(seed)")
            for (numbers, all) in zip(left, told) {
                #expect(numbers == all.suffix(numbers.count), "seed \(seed): the oldest go")
                if all.count <= limits.eventCount / 3 { #expect(numbers.count == all.count, "seed \(seed)") }
            }
        }
    }

    private static func allNumbers(_ store: SQLStore) async throws -> [[EventNumber]] {
        var all: [[EventNumber]] = []
        for app in apps { all.append(try await numbers(store, app)) }
        return all
    }

    @Test func `the bytes of an activity that is erased are its app's until they are gone`() async throws {
        try await withStores { store in
            try await Self.prepare(store)
            try await Self.record(store, 1, 0..<30)
            try await Self.record(store, 2, 0..<10)
            let bytes = try await Self.use(store, .historyBytes)
            #expect(Set(bytes.keys) == [Self.apps[0].text, Self.apps[1].text])
            _ = try await store.write { sql in
                try sql.execute("UPDATE activity SET phase = 'ended', ended_at = 1 WHERE no = 1")
            }
            var limits = PruneLimits()
            limits.rows = 7
            #expect(try await store.prune(limits, at: Sample.now))
            #expect(try await Self.use(store, .historyBytes)[Self.apps[0].text] != nil)
            try await Self.prune(store, limits)
            #expect(try await Self.use(store, .historyBytes) == bytes.filter { $0.key == Self.apps[1].text })
        }
    }

    // MARK: - Events

    @Test func `a flood of one app's events erases none of another's, and each app sees its own gap`() async throws {
        try await withStores { store in
            let (quiet, loud) = (Self.apps[0], Self.apps[1])
            try await Self.tell(store, quiet, 5)
            try await Self.tell(store, loud, 200)
            try await Self.tell(store, quiet, 1)
            var limits = PruneLimits()
            limits.eventCount = 100
            limits.rows = 9
            let key = WebhookKey(quiet, "backend")
            var place = try await store.webhook(key).place
            place.position = 0
            #expect(try await store.save(WebhookProgress(place: place)))
            try await Self.prune(store, limits)
            // The endpoint has not been sent any of them yet.
            #expect(try await Self.numbers(store, quiet) == [1, 2, 3, 4, 5, 206])
            #expect(try await Self.numbers(store, loud) == Array(112...205))
            #expect(try await store.eventSpan(of: quiet) == EventSpan(erasedThrough: 0, newest: 206))
            let span = try await store.eventSpan(of: loud)
            #expect(span == EventSpan(erasedThrough: 111, newest: 206))
            #expect([110, 111].map { span.holds(everythingAfter: $0) } == [false, true])
            // A reader of all apps' events gets the gap too.
            #expect(try await store.eventSpan() == EventSpan(erasedThrough: 0, newest: 206, lostThrough: 111))
        }
    }

    // MARK: - People

    @Test func `people of whom nothing is left go, whatever they left`() async throws {
        try await withStores { store in
            let (app, id) = (Sample.app(), Sample.activityID("game"))
            var body = SetDesiredState.Body(state: Sample.state(1))
            body.users = (1...8).map { Sample.user("guest-\($0)") }
            _ = try await store.commit(
                SetDesiredState(app: app.bundleID, id: id, type: Sample.type(), body: body, now: Sample.now)
            ).get()
            let phone = RegisterDevice(
                app: app, id: Sample.device("phone"), body: .init(user: Sample.user("guest-8")), now: Sample.now,
                freshKey: 1)
            _ = try await store.commit(phone).get()
            _ = try await store.commit(
                AskRefresh(
                    app: app.bundleID, users: [Sample.user("guest-8")], types: ["order"], pace: .prompt,
                    now: Sample.now)
            ).get()
            // Another person takes the phone, and six people leave the activity.
            _ = try await store.commit(
                RegisterDevice(
                    app: app, id: Sample.device("phone"), body: .init(user: Sample.user("owner")), now: Sample.now,
                    freshKey: 2)
            ).get()
            _ = try await store.commit(
                ChangeAudience(
                    app: app.bundleID, id: id,
                    change: .change(add: [], remove: (3...8).map { Sample.user("guest-\($0)") }),
                    now: Sample.now)
            ).get()
            try await Self.prune(store, PruneLimits())
            try await Self.prune(store, PruneLimits())
            let rows = try await AllRows(store).rows
            #expect(Set(rows.users.keys.map(\.id.text)) == ["guest-1", "guest-2", "owner"])
            #expect(rows.refreshes.isEmpty)
            #expect(try await store.statistics().erased["user"] == 6)
        }
    }

    @Test func `the walk through people goes on where it came to`() async throws {
        try await withStores { store in
            let count = Erasure.people + 10
            _ = try await store.write { sql in
                try sql.write(
                    (1...count).map { UserRow(number: UserNumber($0), app: Sample.bundleID, id: Sample.user("u\($0)")) }
                )
            }
            for left in [10, 1, 1] {
                _ = try await store.prune(PruneLimits(), at: Sample.now)
                // The last one stays, because the next number follows from it.
                let count = try await store.query { sql in try sql.number("SELECT count(*) FROM user") }
                #expect(count == Int64(left))
            }
        }
    }
}
