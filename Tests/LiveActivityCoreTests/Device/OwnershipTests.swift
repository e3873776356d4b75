import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Tests of a phone that changes hands. Nothing of the earlier person is shown to the next.
struct OwnershipTests {
    /// Returns the pushes for a phone: the kind, the activity, and whether a state is included.
    private func sent(_ scene: inout Scene) throws -> [(kind: PushKind, activity: String, hasState: Bool)] {
        var all: [(PushKind, String, Bool)] = []
        for _ in 0..<20 {
            let reply = try scene.claim()
            for flight in reply.flights {
                for seat in flight.seats {
                    guard let request = try flight.request(of: seat) else { continue }
                    let payload = try JSONValue(parsing: request.payload)
                    let state = payload.object?["aps"]?.object?["content-state"]
                    all.append((seat.plan.kind, flight.desired.activity.id.text, state != nil))
                }
                try scene.settle(flight) { _ in .answered(.success(PushAnswer(status: 200))) }
            }
            if reply.flights.isEmpty && !reply.hasMore { break }
        }
        return all
    }

    @Test func `F6: another user ends what runs there at once, without the state of the one before`() throws {
        var scene = try Scene.live()
        scene.wait(.seconds(60))
        try scene.put("a", 2)
        try scene.put("b", 1, users: ["bob"]) { $0.attributes = ["n": 2] }
        try scene.register(user: "bob", startToken: nil)
        scene.wait(.seconds(30))
        let pushes = try sent(&scene)
        #expect(pushes.map(\.kind) == [.end] && pushes.map(\.activity) == ["a"])
        #expect(!pushes.contains { $0.hasState }, "the next owner must not see it, not even as the last state")
        // Later changes of the activity reach nobody on this phone.
        try scene.put("a", 3)
        scene.wait(.seconds(30))
        #expect(try sent(&scene).allSatisfy { $0.kind == .end && !$0.hasState })
        // The new owner's own activity starts once the app reports the token again.
        try scene.registerStart("phone", "p2s")
        scene.wait(.seconds(70))
        #expect(try sent(&scene).contains { $0.kind == .start && $0.activity == "b" })
    }

    @Test func `a device token that another person's device reports is its own, and the old device is over`() throws {
        var scene = try Scene.live()
        let old = try scene.card().device
        // The app was installed again under another id, and another person signed in.
        try scene.register("reinstalled", user: "bob", startToken: "p2s", key: 9)
        let rows = scene.store.rows
        #expect(rows.devices[old]?.signedOutAt == scene.now)
        #expect(rows.deviceTokens.values.filter { $0.device == old }.allSatisfy { $0.deadAt != nil })
        #expect(
            rows.owners[.init(Sample.bundleID, TokenValue(Sample.token("p2s", as: PushToStartTokenKind.self)))]?.device
                == 9)
        scene.wait(.seconds(60))
        try scene.put("a", 2)
        scene.wait(.seconds(2))
        let pushes = try sent(&scene)
        #expect(pushes.map(\.kind) == [.end] && !pushes.contains { $0.hasState })
    }

    @Test func `under another id of the same person only the token moves, and the cards go on`() throws {
        var scene = try Scene.live()
        let old = try scene.card().device
        try scene.register("again", user: "ann", startToken: "p2s", key: 9)
        let rows = scene.store.rows
        #expect(rows.devices[old]?.signedOutAt == nil)
        #expect(
            rows.owners[.init(Sample.bundleID, TokenValue(Sample.token("p2s", as: PushToStartTokenKind.self)))]?.device
                == 9)
        scene.wait(.seconds(60))
        try scene.put("a", 2)
        scene.wait(.seconds(2))
        #expect(try sent(&scene).contains { $0.kind == .update && $0.hasState })
    }

    @Test func `an update token that another device reports leaves the card that had it`() throws {
        var scene = try Scene.live()
        try scene.register("other", user: "bob", startToken: "q", key: 9)
        try scene.put("b", 1, users: ["bob"]) { $0.attributes = ["n": 2] }
        try scene.report("other", local: "theirs", activity: "b", token: "u1")
        scene.wait(.seconds(60))
        try scene.put("a", 2)
        try scene.put("b", 2)
        scene.wait(.seconds(2))
        let pushes = try sent(&scene)
        #expect(pushes.filter { $0.kind == .update }.map(\.activity) == ["b"], "one owner: nothing of `a` goes to it")
    }

    @Test func `a minority that did not leave counts no try`() throws {
        var scene = Scene()
        for index in 1...4 {
            try scene.register("d\(index)", startToken: nil, key: DeviceKey(index * 10))
            try scene.report("d\(index)", local: "c\(index)", token: "t\(index)")
        }
        try scene.put(users: ["ann"]) { $0.devices = .all }
        scene.wait(.seconds(70))
        try scene.deliver()
        scene.wait(.seconds(70))
        try scene.put("a", 2)
        scene.wait(.seconds(2))
        let flight = try #require(try scene.claim().flights.first)
        try scene.settle(flight) { seat in
            .answered(
                seat.phone.device.key == 10
                    ? .failure(PushFailure(.overloaded, "full")) : .success(PushAnswer(status: 200)))
        }
        #expect(
            try scene.card("d1").columns.tries == 0
                && scene.card("d1").attempts.dueAt == scene.now + .milliseconds(250))
        scene.wait(.milliseconds(250))
        #expect(try scene.deliver().count == 1)
    }

    @Test func `a clock that was set back holds no change for what it was set back by`() throws {
        var scene = try Scene.live()
        scene.wait(.seconds(3600))
        try scene.put("a", 2)
        try scene.deliver()
        #expect(try scene.activity().holdUntil > scene.now)
        scene.now = scene.now - .seconds(3000)
        try scene.put("a", 3)
        let wake = try #require(scene.store.nextWakeAt)
        #expect(wake <= scene.now + .seconds(1))
        scene.wait(.seconds(1))
        #expect(try scene.deliver().map(\.plan.revision) == [3])
    }
}
