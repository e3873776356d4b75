import APNSModel
import JSONText
import LiveActivityCore
import LiveActivityStorage
import TestSupport
import Testing

@testable import StorageConformance
@testable import StorageSQL
@testable import StorageSQLite

/// Tests that the cost of a phone's call does not grow with the rows of the phone or its person.
struct DeviceBoundsTests {
    private static let app = Sample.app(Sample.type(), Sample.type("ride"))
    private static let phone = Sample.device("device-7")

    /// Adds a device to many activities: every third runs, every fifth has a card. Its person is in all of them.
    private static func seed(_ count: Int64) -> PutRows {
        PutRows { draft in
            let user = draft.user(Sample.bundleID, Sample.user("user-1"))
            draft.put(Sample.deviceRecord(7, user: user))
            draft.put(Sample.startToken(7))
            for _ in 0..<count {
                let number = Sample.addActivity(revision: 0, to: &draft) { activity in
                    guard activity.number % 3 > 0 else { return }
                    activity.phase = .ended
                    activity.endedAt = Sample.now
                }
                draft.addMember(user, to: number)
                var instance = CardMachine(activity: number, device: 7, run: 1, at: Sample.now)
                instance.columns.state = number % 5 == 0 ? .live : number % 5 == 1 ? .dismissed : .absent
                instance.columns.localID = number % 5 < 2 ? Sample.local("card-\(number)") : nil
                draft.put(instance)
                if instance.state == .live { draft.put(Sample.updateToken(number, 7)) }
            }
        }
    }

    /// Adds a person with many devices, whose last contacts are one minute apart.
    ///
    /// All of them show a card of each activity, although only one device should.
    private static func seed(devices: Int64, activities: Int64) -> PutRows {
        PutRows { draft in
            let user = draft.user(Sample.bundleID, Sample.user("user-1"))
            for key in 1...devices {
                var device = Sample.deviceRecord(key, user: user)
                device.contactAt = Sample.now - .seconds(key * 60)
                draft.put(device)
                draft.put(Sample.startToken(key))
                draft.put(Sample.startToken(key, type: "ride"))
            }
            for _ in 0..<activities {
                let number = Sample.addActivity(revision: 0, to: &draft) { $0.devices = .lastActive }
                draft.addMember(user, to: number)
                for key in 1...devices {
                    var instance = CardMachine(activity: number, device: key, run: 1, at: Sample.now)
                    instance.columns.state = .live
                    instance.columns.localID = Sample.local("card-\(number)")
                    draft.put(instance)
                    draft.put(Sample.updateToken(number, key))
                }
            }
        }
    }

    private static func registration(
        _ user: String, on device: DeviceID = phone, freshKey: DeviceKey = 9
    ) -> RegisterDevice {
        var body = RegisterDevice.Body(user: Sample.user(user))
        body.deviceToken = Sample.token("device")
        return RegisterDevice(app: app, id: device, body: body, now: Sample.now, freshKey: freshKey)
    }

    private static func cards(_ numbers: ClosedRange<Int>) -> [CardReport] {
        numbers.map { CardReport(localID: Sample.local("card-\($0)"), type: Sample.type(), state: .active) }
    }

    /// Keys of every call of a phone.
    private static var calls: [(name: String, keys: [SnapshotKey], named: Int)] {
        let bundle = Sample.bundleID
        let start = RegisterPushToStartToken(
            app: app, id: phone, type: "order", token: Sample.token("new"), now: Sample.now)
        let report = ReportCard(app: app, device: phone, report: cards(10...10)[0], now: Sample.now)
        let inventory = ReportInventory(
            app: app, device: phone, sequence: 1, reports: cards(1...50), now: Sample.now)
        let handOut = HandOutCredential(
            app: bundle, id: phone, secretHash: [1], now: Sample.now, reporter: .backend)
        return [
            ("register", registration("user-1").keys, JoinableActivities.limit),
            ("another person registers", registration("bob").keys, JoinableActivities.limit),
            ("hand over", HandOverDevice(for: registration("bob"), .begin).keys, DevicePage.limit),
            ("start token", start.keys, 0), ("report", report.keys, 1), ("inventory", inventory.keys, 50),
            ("sign out", SignOutDevice(app: bundle, id: phone, now: Sample.now).keys, 0),
            ("credential", handOut.keys, 0), ("revoke", RevokeCredentials(app: bundle, id: phone).keys, 0),
        ]
    }

    @Test func `a device with 5,000 activities makes each call load at most three hundred and those that it names`()
        async throws
    {
        try await withStore { store in
            _ = try await store.commit(Self.seed(5_000)).get()
            let most = DeviceRows.newest + DeviceRows.open + DeviceRows.running
            for call in Self.calls {
                let part = try await store.query { sql in try SnapshotLoader.snapshot(of: call.keys, sql) }
                let rows = [
                    part.cards.count, part.activities.count, part.contents.count, part.lanes.count,
                    part.updateTokens.count, part.members.count,
                ]
                #expect(rows.allSatisfy { $0 <= most + call.named }, "\(call.name): \(rows)")
                #expect(part.cards.count > DeviceRows.newest, "\(call.name): \(rows)")
                #expect(part.devicesWithMore == [7], "\(call.name)")
            }
        }
    }

    @Test func `a call runs the same few statements for a device with 200 activities as for one with 5,000`()
        async throws
    {
        var counts: [[Int]] = []
        for activities in [200, 5_000] as [Int64] {
            try await withStore { store in
                _ = try await store.commit(Self.seed(activities)).get()
                var statements: [Int] = []
                for call in Self.calls {
                    let recorder = StatementRecorder()
                    try await recorder.listen(to: store)
                    var command = PutRows { _ in }
                    command.keys = call.keys
                    _ = try await store.commit(command).get()
                    statements.append(recorder.count)
                }
                counts.append(statements)
            }
        }
        #expect(counts[0] == counts[1] && counts[0].allSatisfy { $0 < 40 }, "\(counts)")
    }

    @Test func `a person with sixty devices in many activities has a registration look at a part of their rows`()
        async throws
    {
        try await withStore { store in
            var pair = Pair(store)
            try await pair.run("seed", Self.seed(devices: 64, activities: 110), { _, _ in true })
            let ownRows = DeviceRows.newest + DeviceRows.open + DeviceRows.running + JoinableActivities.limit
            // A known device, the device with the oldest contact, and a new one.
            let devices: [(id: DeviceID, key: DeviceKey, mostOfOthers: Int)] = [
                (Self.phone, 7, 0), (Sample.device("device-64"), 64, 0),
                (Sample.device("new"), 1000, JoinableActivities.rowsOfOthers),
            ]
            for (id, key, mostOfOthers) in devices {
                let registration = Self.registration("user-1", on: id, freshKey: key)
                let part = try await store.query { sql in try SnapshotLoader.snapshot(of: registration.keys, sql) }
                let own = part.cards.keys.count { $0.device == key }
                #expect(own <= ownRows && part.cards.count - own <= mostOfOthers, "\(id): \(part.cards.count)")
                #expect(part.updateTokens.keys.allSatisfy { $0.device == key } && part.updateTokens.count <= ownRows)
                #expect(part.devices.count <= RecentDevices.limit + 1, "\(id): \(part.devices.count)")
                let tokens = part.deviceTokens.keys.count { $0.device != key }
                #expect(tokens <= (mostOfOthers == 0 ? 0 : 2 * RecentDevices.limit), "\(id): \(tokens)")
                #expect(part.members.count <= JoinableActivities.limit && part.activities.count <= ownRows)
                let expected = pair.model.load(registration.keys)
                #expect(part.cards == expected.cards && part.updateTokens == expected.updateTokens, "\(id)")
                #expect(part.devices == expected.devices && part.deviceTokens == expected.deviceTokens, "\(id)")
                #expect(part.members == expected.members && part.activities == expected.activities, "\(id)")
            }
            for (id, key, _) in devices + devices {
                try await pair.run("register \(id)", Self.registration("user-1", on: id, freshKey: key))
            }
            let rows = pair.model.rows.cards.values.filter { $0.device == 1000 }
            #expect(rows.count == 2 * JoinableActivities.rowsOfOthers / RecentDevices.limit)
            #expect(rows.allSatisfy { !$0.mayStart }, "others show these cards")
        }
    }

    @Test(arguments: [nil, 20] as [Int?])
    func `beyond the limits the engine sees what the reference store sees`(cards: Int?) async throws {
        try await withStore { store in
            var pair = Pair(store)
            let now = Sample.now + .seconds(60)
            try await pair.run("seed", Self.seed(700), { _, _ in true })
            for (index, call) in Self.calls.enumerated() {
                let expected = pair.model.load(call.keys)
                let part = try await store.query { sql in try SnapshotLoader.snapshot(of: call.keys, sql) }
                let name = "\(index), \(call.name)"
                #expect(part.cards == expected.cards, "\(name)")
                #expect(part.activities == expected.activities && part.updateTokens == expected.updateTokens, "\(name)")
                #expect(part.members == expected.members, "\(name)")
                #expect(part.devicePages == expected.devicePages, "\(name)")
                #expect(part.devicesWithMore == expected.devicesWithMore, "\(name)")
            }
            let reports = cards.map { Self.cards(1...$0) } ?? []
            try await pair.run(
                "inventory",
                ReportInventory(app: Self.app, device: Self.phone, sequence: 1, reports: reports, now: now))
            try await pair.run("register", Self.registration("user-1"))
            try await pair.run("taken", Self.registration("bob"))
            let first = try await pair.run("hand over", HandOverDevice(for: Self.registration("bob"), .begin))
            let next = try #require(first.flatMap { $0 })
            try await pair.run("goes on", HandOverDevice(for: Self.registration("bob"), next))
            try await pair.run("sign out", SignOutDevice(app: Sample.bundleID, id: Self.phone, now: now))
        }
    }
}
