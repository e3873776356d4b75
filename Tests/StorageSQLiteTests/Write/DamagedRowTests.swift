import APNSModel
import Foundation
import GRDB
import LiveActivityCore
import LiveActivityStorage
import TestSupport
import Testing

@testable import StorageConformance
@testable import StorageSQL
@testable import StorageSQLite

/// Tests that an unreadable row does not stop notifications, computations or erasure.
struct DamagedRowTests {
    /// Adds two people with a phone each, and a notification for each of them.
    private static func notify(_ store: SQLStore) async throws {
        for (index, name) in ["ann", "bob"].enumerated() {
            var body = RegisterDevice.Body(user: Sample.user(name))
            body.deviceToken = Sample.token(name)
            _ = try await store.commit(
                RegisterDevice(
                    app: Sample.app(), id: Sample.device(name), body: body, now: Sample.now,
                    freshKey: DeviceKey(index + 1))
            ).get()
            let payload = try AlertPayload(Sample.alert).bytes
            _ = try await store.commit(
                NotifyUser(
                    app: Sample.bundleID, user: Sample.user(name), body: .init(.alert, payload: payload),
                    now: Sample.now, random: UInt64(index + 1))
            ).get()
        }
    }

    private static func damage(_ store: SQLStore, _ text: String) async throws {
        _ = try await store.write { sql in try sql.execute(text) }
    }

    @Test func `a notification that cannot be read is told of and put off, and the others go out`() async throws {
        try await withStore { store in
            try await Self.notify(store)
            try await Self.damage(
                store, "UPDATE notification SET kind = 99 WHERE no = (SELECT min(no) FROM notification)")
            let reply = try await store.commit(ClaimNotifications(now: Sample.now)).get()
            #expect(reply.flight.seats.count == 1 && reply.unreadable.count == 2)
            #expect(try await store.statistics().damagedRows == 2)
            // Neither is due, so the dispatcher does not loop.
            #expect(try await store.nextNotificationAt().map { $0 > Sample.now } == true)
            try await Self.damage(store, "UPDATE notification SET kind = 1")
            let later = Sample.now + DamagedWork.pause
            #expect(try await store.commit(ClaimNotifications(now: later)).get().flight.seats.count == 2)
        }
    }

    @Test func `an addressee that cannot be read is told of, also when its notification is over`() async throws {
        try await withStore { store in
            try await Self.notify(store)
            try await Self.damage(store, "UPDATE addressee SET reason = 'odd' WHERE dk = 1")
            let reply = try await store.commit(ClaimNotifications(now: Sample.now)).get()
            #expect(reply.flight.seats.map(\.device.key) == [2] && reply.unreadable.count == 1)
            #expect(try await store.nextNotificationAt().map { $0 > Sample.now } == true)
            let over = Sample.now + NotifyUser.lifetime
            let last = try await store.commit(ClaimNotifications(now: over)).get()
            #expect(last.dropped == [.expired: 1] && last.unreadable.count == 1)
            #expect(try await store.nextNotificationAt() == over + DamagedWork.pause)
        }
    }

    @Test(arguments: [
        "UPDATE instance SET state = 99 WHERE dk = 1", "UPDATE update_token SET env = 'odd' WHERE dk = 1",
        "UPDATE device_token SET env = 'odd' WHERE dk = 1", "UPDATE update_token SET value = x'00' WHERE dk = 1",
        "UPDATE device_token SET value = x'00' WHERE dk = 1", "UPDATE device SET app = '*' WHERE dk = 1",
    ])
    func `a row that cannot be read is erased with what it belongs to, and counted`(change: String) async throws {
        try await withStore { store in
            let app = Sample.app()
            for (index, name) in ["ann", "bob"].enumerated() {
                var body = RegisterDevice.Body(user: Sample.user(name))
                body.deviceToken = Sample.token(name)
                _ = try await store.commit(
                    RegisterDevice(
                        app: app, id: Sample.device(name), body: body, now: Sample.now, freshKey: DeviceKey(index + 1))
                ).get()
                var report = CardReport(localID: Sample.local(name), type: Sample.type(), state: .active)
                report.activity = Sample.activityID("a")
                report.token = Sample.token("card-\(name)")
                _ = try await store.commit(
                    ReportCard(app: app, device: Sample.device(name), report: report, now: Sample.now)
                ).get()
                _ = try await store.commit(
                    SignOutDevice(app: app.bundleID, id: Sample.device(name), now: Sample.now)
                ).get()
            }
            try await Self.damage(store, change)
            let late = Sample.now + .seconds(31 * 86_400)
            for _ in 1...10 where try await !store.prune(PruneLimits(), at: late) { break }
            for table in ["device", "instance", "update_token", "device_token", "token_owner"] {
                let left = try await store.query { sql in try sql.number("SELECT count(*) FROM \(table)") }
                #expect(left == 0, "\(table)")
            }
            #expect(try await store.statistics().damagedRows > 0)
        }
    }

    @Test func `a change is stored without the phones of its answer, if one of them cannot be read`() async throws {
        try await withStore { store in
            let app = Sample.app()
            var report = CardReport(localID: Sample.local("ann"), type: Sample.type(), state: .active)
            report.activity = Sample.activityID("a")
            var body = RegisterDevice.Body(user: Sample.user("ann"))
            body.deviceToken = Sample.token("ann")
            _ = try await store.commit(
                RegisterDevice(app: app, id: Sample.device("ann"), body: body, now: Sample.now, freshKey: 1)
            ).get()
            _ = try await store.commit(
                ReportCard(app: app, device: Sample.device("ann"), report: report, now: Sample.now)
            ).get()
            func set(_ step: Int) async throws -> WithPhones<SetDesiredState>.Reply {
                let command = SetDesiredState(
                    app: app.bundleID, id: Sample.activityID("a"), type: Sample.type(),
                    body: .init(state: Sample.state(step)), now: Sample.now)
                return try await store.commit(WithPhones(command, of: command.id, in: app.bundleID)).get()
            }
            #expect(try await set(1).found?.phones?.count == 1)
            try await Self.damage(store, "UPDATE instance SET state = 99")
            let part = try await set(2)
            #expect(part.found?.state.phones == 1 && part.found?.phones == nil)
        }
    }

    @Test func `the tokens of an ended activity that cannot be read leave nobody behind who owns them`() async throws {
        try await withStore { store in
            for (index, name) in ["ann", "bob"].enumerated() {
                _ = try await store.commit(
                    RegisterDevice(
                        app: Sample.app(), id: Sample.device(name), body: .init(user: Sample.user(name)),
                        now: Sample.now, freshKey: DeviceKey(index + 1))
                ).get()
                var report = CardReport(localID: Sample.local(name), type: Sample.type(), state: .active)
                report.activity = Sample.activityID("a")
                report.token = Sample.token("card-\(name)")
                _ = try await store.commit(
                    ReportCard(app: Sample.app(), device: Sample.device(name), report: report, now: Sample.now)
                ).get()
            }
            try await Self.damage(store, "UPDATE activity SET phase = 'ended', ended_at = \(Sample.now.milliseconds)")
            try await Self.damage(store, "UPDATE update_token SET value = x'00' WHERE dk = 1")
            let late = Sample.now + .seconds(12 * 3600 + 1)
            for _ in 1...10 where try await !store.prune(PruneLimits(), at: late) { break }
            for table in ["update_token", "token_owner"] {
                let left = try await store.query { sql in try sql.number("SELECT count(*) FROM \(table)") }
                #expect(left == 0, "\(table)")
            }
        }
    }

    @Test func `the walk through owners goes on where it came to, and begins anew behind the last`() async throws {
        try await withStore { store in
            let many = Erasure.walkedOwners
            try await Self.own(store, 1...many, deadAt: "\(Sample.now.milliseconds)")
            // No row has the tokens of these.
            try await Self.own(store, many + 1...many + 5, deadAt: "NULL")
            var left: [Int64?] = []
            for round in 1...3 {
                // One more is added where the walk has already been. The walk comes there again.
                if round == 2 { try await Self.own(store, 0...0, deadAt: "NULL") }
                _ = try await store.prune(PruneLimits(), at: Sample.now)
                left.append(
                    try await store.query { sql in
                        try sql.number("SELECT count(*) FROM token_owner WHERE dead_at IS NULL")
                    })
            }
            #expect(left == [5, 1, 0])
        }
    }

    private static func own(_ store: SQLStore, _ numbers: ClosedRange<Int>, deadAt: String) async throws {
        try await damage(
            store,
            """
            INSERT INTO token_owner (hash, app, look_up, kind, dk, activity, seen_at, dead_at, key, value)
            WITH RECURSIVE owner(n) AS (
                SELECT \(numbers.lowerBound) UNION ALL SELECT n + 1 FROM owner WHERE n < \(numbers.upperBound)
            )
            SELECT printf('%08x%024x', n, 0), 'com.acme.pizza', 1, 3, 7, 1, 0, \(deadAt), 1, x'00' FROM owner
            """)
    }
}

// MARK: - Computations

extension DamagedRowTests {
    /// Adds two people with a phone each. Both wait for a computation, the first one for longer.
    private static func ask(_ store: SQLStore) async throws {
        for (index, name) in ["ann", "bob"].enumerated() {
            let now = Sample.now + .seconds(index)
            _ = try await store.commit(
                RegisterDevice(
                    app: Sample.app(), id: Sample.device(name), body: .init(user: Sample.user(name)), now: now,
                    freshKey: DeviceKey(index + 1))
            ).get()
            _ = try await store.commit(
                AskRefresh(
                    app: Sample.bundleID, users: [Sample.user(name)], types: ["order"], pace: .prompt, now: now)
            ).get()
        }
    }

    private static func claim(limit: Int, node: Int64) -> ClaimRefreshes {
        let want = DueRefreshes.Want(app: Sample.bundleID, type: "order", limit: limit, paced: limit)
        return ClaimRefreshes(
            DueRefreshes(at: Sample.now + .seconds(9), node: node, wants: [want]), leaseOfZone: .seconds(60),
            leaseMargin: .seconds(10))
    }

    /// Changes a row's bytes as a damaged disk does, so that its index still has the earlier value.
    ///
    /// A statement can change the row alone only while the index is a different one.
    private static func rot(_ path: String, _ change: String) throws {
        let (known, hidden) = ("due_at IS NOT NULL", "due_at < 0")
        for (from, to, statement) in [(known, hidden, ""), (hidden, known, change)] {
            let database = try DatabaseQueue(path: path)
            try database.writeWithoutTransaction { db in
                if !statement.isEmpty { try db.execute(sql: statement) }
                try db.execute(sql: "PRAGMA writable_schema = ON")
                try db.execute(
                    sql: "UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE name = 'refresh_due'",
                    arguments: [from, to])
            }
            try database.close()
        }
    }

    @Test func `a computation that cannot be read takes the place of no other, though its index has it first`()
        async throws
    {
        try await withDirectory { directory in
            let path = directory.appending(path: "islet.sqlite").path
            let before = try SQLStore(path: path)
            try await Self.ask(before)
            before.close()
            try Self.rot(path, "UPDATE refresh SET pace = 99 WHERE user_id = 'ann'")
            let store = try SQLStore(path: path)
            defer { store.close() }
            let reply = try await store.commit(Self.claim(limit: 1, node: 1)).get()
            #expect(reply.runs.map(\.user) == [Sample.user("bob")])
            #expect(
                reply.unreadable == [
                    "a row of `refresh` holds a value in `pace` that cannot be read",
                    "a refresh of person number 1 cannot be put off, and is passed over",
                ])
            #expect(try await store.statistics().damagedRows == 2)
        }
    }

    @Test func `computations of a lost process that cannot be read are put off, and the others are taken over`()
        async throws
    {
        try await withStore { store in
            try await Self.ask(store)
            #expect(try await store.commit(Self.claim(limit: 2, node: 1)).get().runs.count == 2)
            let many = DueRefreshes.maximumAbandoned
            try await Self.damage(
                store,
                """
                INSERT INTO refresh
                    (user, type, app, user_id, asked, done, pace, due_at, fence, node, tries, failure, finished_at)
                WITH RECURSIVE lost(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM lost WHERE n < \(many))
                SELECT -n, 'order', 'com.acme.pizza', 'lost', 1, 0, 99, 0, 1, 1, 0, NULL, NULL FROM lost
                """)
            let first = try await store.commit(Self.claim(limit: 2, node: 2)).get()
            #expect(first.unreadable.count == 2 * many)
            #expect(first.unreadable.last == "a refresh of person number -1 is put off for 60 s")
            #expect(Set(first.runs.map(\.user)) == [Sample.user("ann"), Sample.user("bob")])
            // They are not read again before their time.
            #expect(try await store.commit(Self.claim(limit: 2, node: 2)).get().unreadable.isEmpty)
            let later = Sample.now + .seconds(9) + DamagedWork.pause
            let waiting = try await store.query { sql in
                try sql.number(
                    "SELECT count(*) FROM refresh WHERE pace = 99 AND node = 2 AND due_at = ?",
                    [.int(later.milliseconds)])
            }
            #expect(waiting == Int64(many))
        }
    }
}
