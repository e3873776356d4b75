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

/// Tests that the owner of a token's value is remembered as long as it is needed, and no longer.
struct TokenMemoryTests {
    private static let app = Sample.app()
    private static let phone = Sample.device("phone")

    private static func number(_ store: SQLStore, _ text: String) async throws -> Int64 {
        try await store.query { sql in try sql.number(text) ?? 0 }
    }

    private static func owners(_ store: SQLStore) async throws -> Int64 {
        try await number(store, "SELECT count(*) FROM token_owner")
    }

    private static func prune(_ store: SQLStore, at now: UnixTime) async throws {
        for _ in 1...10_000 where try await !store.prune(PruneLimits(), at: now) { return }
        Issue.record("there is always more")
    }

    private static func register(
        _ store: SQLStore, _ device: DeviceID = phone, user: String = "ann", token: String? = nil,
        at now: UnixTime = Sample.now, key: DeviceKey = 7
    ) async throws {
        var body = RegisterDevice.Body(user: Sample.user(user))
        body.osVersion = OSVersion(18, 0)
        body.deviceToken = token.map { Sample.token($0) }
        _ = try await store.commit(
            RegisterDevice(app: app, id: device, body: body, now: now, freshKey: key)
        ).get()
    }

    private static func registerStart(
        _ store: SQLStore, _ token: String, _ device: DeviceID = phone, at now: UnixTime = Sample.now
    ) async throws {
        _ = try await store.commit(
            RegisterPushToStartToken(app: app, id: device, type: "order", token: Sample.token(token), now: now)
        ).get()
    }

    private static func report(
        _ store: SQLStore, _ card: String, _ state: CardReport.State = .active, of activity: String = "a",
        token: String? = nil, on device: DeviceID = phone, at now: UnixTime = Sample.now
    ) async throws {
        var report = CardReport(localID: Sample.local(card), type: Sample.type(), state: state)
        report.activity = Sample.activityID(activity)
        report.token = token.map { Sample.token($0) }
        _ = try await store.commit(ReportCard(app: app, device: device, report: report, now: now)).get()
    }

    private static func put(
        _ store: SQLStore, _ activity: String = "a", users: [String] = ["ann"], at now: UnixTime = Sample.now
    ) async throws {
        var body = SetDesiredState.Body(state: Sample.state(1))
        body.users = users.map(Sample.user)
        _ = try await store.commit(
            SetDesiredState(
                app: app.bundleID, id: Sample.activityID(activity), type: Sample.type(), body: body, now: now)
        ).get()
    }

    // MARK: - One by one

    @Test(arguments: [CardReport.State.ended, .dismissed, .gone, .duplicate])
    func `the token of a card that is over is forgotten two days later, and no sooner`(
        state: CardReport.State
    ) async throws {
        try await withStore { store in
            try await Self.register(store)
            try await Self.put(store)
            try await Self.report(store, "card", token: "u1")
            try await Self.report(store, "card", state)
            try await Self.prune(store, at: Sample.now + TokenOwnerRecord.keptFor)
            #expect(try await Self.owners(store) == 1)
            try await Self.prune(store, at: Sample.now + TokenOwnerRecord.keptFor + .seconds(1))
            #expect(try await Self.owners(store) == 0)
        }
    }

    @Test func `start and device tokens that gave way to others are forgotten, and those in use are not`() async throws
    {
        try await withStore { store in
            for number in 1...5 {
                try await Self.register(store, token: "device-\(number)")
                try await Self.registerStart(store, "start-\(number)")
            }
            #expect(try await Self.owners(store) == 10)
            // A token that came back is in use again.
            try await Self.registerStart(store, "start-2")
            let late = Sample.now + TokenOwnerRecord.keptFor + .seconds(1)
            try await Self.prune(store, at: late)
            let kept = try await AllRows(store).rows.owners.keys.map(\.id)
            let expected =
                [TokenValue(Sample.token("device-5", as: DeviceTokenKind.self))]
                + [TokenValue(Sample.token("start-2", as: PushToStartTokenKind.self))]
            #expect(Set(kept) == Set(expected))
        }
    }

    @Test func `a token that a late report brings back is held again`() async throws {
        try await withStore { store in
            try await Self.register(store)
            try await Self.put(store)
            try await Self.report(store, "card", token: "u1")
            try await Self.report(store, "card", .duplicate)
            #expect(try await Self.number(store, "SELECT count(*) FROM token_owner WHERE released_at IS NOT NULL") == 1)
            try await Self.report(store, "other", token: "u1")
            #expect(try await Self.number(store, "SELECT count(*) FROM token_owner WHERE released_at IS NULL") == 1)
            try await Self.prune(store, at: Sample.now + .seconds(3 * 86_400))
            #expect(try await Self.owners(store) == 1)
        }
    }

    @Test func `erasing a device leaves the token alone that another phone has by now`() async throws {
        try await withStore { store in
            try await Self.register(store)
            try await Self.registerStart(store, "start")
            let other = Sample.device("other")
            try await Self.register(store, other, user: "bob", key: 8)
            // The phone has changed hands, so the earlier device counts as signed out.
            try await Self.registerStart(store, "start", other)
            #expect(try await Self.number(store, "SELECT dk FROM token_owner") == 8)
            try await Self.prune(store, at: Sample.now + .seconds(31 * 86_400))
            #expect(try await Self.number(store, "SELECT count(*) FROM device") == 1)
            #expect(try await Self.number(store, "SELECT dk FROM token_owner") == 8)
        }
    }

    @Test func `what earlier versions left behind goes with the first round, and what is in use does not`() async throws
    {
        try await withDirectory { directory in
            let path = directory.appending(path: "islet.sqlite").path
            let before = try DatabaseQueue(path: path)
            try Schema.migrator.migrate(before, upTo: "4 activities by app and phase")
            try await before.write { db in
                func owner(_ hash: String, kind: Int, activity: Int, seenAt: Int, deadAt: Int? = nil) throws {
                    try db.execute(
                        sql: """
                            INSERT INTO token_owner
                                (hash, app, look_up, kind, dk, activity, seen_at, dead_at, key, value)
                            VALUES (?, 'com.acme.pizza', 1, ?, 7, ?, ?, ?, 1, x'00')
                            """, arguments: [hash, kind, activity, seenAt, deadAt])
                }
                try owner("finished", kind: 3, activity: 1, seenAt: 1)
                try owner("rotated", kind: 2, activity: 0, seenAt: 2)
                try owner("replaced device token", kind: 1, activity: 0, seenAt: 3)
                try owner("card", kind: 3, activity: 2, seenAt: 4)
                try owner("start", kind: 2, activity: 0, seenAt: 5)
                try owner("device", kind: 1, activity: 0, seenAt: 6)
                try owner("dead", kind: 3, activity: 1, seenAt: 7, deadAt: Int(Sample.now.milliseconds))
                try owner("predecessor", kind: 3, activity: 3, seenAt: 8)
                for (activity, seenAt, predecessor) in [(2, 4, nil), (3, 9, "x")] as [(Int, Int, String?)] {
                    try db.execute(
                        sql: "INSERT INTO update_token VALUES (?, 7, 1, 'sandbox', 1, x'00', ?, NULL, ?)",
                        arguments: [activity, seenAt, predecessor.map { Array($0.utf8) }.map { Data($0) }])
                }
                for (kind, seenAt) in [(1, 6), (2, 5)] {
                    try db.execute(
                        sql: "INSERT INTO device_token VALUES (7, ?, 'order', 1, 'sandbox', 1, x'00', ?, NULL, 0)",
                        arguments: [kind, seenAt])
                }
            }
            try before.close()
            let store = try SQLStore(path: path)
            defer { store.close() }
            try await Self.prune(store, at: Sample.now)
            let left = try await store.query { sql in
                var names: [String] = []
                try sql.query("SELECT hash FROM token_owner ORDER BY hash") { names.append($0.text()) }
                return names
            }
            #expect(left == ["card", "dead", "device", "predecessor", "start"])
        }
    }

    // MARK: - Whole lives

    private static let ofDevices = ["device", "device_token", "update_token", "instance", "tombstone", "budget"]

    /// Queries that must return 0. A value that no row holds is released or dead; a held value is neither.
    private static let faults = [
        """
        SELECT count(*) FROM token_owner o WHERE dead_at IS NULL AND released_at IS NULL AND NOT EXISTS (
            SELECT 1 FROM update_token t WHERE o.kind = 3 AND t.activity = o.activity AND t.dk = o.dk
        ) AND NOT EXISTS (SELECT 1 FROM device_token t WHERE o.kind <> 3 AND t.dk = o.dk AND t.kind = o.kind)
        """,
        """
        SELECT count(*) FROM update_token t JOIN token_owner o
        ON o.kind = 3 AND o.activity = t.activity AND o.dk = t.dk AND o.seen_at = t.seen_at
        WHERE t.dead_at IS NULL AND o.released_at IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM token_owner p WHERE p.kind = 3 AND p.activity = t.activity AND p.dk = t.dk
            AND p.seen_at = t.seen_at AND p.hash <> o.hash)
        """,
    ]

    @Test(arguments: FreshSeeds.take(100))
    func `of whatever phones lived nothing is left once all is over and its time has passed`(seed: UInt64) async throws
    {
        try await withStore { store in
            var life = RandomLife(seed: seed &* 31, Pair(store))
            do {
                if seed.isMultiple(of: 2) {
                    try await life.live(steps: 60)
                } else {
                    try await life.live(groups: 20)
                }
            } catch let difference as Pair.Difference {
                Issue.record("seed \(seed), \(difference)")
            }
            for fault in Self.faults { #expect(try await Self.number(store, fault) == 0, "seed \(seed): \(fault)") }
            for app in life.apps {
                for id in RandomLife.activities {
                    _ = try await store.commit(
                        EndActivity(
                            app: app, id: Sample.activityID(id), state: nil, alert: nil, dismissal: .systemDefault,
                            now: life.now))
                }
                for id in RandomLife.devices {
                    _ = try await store.commit(
                        SignOutDevice(app: app.bundleID, id: Sample.device(id), now: life.now))
                }
            }
            // While devices are kept, only dead tokens outlive their time.
            try await Self.prune(store, at: life.now + .seconds(3 * 86_400))
            for rows in ["update_token", "device_token", "token_owner WHERE dead_at IS NULL"] {
                #expect(try await Self.number(store, "SELECT count(*) FROM \(rows)") == 0, "seed \(seed): \(rows)")
            }
            try await Self.prune(store, at: life.now + .seconds(91 * 86_400))
            for table in Self.ofDevices + ["token_owner"] {
                #expect(try await Self.number(store, "SELECT count(*) FROM \(table)") == 0, "seed \(seed): \(table)")
            }
        }
    }

    @Test func `ten thousand calls of a phone that means harm leave so many rows and no more`() async throws {
        try await withStore { store in
            var dice = SeededDice(seed: 11)
            let (days, calls, group) = (5, 2_000, 200)
            var open = Sample.type("open")
            open.policy.join = .open
            let app = Sample.app(Sample.type(), open)
            for day in 0..<days {
                for batch in 0..<calls / group {
                    let now = Sample.now + .seconds(day * 86_400 + batch * 600)
                    try await Self.register(store, user: "eve", at: now)
                    let answers = (0..<group).map { _ in
                        Self.harm(&dice, app, [Sample.type(), open], now, in: store)
                    }
                    for answer in answers { await answer() }
                }
                try await Self.prune(store, at: Sample.now + .seconds((day + 1) * 86_400))
            }
            let bounds: [(rows: String, most: Int)] = [
                ("device", 1), ("tombstone", TombstoneRecord.maximum + 10), ("device_token", 3),
                ("instance", days * 100), ("activity", days * 120), ("update_token", days * 100),
                ("token_owner", days * DayCounts.maximumTokens),
                ("token_owner WHERE dead_at IS NULL", 4 * DayCounts.maximumTokens),
            ]
            for (rows, most) in bounds {
                let count = try await Self.number(store, "SELECT count(*) FROM \(rows)")
                #expect(count <= most, "\(rows): \(count)")
            }
            #expect(try await Self.owners(store) > DayCounts.maximumTokens, "the calls were taken")
        }
    }

    /// Makes a random call on the phone's own authority, mostly with new names.
    private static func harm(
        _ dice: inout SeededDice, _ app: AppSettings, _ types: [ActivityType], _ now: UnixTime, in store: SQLStore
    ) -> @Sendable () async -> Void {
        let reporter = Reporter.person(Sample.user("eve"))
        func card() -> CardReport {
            var report = CardReport(
                localID: Sample.local("c\(dice.roll(5000))"), type: dice.pick(types),
                state: dice.chance(70) ? .active : dice.pick(CardReport.State.allCases))
            report.activity = Sample.activityID("a\(dice.roll(dice.chance(50) ? 100_000 : 50))")
            report.token = Sample.token("u\(dice.next())")
            return report
        }
        switch dice.roll(10) {
        case 0:
            var command = SignOutDevice(app: app.bundleID, id: phone, now: now)
            command.reporter = reporter
            let answer = store.submit(command)
            return { _ = await answer.result() }
        case 1, 2:
            var body = RegisterDevice.Body(user: Sample.user("eve"))
            body.deviceToken = Sample.token("d\(dice.next())")
            var command = RegisterDevice(app: app, id: phone, body: body, now: now, freshKey: 7)
            command.reporter = reporter
            let answer = store.submit(command)
            return { _ = await answer.result() }
        case 3:
            var command = RegisterPushToStartToken(
                app: app, id: phone, type: dice.pick(["order", "open"]), token: Sample.token("s\(dice.next())"),
                now: now)
            command.reporter = reporter
            let answer = store.submit(command)
            return { _ = await answer.result() }
        case 4:
            var command = ReportInventory(
                app: app, device: phone, sequence: Int64(dice.roll(1_000_000)), reports: (0..<10).map { _ in card() },
                now: now)
            command.reporter = reporter
            let answer = store.submit(command)
            return { _ = await answer.result() }
        default:
            var command = ReportCard(app: app, device: phone, report: card(), now: now)
            command.reporter = reporter
            let answer = store.submit(command)
            return { _ = await answer.result() }
        }
    }
}
