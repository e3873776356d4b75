import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Tests of when a notification is looked at again that could not be sent to all phones. There is always a pause.
struct NotificationWaitTests {
    /// A notification to several phones of a person. The phones use production, except those in `sandbox`.
    private static func scene(_ phones: Int, sandbox: Set<Int> = []) throws -> Scene {
        var scene = Scene()
        for number in 1...phones {
            let name = "phone-\(number)"
            let environment: APNSEnvironment = sandbox.contains(number) ? .sandbox : .production
            try scene.register(name, environment: environment, startToken: nil, key: DeviceKey(number))
            try scene.say(name) { $0.deviceToken = Sample.token("token-\(number)") }
        }
        try scene.notify()
        #expect(scene.waiting == (1, phones))
        return scene
    }

    private static func claim(
        _ scene: inout Scene, _ gate: CircuitGate = .open, pace: Pacer.Grant = Pacer.unlimited,
        environments: Set<APNSEnvironment>
    ) throws -> ClaimNotifications.Reply {
        // Allows one phone a page.
        var limits = ClaimNotifications.Limits()
        limits.pushes = 2
        return try scene.run(
            ClaimNotifications(
                now: scene.now, limits: limits, gate: gate, pace: pace,
                environments: [Sample.bundleID: environments]))
    }

    @Test func `one that has its share on its way is looked at after a pause, however many are left`() throws {
        var scene = try Self.scene(3)
        let number = try #require(scene.store.rows.notifications.keys.first)
        let full = Pacer.Grant(pushes: 100, activityPushes: 10, onTheWay: [number: 10], halvings: 0)
        #expect(try Self.claim(&scene, pace: full, environments: [.production]).flight.seats.isEmpty)
        #expect(scene.store.nextNotificationAt == scene.now + Pacer.pause)
        // With room, it continues page by page.
        scene.wait(Pacer.pause)
        #expect(try Self.claim(&scene, environments: [.production]).flight.seats.count == 1)
        #expect(scene.store.nextNotificationAt == scene.now)
    }

    @Test func `where the only route is closed it waits as a whole, and one row is written`() throws {
        var scene = try Self.scene(3)
        let route = PushRoute(Sample.bundleID, .production)
        let until = scene.now + .seconds(20)
        let closed = CircuitGate(
            closed: [route: .init(until: until, trouble: .connection("lost"))], probes: [])
        let reply = try Self.claim(&scene, closed, environments: [.production])
        #expect(reply.flight.seats.isEmpty && reply.held == [route])
        #expect(scene.store.lastChanges.addressees.count == 1)
        #expect(scene.store.nextNotificationAt == until)
        // Once the route is open, all are sent. The phones that have waited longest come first.
        scene.now = until
        var sent: [DeviceKey] = []
        for _ in 1...3 {
            sent += try Self.claim(&scene, environments: [.production]).flight.seats.map(\.device.key)
        }
        #expect(sent == [2, 3, 1])
    }

    @Test func `where one of two routes is closed, phones on the other do not wait behind it`() throws {
        var scene = try Self.scene(3, sandbox: [3])
        let route = PushRoute(Sample.bundleID, .production)
        let until = scene.now + .seconds(20)
        let closed = CircuitGate(
            closed: [route: .init(until: until, trouble: .connection("lost"))], probes: [])
        var sent: [DeviceKey] = []
        for _ in 1...3 {
            sent += try Self.claim(&scene, closed, environments: [.production, .sandbox]).flight.seats.map(\.device.key)
        }
        #expect(sent == [3])
    }

    @Test func `what is left of one that is over, since it cannot be read, is looked at once a minute`() throws {
        var scene = try Self.scene(2)
        // The count says two, but one of the rows is missing.
        scene.store.edit { draft in
            if let key = draft.snapshot.addressees.keys.max() { draft.remove(key) }
        }
        scene.wait(NotifyUser.lifetime)
        let dropped = try scene.claimNotifications().dropped
        #expect(dropped == [.expired: 1])
        #expect(scene.store.nextNotificationAt == scene.now + .seconds(60))
    }
}
