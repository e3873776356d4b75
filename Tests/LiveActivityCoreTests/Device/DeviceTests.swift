import APNSModel
import LiveActivityCore
import TestSupport
import Testing

struct DeviceTests {
    @Test func `a phone with another owner ends the cards of the one before`() throws {
        var scene = try Scene.live()
        try scene.register(user: "bob", startToken: nil)
        #expect(try !scene.card().isWanted)
        scene.wait(.seconds(2))
        let sent = try scene.deliver()
        #expect(sent.map(\.plan.kind) == [.end] && sent.first?.plan.reason.code == .leftAudience)
    }

    @Test func `signing out ends the cards and starts none`() throws {
        var scene = try Scene.live()
        try scene.put("b", users: ["ann"])
        _ = try scene.run(SignOutDevice(app: scene.app.bundleID, id: Sample.device("phone"), now: scene.now))
        scene.wait(.seconds(100))
        #expect(try scene.deliver().map(\.plan.kind) == [.end])
        #expect(try scene.decision(of: "b").reason.code == .signedOut)
        // A former token value serves again when the person is back.
        try scene.register()
        scene.wait(.seconds(100))
        #expect(try scene.deliver().contains { $0.plan.kind == .start })
    }

    @Test func `a device that appears late joins, without the alert that went before`() throws {
        var scene = Scene()
        try scene.put(users: ["ann"]) { $0.alert = SetDesiredState.AlertWish(Sample.alert) }
        scene.wait(.seconds(5))
        try scene.register()
        scene.wait(.seconds(20))
        let sent = try scene.deliver()
        #expect(sent.map(\.plan.kind) == [.start] && sent.first?.plan.carriesAlert == false)
        // The last active device has the card. A second device waits until it shows the card itself.
        try scene.register("pad", startToken: "p2s-pad", key: 8)
        #expect(try scene.decision("pad").reason.code == .otherDeviceActive)
    }

    @Test func `devices that a later call chooses get a card, also if they have joined before`() throws {
        var scene = Scene()
        try scene.register("phone", startToken: "p2s-phone", key: 7)
        try scene.register("pad", startToken: "p2s-pad", key: 8)
        try scene.put(users: ["ann"])
        scene.wait(.seconds(100))
        let first = try scene.deliver()
        #expect(first.map(\.plan.kind) == [.start])
        let other = first.map(\.phone.device.key) == [7] ? "pad" : "phone"
        #expect(try scene.decision(other).reason.code == .otherDeviceActive)
        // The same state and audience, for all devices.
        try scene.put { $0.devices = .all }
        scene.wait(.seconds(100))
        let second = try scene.deliver()
        #expect(second.map(\.phone.device.id) == [Sample.device(other)])
        // A device that is no longer chosen keeps its card, and gets no other.
        try scene.put("a", 2) { $0.devices = .only([Sample.device(other)]) }
        #expect(try scene.decision(other == "pad" ? "phone" : "pad").reason.code != .firstState)
    }

    @Test func `a card of an earlier run does not choose its device for the next run`() throws {
        var scene = try Scene.live()
        try scene.register("pad", startToken: "p2s-pad", key: 8)
        try scene.end()
        scene.wait(.seconds(13 * 3600))
        try scene.put("a", 2) { body in
            body.reopen = true
            body.devices = .only([Sample.device("pad")])
        }
        scene.wait(.seconds(100))
        #expect(try scene.deliver().filter { $0.plan.kind == .start }.map(\.phone.device.key) == [8])
    }

    @Test func `what belongs to people who are not the audience is not touched`() throws {
        var scene = try Scene.live()
        try scene.register("bobs", user: "bob", key: 9)
        #expect(scene.store.rows.cards.keys.map(\.device) == [7])
    }

    @Test func `a token value has one owner, so that a start goes there once`() throws {
        var scene = Scene()
        try scene.register("old", startToken: "same", key: 7)
        try scene.register("new", startToken: "same", key: 8)
        try scene.put(users: ["ann"]) { $0.devices = .all }
        scene.wait(.seconds(100))
        #expect(try scene.deliver().map(\.phone.device.key) == [8])
        #expect(try scene.decision("old").reason.code == .pushToStartTokenDead)
    }

    @Test func `a dead value stays dead, for every type it serves`() throws {
        var scene = Scene(Sample.type(), Sample.type("ride"))
        try scene.register()
        try scene.registerStart("phone", "p2s", type: "ride")
        try scene.put(users: ["ann"])
        scene.wait(.seconds(100))
        let flight = try scene.onlyFlight()
        try scene.settle(flight) { _ in .answered(.success(PushAnswer(status: 410, reason: APNSReason("ExpiredToken"))))
        }
        #expect(try scene.card().state == .absent)
        try scene.put("r", users: ["ann"], type: Sample.type("ride"))
        scene.wait(.seconds(100))
        #expect(try scene.deliver().isEmpty)
        #expect(try scene.decision(of: "r").reason.code == .pushToStartTokenDead)
        #expect(throws: Refusal.deadToken) { try scene.registerStart("phone", "p2s") }
        try scene.registerStart("phone", "p2s-2")
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
        #expect(scene.store.rows.deviceTokens[.init(7, .pushToStart, "order")]?.generation == 2)
    }

    @Test func `the same value again is no new generation, and wakes no start`() throws {
        var scene = Scene()
        try scene.register()
        try scene.put(users: ["ann"])
        scene.wait(.seconds(20))
        try scene.deliver()
        try scene.registerStart("phone", "p2s")
        #expect(scene.store.rows.deviceTokens[.init(7, .pushToStart, "order")]?.generation == 1)
        try scene.registerStart("phone", "p2s-2")
        scene.wait(.seconds(3600))
        #expect(try scene.deliver().isEmpty)
    }

    @Test func `an update token that was replaced is not taken again`() throws {
        var scene = try Scene.live()
        try scene.report(token: "u2")
        try scene.report(token: "u1")
        let token = try #require(scene.store.rows.updateTokens.values.first)
        #expect(token.value == TokenValue(Sample.token("u2", as: UpdateTokenKind.self)) && token.generation == 2)
        #expect(try scene.card().tokenGeneration == 2)
    }

    @Test func `a phone that names its environment moves its tokens there`() throws {
        var scene = Scene()
        try scene.register(environment: nil)
        try scene.report(token: "u1")
        #expect(scene.store.rows.updateTokens.values.first?.environment == .production)
        try scene.register(environment: .sandbox)
        #expect(scene.store.rows.updateTokens.values.first?.environment == .sandbox)
        #expect(scene.store.rows.deviceTokens.values.allSatisfy { $0.environment == .sandbox })
    }

    @Test func `a phone that never named its environment is tried once in the other`() throws {
        var scene = Scene()
        try scene.register(environment: nil)
        try scene.put(users: ["ann"])
        scene.wait(.seconds(100))
        let bad = PushAnswer(status: 400, reason: APNSReason("BadDeviceToken"))
        let sent = try scene.deliver(bad)
        #expect(sent.map(\.phone.pushToStartToken?.environment) == [.production, .sandbox])
        #expect(try scene.decision().reason.code == .pushToStartTokenDead)
        // An answer about a replaced value says nothing about the next value's environment.
        try scene.report(token: "u1")
        scene.wait(.seconds(2))
        let flight = try scene.onlyFlight()
        try scene.report(token: "u2")
        try scene.settle(flight) { _ in .answered(.success(bad)) }
        #expect(scene.store.rows.updateTokens.values.first?.environment == .production)
    }
}
