import APNSModel
import LiveActivityCore
import TestSupport
import Testing

/// Tests of a suspect push-to-start token: two starts that no later inventory lists show that the phone has another.
struct SuspectTokenTests {
    /// Starts an activity, and sends an inventory after the start's expiration that does not list it.
    private func miss(_ scene: inout Scene, _ id: String, _ sequence: Int64) throws {
        try scene.put(id, users: ["ann"])
        scene.wait(.seconds(120))
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
        scene.wait(.seconds(600))
        _ = try scene.inventory(sequence: sequence)
        try scene.end(id)
        try scene.deliver()
    }

    private func token(_ scene: Scene) throws -> DeviceTokenRecord {
        try #require(scene.store.rows.deviceTokens.values.first { $0.kind == .pushToStart })
    }

    @Test func `After two it is suspect, and the next starts are an hour apart`() throws {
        var scene = Scene()
        try scene.register()
        try miss(&scene, "a", 1)
        #expect(try !token(scene).isSuspect)
        try miss(&scene, "b", 2)
        #expect(try token(scene).isSuspect)
        try scene.put("c", users: ["ann"])
        scene.wait(.seconds(120))
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
        let expired = try #require(try scene.card(of: "c").startExpiresAt)
        scene.wait(.seconds(600))
        _ = try scene.inventory(sequence: 3)
        #expect(try scene.deliver().isEmpty)
        let decision = try scene.decision(of: "c")
        #expect(decision.reason.code == .startTokenSuspect)
        #expect(decision.reason.arguments.first == "3")
        scene.now = expired + Reconciler.suspectPause
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
    }

    @Test func `Where the app names it anew one start tells, and a card that comes of it makes it good`() throws {
        var scene = Scene()
        try scene.register()
        try miss(&scene, "a", 1)
        // The app reports its token each time it is opened, so the report proves nothing.
        try scene.registerStart("phone", "p2s")
        #expect(try token(scene).missedStarts == 1)
        try miss(&scene, "b", 2)
        try scene.registerStart("phone", "p2s")
        #expect(try !token(scene).isSuspect)
        try miss(&scene, "c", 3)
        #expect(try token(scene).isSuspect)
        try scene.registerStart("phone", "p2s")
        try scene.put("d", users: ["ann"])
        scene.wait(.seconds(120))
        try scene.deliver()
        try scene.report(activity: "d", token: "u1")
        #expect(try token(scene).missedStarts == 0)
    }

    @Test func `Another value is not suspect`() throws {
        var scene = Scene()
        try scene.register()
        try miss(&scene, "a", 1)
        try miss(&scene, "b", 2)
        try scene.registerStart("phone", "p2s-2")
        #expect(try !token(scene).isSuspect)
    }
}
