import APNSModel
import LiveActivityCore
import TestSupport
import Testing

/// Apple asks for 15 minutes before a push that met a 5xx is sent again. A newer state is not the same push.
struct NewerAfterTroubleTests {
    /// A phone that has met several 5xx in a row, with the state of step 2.
    private func troubled(_ times: Int = 8, _ reason: APNSReason.Known = .serviceUnavailable) throws -> Scene {
        var scene = try Scene.live()
        try scene.put("a", 2)
        scene.wait(.seconds(2))
        for attempt in 0..<times {
            if attempt > 0 { scene.now = try #require(try scene.card().attempts.dueAt) }
            let flight = try scene.onlyFlight()
            // A straggler's fault counts for the phone, not for the lane.
            try scene.settle(flight) { _ in .awaited(until: flight.record.leaseUntil) }
            try scene.settle(flight, dice: 1) { _ in .answered(.success(.refusal(reason))) }
        }
        return scene
    }

    @Test func `the same state waits for Apple's 15 minutes`() throws {
        var scene = try troubled()
        #expect(try scene.card().attempts.dueAt == scene.now + .seconds(900))
        scene.wait(.seconds(899))
        #expect(try scene.deliver().isEmpty)
        scene.wait(.seconds(1))
        #expect(try scene.deliver().map(\.plan.kind) == [.update])
    }

    @Test func `a newer state waits a minute from the last attempt`() throws {
        var scene = try troubled()
        let last = scene.now
        scene.wait(.seconds(20))
        try scene.put("a", 3)
        #expect(try scene.deliver().isEmpty)
        #expect(scene.store.nextWakeAt == last + .seconds(60))
        scene.wait(.seconds(39))
        #expect(try scene.deliver().isEmpty)
        scene.wait(.seconds(1))
        let sent = try scene.deliver()
        #expect(sent.map(\.plan.kind) == [.update])
        #expect(sent.first?.plan.revision == 3)
    }

    @Test func `a newer state that comes later than that goes at once`() throws {
        var scene = try troubled()
        scene.wait(.seconds(300))
        try scene.put("a", 3)
        scene.wait(.seconds(1))
        #expect(try scene.deliver().map(\.plan.revision) == [3])
    }

    @Test func `an end waits no longer than a newer state`() throws {
        var scene = try troubled()
        scene.wait(.seconds(20))
        try scene.end()
        scene.wait(.seconds(39))
        #expect(try scene.deliver().isEmpty)
        scene.wait(.seconds(1))
        #expect(try scene.deliver().map(\.plan.kind) == [.end])
    }

    @Test func `a newer state that meets a 5xx waits for its own 15 minutes`() throws {
        var scene = try troubled()
        try scene.put("a", 3)
        scene.wait(.seconds(60))
        let flight = try scene.onlyFlight()
        try scene.settle(flight) { _ in .awaited(until: flight.record.leaseUntil) }
        try scene.settle(flight, dice: 1) { _ in .answered(.success(.refusal(.internalServerError))) }
        scene.wait(.seconds(899))
        #expect(try scene.deliver().isEmpty)
        scene.wait(.seconds(1))
        #expect(try scene.deliver().map(\.plan.revision) == [3])
    }

    @Test func `what APNs says of the phone's token is no trouble of the service`() throws {
        var scene = try troubled(10, .tooManyRequests)
        let due = try #require(try scene.card().attempts.dueAt)
        #expect(due == scene.now + .seconds(300))
        try scene.put("a", 3)
        scene.wait(.seconds(299))
        #expect(try scene.deliver().isEmpty)
    }

    /// Claims and leaves every answer open, as often as a push is due when stragglers are settled.
    private func sendWithoutAnswers(_ scene: inout Scene, for time: Duration) throws -> [Flight.Seat] {
        var sent: [Flight.Seat] = []
        let end = scene.now + time
        while scene.now < end {
            let claimedAt = scene.now
            let flights = try scene.claim().flights
            scene.now = claimedAt + .milliseconds(1500)
            for flight in flights {
                sent += flight.seats
                try scene.settle(flight) { _ in .awaited(until: claimedAt + .seconds(13)) }
            }
        }
        return sent
    }

    @Test func `a newer state whose answer is awaited is not sent again before its time`() throws {
        var scene = try troubled()
        scene.wait(.seconds(120))
        try scene.put("a", 3) { body in
            var wish = SetDesiredState.AlertWish(Sample.alert)
            wish.onUnknown = .repeat
            body.alert = wish
        }
        #expect(try sendWithoutAnswers(&scene, for: .seconds(12)).map(\.plan.revision) == [3])
        // Neither is an end after it repeated. The end is newer still, and is sent once.
        try scene.end()
        #expect(try sendWithoutAnswers(&scene, for: .seconds(12)).map(\.plan.kind) == [.end])
        scene.wait(.seconds(13))
        #expect(try scene.deliver().map(\.plan.kind) == [.end])
    }

    @Test(arguments: [false, true])
    func `what waits for no window does not go again and again in one while its answer is awaited`(isEnd: Bool) throws {
        var scene = try Scene.live(Sample.type { $0.coalescingWindow = .seconds(60) })
        try scene.put("a", 2)
        scene.wait(.seconds(2))
        #expect(try scene.deliver().map(\.plan.revision) == [2])
        scene.wait(.seconds(2))
        if isEnd {
            try scene.end()
        } else {
            try scene.put("a", 3) { body in
                var wish = SetDesiredState.AlertWish(Sample.alert)
                wish.onUnknown = .repeat
                body.alert = wish
            }
        }
        // The phone reports, and is looked at by itself.
        try scene.report()
        let sent = try sendWithoutAnswers(&scene, for: .seconds(12))
        #expect(sent.map(\.plan.revision) == [3])
        // A late answer finds everything unchanged.
        let late = try #require(sent.first)
        scene.wait(.seconds(10))
        let flight = try scene.onlyFlight()
        #expect(flight.seats.map(\.plan.kind) == [late.plan.kind])
        try scene.settle(flight) { _ in .answered(.success(PushAnswer(status: 200))) }
        #expect(try scene.card().sentRevision == 3)
    }

    @Test func `what a phone contradicted is forgotten with the next state, though its answer is late`() throws {
        var scene = try Scene.live()
        try scene.report { $0.contentState = Sample.state(-1) }
        #expect(try scene.deliver().map(\.plan.reason.code) == [.phoneBehind])
        #expect(try scene.card().revisions.contradictions == 1)
        scene.wait(.seconds(70))
        try scene.put("a", 2)
        let flight = try scene.onlyFlight()
        try scene.settle(flight) { _ in .awaited(until: flight.record.leaseUntil) }
        try scene.settle(flight) { _ in .answered(.success(PushAnswer(status: 200))) }
        #expect(try scene.card().revisions.contradictions == 0)
    }

    @Test func `what a phone contradicted does not keep the next state's alert from it, though that is refused once`()
        throws
    {
        var scene = try Scene.live()
        try scene.report { $0.contentState = Sample.state(-1) }
        try scene.deliver()
        scene.wait(.seconds(70))
        try scene.put("a", 2) { $0.alert = SetDesiredState.AlertWish(Sample.alert) }
        let flight = try scene.onlyFlight()
        try scene.settle(flight) { _ in .answered(.success(.refusal(.tooManyRequests))) }
        scene.now = try #require(try scene.card().attempts.dueAt)
        #expect(try scene.deliver().map(\.plan.carriesAlert) == [true])
    }

    @Test func `where a token was tried is not forgotten while an answer is awaited`() throws {
        var scene = Scene()
        try scene.register(environment: nil)
        try scene.put(users: ["ann"])
        scene.wait(.seconds(20))
        try scene.deliver()
        try scene.report(token: "u1")
        try scene.put("a", 2)
        scene.wait(.seconds(70))
        for isSecond in [false, true] {
            let flight = try scene.onlyFlight()
            try scene.settle(flight) { _ in .awaited(until: flight.record.leaseUntil) }
            try scene.settle(flight) { _ in .answered(.success(.refusal(.badDeviceToken))) }
            #expect(try (scene.decision().reason.code == .updateTokenDead) == isSecond)
        }
    }
}
