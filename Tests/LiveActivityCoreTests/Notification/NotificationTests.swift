import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Tests that ordinary notifications are durable and sent at least once, under one id.
@Suite struct NotificationTests {
    private func scene(_ token: String? = "d1") throws -> Scene {
        var scene = Scene()
        try scene.register()
        try scene.say { $0.deviceToken = token.map { Sample.token($0) } }
        return scene
    }

    @Test func `a notification goes to the device token under the bare topic, and is erased when APNs has it`() throws {
        var scene = try scene()
        #expect(try scene.notify() == .init(devices: 1, reasons: [:]))
        #expect(scene.waiting == (1, 1))
        let seat = try #require(try scene.claimNotifications().flight.seats.first)
        let request = try #require(seat.request)
        #expect(request.destination == .device(Sample.token("d1")))
        #expect(request.topic == Topic(Sample.bundleID, .alert) && request.topic.text == Sample.bundleID.text)
        #expect(request.priority == .high && request.expiration == .at(scene.now + NotifyUser.lifetime))
        try scene.settle(.init(claimedAt: scene.now, seats: [seat])) { _ in .success(PushAnswer(status: 200)) }
        #expect(scene.waiting == (0, 0))
    }

    @Test func `a background push has its own type and low priority`() throws {
        var scene = try scene()
        try scene.say { $0.notificationAuthorization = "denied" }
        #expect(try scene.notify("ann", .background).devices == 1)
        let request = try #require(try scene.claimNotifications().flight.seats.first?.request)
        #expect(request.topic == Topic(Sample.bundleID, .background) && request.priority == .low)
    }

    static let obstacles: [(String, Reason.Code, @Sendable (inout Scene) throws -> Void)] = [
        ("no device token", .noDeviceToken, { _ in }),
        (
            "notifications denied", .notificationsDenied,
            {
                try $0.say {
                    $0.deviceToken = Sample.token("d1"); $0.notificationAuthorization = "denied"
                }
            }
        ),
        (
            "never asked", .notificationsDenied,
            {
                try $0.say {
                    $0.deviceToken = Sample.token("d1"); $0.notificationAuthorization = "notDetermined"
                }
            }
        ),
        (
            "signed out", .signedOut,
            { scene in
                try scene.say { $0.deviceToken = Sample.token("d1") }
                _ = try scene.run(
                    SignOutDevice(app: scene.app.bundleID, id: Sample.device("phone"), now: scene.now))
            }
        ),
    ]

    @Test(arguments: obstacles.indices)
    func `who cannot get it is counted with the reason, and nothing is kept`(index: Int) throws {
        let (_, code, change) = Self.obstacles[index]
        var scene = try scene(nil)
        try change(&scene)
        #expect(try scene.notify() == .init(devices: 0, reasons: [code.rawValue: 1]))
        #expect(scene.waiting == (0, 0))
    }

    @Test func `somebody whom nobody knows is no fault`() throws {
        var scene = try scene()
        #expect(try scene.notify("eve") == .init(devices: 0, reasons: [:]))
    }

    @Test func `all devices, the last active one, or those that are named`() throws {
        var scene = try scene()
        scene.wait(.seconds(10))
        try scene.register("second", startToken: nil, key: 8)
        try scene.say("second") { $0.deviceToken = Sample.token("d2") }
        #expect(try scene.notify(number: 1).devices == 2)
        let last = try scene.notify(number: 2) { $0.devices = .lastActive }
        #expect(last == .init(devices: 1, reasons: ["other-device-active": 1]))
        #expect(try scene.notify(number: 3) { $0.devices = .only([Sample.device("phone")]) }.devices == 1)
        let keys = try scene.claimNotifications().flight.seats.map(\.device.id.text)
        #expect(keys.sorted() == ["phone", "phone", "second", "second"])
    }

    @Test func `what a lost process had claimed is sent again after its lease, under the same ids`() throws {
        var scene = try scene()
        try scene.notify()
        let first = try #require(try scene.claimNotifications().flight.seats.first?.request)
        #expect(try scene.claimNotifications().flight.seats.isEmpty)
        scene.wait(.seconds(15))
        let again = try #require(try scene.claimNotifications().flight.seats.first?.request)
        #expect(again.id == first.id && again.collapseID == first.collapseID && again.payload == first.payload)
        #expect(first.collapseID != nil)
    }

    @Test func `an unknown fate, a 5xx and a 429 are repeated under the same ids until it is out of date`() throws {
        var scene = try scene()
        try scene.notify { $0.expiresAfter = .seconds(3000) }
        var ids: Set<PushID> = []
        let troubles: [Result<PushAnswer, PushFailure>] = [
            .failure(PushFailure(.unknownFate, "lost")), .success(.refusal(.serviceUnavailable)),
            .success(.refusal(.tooManyRequests)), .failure(PushFailure(.cannotConnect, "no")),
        ]
        for trouble in troubles {
            let flight = try scene.claimNotifications().flight
            ids.formUnion(flight.seats.compactMap(\.request?.id))
            #expect(try scene.settle(flight) { _ in trouble }.retried == 1)
            let due = try #require(scene.store.nextNotificationAt)
            #expect(due > scene.now)
            scene.now = due
        }
        #expect(ids.count == 1)
        scene.wait(.seconds(3000))
        #expect(try scene.claimNotifications().dropped == [.expired: 1])
        #expect(scene.waiting == (0, 0))
    }

    @Test(arguments: [APNSReason.Known.unregistered, .expiredToken, .badDeviceToken, .deviceTokenNotForTopic])
    func `a dead device token kills this value alone`(reason: APNSReason.Known) throws {
        var scene = try scene()
        try scene.notify(number: 1)
        try scene.notify(number: 2)
        let flight = try scene.claimNotifications().flight
        // The app registers a new token while the answer is on its way.
        try scene.say { $0.deviceToken = Sample.token("d2") }
        try scene.settle(.init(claimedAt: scene.now, seats: [flight.seats[0]])) { _ in .success(.refusal(reason)) }
        let token = try #require(scene.store.rows.deviceTokens[.init(7, .device, "")])
        #expect(token.deadAt == nil && token.value == TokenValue(Sample.token("d2", as: DeviceTokenKind.self)))
        #expect(
            scene.store.rows.owners[.init(Sample.bundleID, TokenValue(Sample.token("d1", as: DeviceTokenKind.self)))]?
                .deadAt != nil)
        #expect(scene.store.rows.deviceTokens[.init(7, .pushToStart, "order")]?.deadAt == nil)
        // Waiting notifications go to the new token, as do those that the old one was refused.
        scene.wait(.seconds(15))
        let next = try scene.claimNotifications().flight.seats
        #expect(next.map(\.request?.destination) == Array(repeating: .device(Sample.token("d2")), count: 2))
    }

    @Test func `a token older than a 410 says is tried again`() throws {
        var scene = try scene()
        try scene.notify()
        let flight = try scene.claimNotifications().flight
        let before = scene.now - .seconds(5)
        #expect(try scene.settle(flight) { _ in .success(.refusal(.unregistered, inactiveSince: before)) }.retried == 1)
        #expect(scene.store.rows.deviceTokens[.init(7, .device, "")]?.deadAt == nil)
    }

    @Test func `BadDeviceToken is tried once in the other environment where the phone never named its own`() throws {
        var scene = Scene()
        try scene.register(environment: nil)
        try scene.say { $0.deviceToken = Sample.token("d1") }
        try scene.notify()
        let first = try scene.claimNotifications().flight
        #expect(first.seats.first?.request?.environment == .production)
        try scene.settle(first) { _ in .success(.refusal(.badDeviceToken)) }
        let second = try scene.claimNotifications().flight
        #expect(second.seats.first?.request?.environment == .sandbox)
        #expect(second.seats.first?.request?.id == first.seats.first?.request?.id)
        try scene.settle(second) { _ in .success(.refusal(.badDeviceToken)) }
        #expect(try scene.claimNotifications().dropped == [.deviceTokenDead: 1])
        #expect(scene.waiting == (0, 0))
    }

    @Test func `our own mistake is parked with the evidence, and erased when it is out of date`() throws {
        var scene = try scene()
        try scene.notify()
        let reply = try scene.settle(try scene.claimNotifications().flight) { _ in .success(.refusal(.badTopic)) }
        #expect(reply.parked.map(\.reason.code) == [.parked])
        let row = try #require(scene.store.rows.addressees.values.first)
        #expect(row.dueAt == nil && row.reason?.arguments == ["400", "BadTopic"])
        #expect(try scene.claimNotifications().flight.seats.isEmpty)
        scene.wait(NotifyUser.lifetime)
        #expect(try scene.claimNotifications().flight.seats.isEmpty)
        #expect(scene.waiting == (0, 0))
    }

    @Test func `another person's phone does not show what waits for the one before`() throws {
        var scene = try scene()
        try scene.notify()
        try scene.say(user: "bob") { $0.deviceToken = Sample.token("d1") }
        #expect(try scene.claimNotifications().dropped == [.signedOut: 1])
        #expect(scene.waiting == (0, 0))
    }

    @Test func `late news of an earlier attempt does not hold up the next, but an acceptance counts`() throws {
        var scene = try scene()
        try scene.notify()
        let first = try scene.claimNotifications().flight
        scene.wait(.seconds(15))
        let second = try scene.claimNotifications().flight
        let before = scene.store.rows.addressees
        try scene.settle(first) { _ in .success(.refusal(.serviceUnavailable)) }
        #expect(scene.store.rows.addressees == before)
        try scene.settle(first) { _ in .success(PushAnswer(status: 200)) }
        #expect(scene.waiting == (0, 0))
        try scene.settle(second) { _ in .success(.refusal(.serviceUnavailable)) }
        #expect(scene.waiting == (0, 0))
    }

    @Test func `a closed route holds its notifications back, a background push may probe it`() throws {
        var scene = try scene()
        try scene.notify(number: 1)
        try scene.notify("ann", .background, number: 2)
        let route = PushRoute(Sample.bundleID, .production)
        let until = scene.now + .seconds(20)
        let gate = CircuitGate(
            closed: [route: .init(until: until, trouble: .connection("lost"))], probes: [route])
        let reply = try scene.claimNotifications(gate: gate)
        #expect(reply.flight.seats.map(\.notification.kind) == [.background])
        #expect(reply.probed == [route] && reply.held == [route])
        #expect(scene.store.rows.addressees.values.map(\.dueAt).contains(until))
    }

    @Test func `a large notification leaves half of a claim to others`() throws {
        var scene = Scene()
        for number in 0..<40 {
            try scene.register("p\(number)", startToken: nil, key: Int64(number))
            try scene.say("p\(number)") { $0.deviceToken = Sample.token("d\(number)") }
        }
        try scene.notify(number: 1)
        try scene.register("small", user: "bob", startToken: nil, key: 99)
        try scene.say("small", user: "bob") { $0.deviceToken = Sample.token("d99") }
        scene.wait(.seconds(1))
        try scene.notify("bob", number: 2)
        var limits = ClaimNotifications.Limits()
        limits.pushes = 10
        let seats = try scene.claimNotifications(limits).flight.seats
        #expect(seats.count == 6 && seats.contains { $0.device.id == Sample.device("small") })
    }

    @Test func `a suspect push-to-start token has the app asked, once, to read it anew`() throws {
        var scene = try scene()
        for sequence in Int64(1)...4 {
            try scene.put("a\(sequence)", users: ["ann"])
            scene.wait(.seconds(20))
            try scene.deliver()
            scene.wait(.seconds(500))
            _ = try scene.inventory(sequence: sequence)
            let sent = try scene.deliverNotifications().map(\.notification.kind)
            #expect(sent == (sequence == 2 ? [.background] : []), "after start \(sequence)")
            // The failed activity is ended, so that it is not started again and again.
            try scene.end("a\(sequence)")
        }
    }

    @Test func `a call with a key that is repeated gets the first answer, and sends nothing more`() throws {
        var scene = try scene()
        func call(_ number: UInt64) throws -> Idempotent<NotifyUser>.Reply {
            let command = NotifyUser(
                app: scene.app.bundleID, user: Sample.user("ann"), body: .init(.background, payload: [1]),
                now: scene.now, random: number)
            return try scene.run(
                Idempotent(command, app: scene.app.bundleID, at: .init(hash: [1]), digest: [2], now: scene.now))
        }
        #expect(try call(1).isReplayed == false)
        #expect(try call(2).isReplayed && call(3).reply.devices == 1)
        #expect(scene.waiting == (1, 1))
    }
}
