import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Tests of inventories, refusals and rescues that come after the state has changed.
struct LateNewsTests {
    @Test func `an inventory within three minutes of a start's expiration does not tell that it failed`() throws {
        for (late, state) in [
            (Duration.seconds(1), CardState.unconfirmed), (.seconds(180), .unconfirmed),
            (.seconds(181), .absent),
        ] {
            var scene = Scene()
            try scene.register()
            try scene.put(users: ["ann"])
            scene.wait(.seconds(20))
            try scene.deliver()
            scene.wait(.seconds(300) + late)
            _ = try scene.inventory(sequence: 1)
            #expect(try scene.card().state == state, "\(late)")
        }
    }

    @Test func `a request refused for a replaced token does not park the one that replaced it`() throws {
        var scene = try Scene.live()
        try scene.put("a", 2)
        let flight = try scene.onlyFlight()
        try scene.report(token: "u2")
        let refusal = PushAnswer(status: 400, reason: .known(.badTopic))
        try scene.settle(flight) { _ in .answered(.success(refusal)) }
        #expect(try scene.card().revisions.parked == 0)
        scene.wait(.seconds(2))
        #expect(try scene.deliver().map(\.plan.revision) == [flight.record.revision])
    }

    @Test func `a rescue after the activity was reopened still consumes the timestamps of the flight`() throws {
        var scene = try Scene.live(Sample.type { $0.isReusable = true })
        try scene.put("a", 2)
        let flight = try scene.onlyFlight()
        let sent = try #require(flight.seats.first).timestamp
        try scene.end()
        try scene.put("a", 3)
        #expect(try scene.activity().run == 2 && scene.card().run == 1)
        scene.node += 1
        #expect(try scene.claim().rescued == 1)
        #expect(try scene.card().timestamp >= sent)
        scene.wait(.seconds(20))
        let later = try scene.deliver()
        #expect(!later.isEmpty && later.allSatisfy { $0.timestamp > sent })
    }

    @Test func `a rescue after a newer state spends the alert of its flight, and not a newer one`() throws {
        for isNewer in [false, true] {
            var scene = try Scene.live()
            try scene.put("a", 2) { body in body.alert = SetDesiredState.AlertWish(Sample.alert) }
            let flight = try scene.onlyFlight()
            #expect(flight.seats.map(\.plan.carriesAlert) == [true])
            try scene.put("a", 3) { body in
                var alert = SetDesiredState.AlertWish(Sample.alert)
                alert.id = "r\(isNewer ? 3 : flight.record.revision)"
                alert.keep = true
                body.alert = alert
            }
            scene.node += 1
            #expect(try scene.claim().rescued == 1)
            #expect(try scene.card().alerts.given >= flight.record.revision || isNewer)
            scene.wait(.seconds(2))
            let alert = try #require(try scene.activity().alert)
            #expect(try scene.deliver().map(\.plan.carriesAlert) == [alert.revision > flight.record.revision])
        }
    }

    @Test func `two starts whose cards can be told apart by their attributes need not wait for each other`() throws {
        for isDifferent in [false, true] {
            var scene = Scene()
            try scene.register()
            for id in ["a", "b"] {
                try scene.put(id, users: ["ann"]) { $0.attributes = ["shop": isDifferent ? .string(id) : "here"] }
            }
            scene.wait(.seconds(100))
            #expect(try scene.deliver().count == (isDifferent ? 2 : 1))
        }
    }

    @Test func `a card whose token iOS had replaced lives on, though APNs had refused the old one`() throws {
        var scene = try Scene.live()
        try scene.put("a", 2)
        scene.wait(.seconds(70))
        try scene.deliver(PushAnswer(status: 410, reason: APNSReason("ExpiredToken"), inactiveSince: scene.now))
        #expect(try scene.card().state == .gone)
        // The old token, or none, changes nothing.
        try scene.report(token: "u1")
        try scene.report()
        #expect(try scene.card().state == .gone)
        try scene.report(token: "u2")
        #expect(try scene.card().state == .live)
        scene.wait(.seconds(70))
        #expect(try scene.deliver().map(\.plan.kind) == [.update])
        try scene.report()
        #expect(try scene.card().state == .live, "its reports are heard again")
        try scene.report("phone", local: "card", .ended)
        try scene.report(token: "u3")
        #expect(try scene.card().state == .ended)
    }

    @Test func `an end that a replaced token swallowed is sent again to the card that is still there`() throws {
        var scene = try Scene.live()
        try scene.end()
        try scene.deliver(PushAnswer(status: 410, reason: APNSReason("ExpiredToken"), inactiveSince: scene.now))
        #expect(try scene.card().state == .ended)
        try scene.report(token: "u2")
        #expect(try scene.deliver().map(\.plan.kind) == [.end])
    }
}
