import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Tests of two sides acting on the same card.
struct LifeTests {
    @Test func `a local update between a push and its settlement does not bring the alert again`() throws {
        var scene = try Scene.live()
        try scene.put("a", 2) { $0.alert = SetDesiredState.AlertWish(Sample.alert) }
        scene.wait(.seconds(2))
        let flight = try scene.onlyFlight()
        let seat = try #require(flight.seats.first)
        #expect(seat.plan.carriesAlert)
        // The alert wakes the app, which updates the card itself before the flight is settled.
        try scene.report { $0.lastTimestamp = seat.timestamp + 1 }
        try scene.settle(flight) { _ in .answered(.success(PushAnswer(status: 200))) }
        scene.wait(.seconds(2))
        #expect(try scene.deliver().isEmpty)
        try scene.put("a", 3) { $0.alert = nil }
        scene.wait(.seconds(2))
        #expect(try scene.deliver().map(\.plan.carriesAlert) == [false])
    }

    @Test func `an inventory does not end the app's word that it is about to start`() throws {
        var scene = Scene()
        try scene.register()
        try scene.put(users: ["ann"])
        scene.wait(.seconds(60))
        try scene.report(local: "soon", .requesting)
        _ = try scene.inventory(sequence: 1)
        scene.wait(.seconds(119))
        #expect(try scene.deliver().isEmpty)
        scene.wait(.seconds(2))
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
    }

    @Test func `an app that announces a card and starts none gets no second one beside a card whose token died`() throws
    {
        var scene = try Scene.live(Sample.type { $0.restart = .always })
        scene.wait(.seconds(2))
        try scene.put("a", 2)
        let update = try scene.onlyFlight()
        try scene.settle(update) { _ in .answered(.success(.refusal(.expiredToken))) }
        try scene.report(local: "soon", .requesting)
        scene.wait(.seconds(200))
        #expect(try scene.deliver().isEmpty)
        // The phone reports that the card is gone, so another may start.
        _ = try scene.inventory(sequence: 9)
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
    }

    @Test func `a dismissal outlives the app's word that it is about to start`() throws {
        var scene = try Scene.live()
        try scene.report("phone", .dismissed)
        try scene.report(local: "again", .requesting)
        scene.wait(.seconds(200))
        try scene.put("a", 2)
        #expect(try scene.deliver().isEmpty)
        #expect(try scene.decision().reason.code == .personDismissed)
    }

    @Test func `who comes back while the end is unconfirmed gets a new card, and the old one's news does not touch it`()
        throws
    {
        var scene = try Scene.live()
        try scene.put("a", 1, users: [])
        scene.wait(.seconds(2))
        #expect(try scene.deliver().map(\.plan.kind) == [.end])
        try scene.put("a", 1, users: ["ann"])
        scene.wait(.seconds(90))
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
        try scene.report("phone", .ended)
        #expect(try scene.card().state == .unconfirmed)
    }

    @Test func `the same end again changes nothing, and alerts nobody again`() throws {
        var scene = try Scene.live()
        let alert = SetDesiredState.AlertWish(Sample.alert)
        let first = try scene.end(dismissal: .after(.seconds(900)), alert: alert)
        scene.wait(.seconds(5))
        let ended = try scene.activity().endDismissal(policy: TypePolicy())
        #expect(try scene.deliver().map(\.plan.carriesAlert) == [true])
        let second = try scene.end(dismissal: .after(.seconds(900)), alert: alert)
        #expect(first.changed && !second.changed && first.revision == second.revision)
        #expect(try scene.activity().endDismissal(policy: TypePolicy()) == ended)
        scene.wait(.seconds(5))
        #expect(try scene.deliver().isEmpty)
        // Another last state is a change. It leaves the lock screen at the first one's time.
        let third = try scene.end("a", Sample.state(9), dismissal: .after(.seconds(900)))
        #expect(third.changed)
        #expect(try scene.activity().endDismissal(policy: TypePolicy()) == ended)
    }

    @Test func `a card of an earlier run that nobody can end holds the next for 12 hours at most`() throws {
        var scene = try Scene.live()
        try scene.put("a", 2)
        scene.wait(.seconds(2))
        try scene.deliver(PushAnswer(status: 400, reason: .known(.deviceTokenNotForTopic)))
        try scene.end()
        try scene.put("a", 3) { $0.reopen = true }
        scene.wait(.seconds(3600))
        #expect(try scene.deliver().isEmpty)
        #expect(try scene.decision().reason.code == .updateTokenDead)
        scene.wait(.seconds(11 * 3600))
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
    }

    @Test func `a device that no push can start a card on does not keep one from another`() throws {
        var scene = Scene()
        try scene.put(users: ["ann"])
        try scene.register("old", os: OSVersion(16, 4), startToken: nil, key: 1)
        try scene.register("new", key: 2)
        scene.wait(.seconds(90))
        #expect(try scene.deliver().map(\.phone.device.id.text) == ["new"])
    }

    @Test func `a lane that meets trouble looks again after a minute at the latest`() throws {
        var scene = try Scene.live()
        try scene.put("a", 2)
        scene.wait(.seconds(2))
        for _ in 0..<8 {
            _ = try scene.claim().flights.map { flight in
                try scene.settle(flight, dice: 1) { _ in .answered(.success(PushAnswer(status: 503))) }
            }
            let next = try #require(try scene.lane().nextAt)
            #expect(next - scene.now <= .seconds(60))
            scene.now = next
        }
        #expect(try scene.deliver().map(\.plan.revision) == [2])
    }

    @Test func `a type that is missing from the configuration keeps its work until it is there again`() throws {
        var scene = try Scene.live()
        try scene.put("a", 2)
        let app = scene.app
        scene.app = AppSettings(bundleID: app.bundleID, types: [], environments: app.environments)
        scene.wait(.seconds(2))
        #expect(try scene.deliver().isEmpty)
        scene.app = app
        scene.wait(.seconds(61))
        #expect(try scene.deliver().count == 1)
    }
}
