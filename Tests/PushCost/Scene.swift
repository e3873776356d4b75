import APNSModel
import Foundation
import JSONText
import LiveActivityCore
import LiveActivityDelivery
import LiveActivityStorage
import Logging
import StorageSQL
import StorageSQLite
import Synchronization
import TestSupport

/// A database with people, their phones and the cards on them, and a dispatcher that delivers to them.
struct Scene: Sendable {
    let store: HeldStore
    let clock = SteppedClock()
    private let app = Sample.app(Sample.type { $0.start = .appOnly })

    /// Runs the body with a running dispatcher on a database of its own.
    static func perform(_ body: @escaping @Sendable (Scene) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "islet-cost-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let store = try SQLStore(path: directory.appending(path: "islet.sqlite").path)
        defer { store.close() }
        let scene = Scene(store: HeldStore(store))
        let dice = Mutex(SeededDice(seed: 11))
        let dispatcher = Dispatcher(
            store: scene.store, sender: AcceptingSender(), apps: [scene.app], time: scene.clock.timeSource,
            clock: scene.clock, node: 1, dice: { dice.withLock { $0.next() } },
            logger: Logger(label: "quiet") { _ in SwiftLogNoOpLogHandler() })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await dispatcher.run() }
            try await body(scene)
            group.cancelAll()
        }
    }

    /// Registers this many people, each with this many phones.
    func register(people: Int, phonesEach: Int = 1) async throws {
        try await commit((0..<people * phonesEach).map { $0 }) { phone in
            var body = RegisterDevice.Body(user: user(phone / phonesEach))
            body.osVersion = OSVersion(18, 0)
            body.environment = .production
            var dice = SeededDice(seed: UInt64(phone))
            return RegisterDevice(
                app: app, id: device(phone), body: body, now: clock.wall,
                freshKey: DeviceKey(truncatingIfNeeded: dice.next() >> 1))
        }
    }

    func put(_ step: Int, _ activities: [Int], people: ((Int) -> Range<Int>)? = nil) async throws {
        try await commit(activities) { activity in
            var body = SetDesiredState.Body(state: Sample.state(step))
            body.users = people?(activity).map(user)
            body.devices = .all
            body.start = .appOnly
            body.attributes = ["name": .string("activity-\(activity)")]
            return SetDesiredState(
                app: app.bundleID, id: id(activity), type: Sample.type(), body: body, now: clock.wall)
        }
    }

    /// Reports a card of an activity and its token on each phone.
    func report(phones: Int, activity: (Int) -> Int) async throws {
        try await commit((0..<phones).map { $0 }) { phone in
            var report = CardReport(localID: Sample.local("card-\(phone)"), type: Sample.type(), state: .active)
            report.activity = id(activity(phone))
            report.token = Sample.token("update-\(phone)")
            return ReportCard(app: app, device: device(phone), report: report, now: clock.wall)
        }
    }

    private func id(_ activity: Int) -> ActivityID { Sample.activityID("activity-\(activity)") }
    private func user(_ person: Int) -> UserID { Sample.user("person-\(person)") }
    private func device(_ phone: Int) -> DeviceID { Sample.device("phone-\(phone)") }

    /// Commits all commands at once, as many callers do. The store starts when all of them wait, however busy the
    /// machine is.
    private func commit<C: Command>(_ numbers: [Int], _ make: (Int) -> C) async throws {
        let (store, gate) = (store, Gate())
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { _ = try await store.commit(gate).get() }
            await gate.isReached()
            for command in numbers.map(make) {
                group.addTask { _ = try await store.commit(command).get() }
            }
            while store.inner.waiting < numbers.count { await Task.yield() }
            gate.open()
            try await group.waitForAll()
        }
    }
}
