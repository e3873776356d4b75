import APNSModel
import Foundation
import JSONText
import LiveActivityCore
import LiveActivityDelivery
import LiveActivityServer
import LiveActivityStorage
import Logging
import StorageSQL
import StorageSQLite
import Synchronization
import TestSupport
import Testing

/// The loop that asks providers, over the real store and a clock that the test moves.
struct RefreshServiceTests {
    private static var type: ActivityType {
        var type = Sample.type("focus")
        type.isProvided = true
        return type
    }
    private static let app = Sample.app(type)

    /// A service with its store and clock, and a provider that the test controls.
    private final class Scene: Sendable {
        let store: SQLStore
        let clock = SteppedClock()
        let directory = ZoneDirectory()
        private let asked = Mutex<[RefreshQuestion]>([])
        private let answers: @Sendable (RefreshQuestion) async throws(RefreshFailure) -> RefreshAnswer?

        init(
            _ store: SQLStore,
            _ answers: @escaping @Sendable (RefreshQuestion) async throws(RefreshFailure) -> RefreshAnswer?
        ) {
            self.store = store
            self.answers = answers
        }

        var questions: [RefreshQuestion] { asked.withLock(\.self) }

        func service(
            node: Int64 = 1, perSecond: Int = 100, store other: (any RefreshStore)? = nil
        ) -> RefreshService {
            var limits = RefreshService.Limits()
            limits.perSecond = perSecond
            // The service sleeps until something is due, and does not look in between.
            limits.look = .seconds(2 * 86_400)
            return RefreshService(
                store: other ?? store,
                providers: [
                    .init(app: app.bundleID, type: RefreshServiceTests.type) { question throws(RefreshFailure) in
                        self.asked.withLock { $0.append(question) }
                        return try await self.answers(question)
                    }
                ], zones: directory, time: clock.timeSource, clock: clock, node: node, dice: { 0 }, limits: limits,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        }

        /// Runs a service while the body runs.
        func running(
            node: Int64 = 1, perSecond: Int = 100, store: (any RefreshStore)? = nil,
            _ body: @escaping @Sendable () async throws -> Void
        ) async throws {
            let service = service(node: node, perSecond: perSecond, store: store)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await service.run() }
                try await body()
                group.cancelAll()
            }
        }

        func counted(stuckSince: Duration? = nil) -> CountedStore {
            CountedStore(store, { [clock] in clock.wall }, stuckSince: stuckSince)
        }

        func register(_ user: String, zone: String = "UTC", device: String? = nil) async throws {
            var body = RegisterDevice.Body(user: Sample.user(user))
            body.timeZone = zone
            let command = RegisterDevice(
                app: app, id: Sample.device(device ?? "phone of \(user)"), body: body, now: clock.wall,
                freshKey: DeviceKey(Digest.fnv1a((device ?? user).utf8) >> 1))
            _ = try await store.commit(command).get()
        }

        func ask(_ user: String, _ pace: RefreshRecord.Pace = .prompt) async throws {
            _ = try await store.commit(
                AskRefresh(
                    app: app.bundleID, users: [Sample.user(user)], types: ["focus"], pace: pace, now: clock.wall)
            ).get()
        }

        func record(_ user: String) async throws -> RefreshRecord? {
            try await store.refreshes(of: Sample.user(user), in: app.bundleID).first
        }

        /// Waits, in real time, until the store satisfies the condition.
        func until(_ isTrue: @escaping @Sendable () async throws -> Bool) async throws {
            while try await !isTrue() {
                try Task.checkCancellation()
                await Task.yield()
            }
        }

        func isDone(_ user: String) async throws {
            try await until {
                guard let record = try await self.record(user) else { return false }
                return record.done == record.asked && record.node == nil
            }
        }
    }

    private static func with(
        _ answers: @escaping @Sendable (RefreshQuestion) async throws(RefreshFailure) -> RefreshAnswer?,
        _ body: (Scene) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "islet-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try SQLStore(path: folder.appending(path: "islet.db").path)
        defer { store.close() }
        try await body(Scene(store, answers))
    }

    private static let show: @Sendable (RefreshQuestion) async throws(RefreshFailure) -> RefreshAnswer? = { question in
        RefreshAnswer(state: ["day": .string(question.day)])
    }

    @Test(
        .timeLimit(.minutes(5)),
        arguments: [
            ("Europe/Berlin", "2026-11-21", "2026-11-21T23:00:00Z"),
            ("Asia/Tokyo", "2026-11-21", "2026-11-21T15:00:00Z"),
            ("America/Los_Angeles", "2026-11-21", "2026-11-22T08:00:00Z"),
            ("Nowhere/At-All", "2026-11-21", "2026-11-22T00:00:00Z"),
        ])
    func `the day is the zone's own, and the next question comes at its midnight by itself`(
        zone: String, day: String, midnight: String
    ) async throws {
        try await Self.with(Self.show) { scene in
            try await scene.running {
                try await scene.register("ann", zone: zone)
                try await scene.isDone("ann")
                #expect(scene.questions.map(\.day) == [day])
                let due = try #require(try await scene.record("ann")?.dueAt)
                #expect(due.description == midnight)
                let left = due - scene.clock.wall
                // Advance only once the service sleeps. A delay computed from an earlier time would be too long.
                try await scene.until { scene.clock.nextWake == scene.clock.now.offset + left }
                scene.clock.advance(by: left - .seconds(1))
                #expect(scene.questions.count == 1)
                scene.clock.advance(by: .seconds(1))
                try await scene.until { scene.questions.count == 2 }
                #expect(scene.questions[1].day > day)
            }
        }
    }

    /// Midnights across changes of the clocks: an hour that is missing or repeated, and a midnight that does not exist.
    @Test(arguments: [
        // Europe: days of 23 and 25 hours.
        ("Europe/Berlin", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"),
        ("Europe/Berlin", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"),
        // Clocks go from 24:00 to 1:00, so the day begins at one.
        ("America/Santiago", "2026-09-05T12:00:00Z", "2026-09-06T04:00:00Z"),
        ("Asia/Beirut", "2026-03-28T12:00:00Z", "2026-03-28T22:00:00Z"),
        // Clocks go from 24:00 back to 23:00, so midnight comes an hour later.
        ("America/Santiago", "2026-04-04T12:00:00Z", "2026-04-05T04:00:00Z"),
        ("Asia/Kathmandu", "2026-11-21T18:00:00Z", "2026-11-21T18:15:00Z"),
        ("UTC", "2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z"),
    ])
    func `the next midnight is that of the zone, also across daylight saving`(
        zone: String, now: String, midnight: String
    ) throws {
        let rules = try #require(ZoneDirectory().rules(of: zone))
        let formatter = ISO8601DateFormatter()
        let date = try #require(formatter.date(from: now))
        let next = rules.nextDay(after: UnixTime(seconds: Int64(date.timeIntervalSince1970)))
        #expect(next.description == midnight)
        #expect(rules.local(next).day == rules.local(UnixTime(seconds: Int64(date.timeIntervalSince1970))).day + 1)
    }

    @Test(.timeLimit(.minutes(5))) func `what a stopped process had begun is computed by the next`() async throws {
        let isStuck = Mutex(true)
        try await Self.with { question throws(RefreshFailure) in
            if isStuck.withLock(\.self) {
                // Until the process stops.
                let (stream, _) = AsyncStream.makeStream(of: Void.self)
                for await _ in stream {}
                throw RefreshFailure(.threw, "stopped")
            }
            return try await Self.show(question)
        } _: { scene in
            try await scene.register("ann")
            try await scene.running { try await scene.until { scene.questions.count == 1 } }
            #expect(try await scene.record("ann")?.node == 1)
            isStuck.withLock { $0 = false }
            try await scene.running(node: 2) { try await scene.isDone("ann") }
            #expect(scene.questions.count == 2)
        }
    }

    @Test(.timeLimit(.minutes(5))) func `one who does not answer in time fails, and nobody else waits for it`()
        async throws
    {
        try await Self.with { question throws(RefreshFailure) in
            if question.user.text == "slow" {
                let (stream, _) = AsyncStream.makeStream(of: Void.self)
                for await _ in stream {}
            }
            return try await Self.show(question)
        } _: { scene in
            try await scene.running {
                try await scene.register("slow")
                try await scene.until { scene.questions.count == 1 }
                try await scene.register("ann")
                try await scene.isDone("ann")
                await scene.clock.advanceToSleeper(.seconds(9)...(.seconds(10)))
                try await scene.until { try await scene.record("slow")?.tries == 1 }
                #expect(try await scene.record("slow")?.failure?.hasPrefix("timeout") == true)
            }
        }
    }

    @Test(
        .timeLimit(.minutes(5)), arguments: [(RefreshFailure.Code.unavailable, 1), (.threw, 2)])
    func `a provider that is unwell is not asked about a person's other zones, one that is at a loss is`(
        code: RefreshFailure.Code, questions: Int
    ) async throws {
        try await Self.with { _ throws(RefreshFailure) in
            throw RefreshFailure(code, "as the test says")
        } _: { scene in
            try await scene.register("ann", zone: "Asia/Tokyo", device: "at home")
            try await scene.register("ann", zone: "Europe/Berlin", device: "on the way")
            try await scene.running {
                try await scene.until { try await scene.record("ann")?.tries == 1 }
            }
            #expect(scene.questions.count == questions)
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `a provider that is down is held, probed, and everybody is computed in the end`() async throws {
        let isDown = Mutex(true)
        try await Self.with { question throws(RefreshFailure) in
            if isDown.withLock(\.self) { throw RefreshFailure(.unreachable, "down") }
            return try await Self.show(question)
        } _: { scene in
            for number in 1...6 { try await scene.register("p\(number)") }
            try await scene.running {
                try await scene.until { scene.questions.count == 6 }
                let before = scene.questions.count
                isDown.withLock { $0 = false }
                for number in 1...6 {
                    try await scene.until {
                        scene.clock.advance(by: .seconds(1))
                        return try await scene.record("p\(number)").map { $0.done == $0.asked } ?? false
                    }
                }
                #expect(scene.questions.count >= before + 6)
            }
        }
    }

    @Test(.timeLimit(.minutes(5))) func `many at once are paced, and what somebody waits for goes before them`()
        async throws
    {
        try await Self.with(Self.show) { scene in
            try await scene.running(perSecond: 10) {
                for number in 1...30 { try await scene.register("p\(number)") }
                for number in 1...30 { try await scene.isDone("p\(number)") }
                let before = scene.questions.count
                for number in 1...30 { try await scene.ask("p\(number)", .paced) }
                try await scene.until { scene.questions.count == before + 10 }
                try await scene.ask("p30", .prompt)
                try await scene.isDone("p30")
                #expect(scene.questions.count == before + 11)
                try await scene.until { scene.clock.nextWake != nil }
                scene.clock.advance(by: .seconds(1))
                try await scene.until { scene.questions.count == before + 21 }
                try await scene.until { scene.clock.nextWake != nil }
                scene.clock.advance(by: .seconds(1))
                for number in 1...30 { try await scene.isDone("p\(number)") }
                #expect(scene.questions.count == before + 30)
            }
        }
    }

    @Test(.timeLimit(.minutes(5))) func `an idle service asks and claims nothing`() async throws {
        try await Self.with(Self.show) { scene in
            let store = scene.counted()
            try await scene.running(store: store) {
                try await scene.register("ann")
                try await scene.isDone("ann")
                try await scene.until { store.isIdle }
                let before = store.commits
                scene.clock.advance(by: .seconds(3600))
                // A service that had woken in that hour would have sent a command before this ask was done.
                try await scene.ask("ann")
                try await scene.isDone("ann")
                try await scene.until { store.isIdle }
                // The claim, and the answer.
                #expect(store.commits == before + 2)
            }
        }
    }

    @Test(.timeLimit(.minutes(5))) func `what is due and cannot be read is looked at once a pause, and others go on`()
        async throws
    {
        try await Self.with(Self.show) { scene in
            // A row that cannot be read stays due.
            let store = scene.counted(stuckSince: .seconds(60))
            try await scene.running(store: store) {
                try await scene.until { scene.clock.nextWake != nil || store.claims > 100 }
                // One claim at the start, and one because the computation is due.
                #expect(store.claims == 2)
                await scene.clock.advanceToSleeper(RefreshService.Limits().fruitlessPause)
                try await scene.until { store.claims == 3 }
                try await scene.register("ann")
                try await scene.isDone("ann")
            }
        }
    }
}
