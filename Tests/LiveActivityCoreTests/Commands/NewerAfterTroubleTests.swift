import APNSModel
import LiveActivityCore
import TestSupport
import Testing

/// Apple asks for 15 minutes before what met a 5xx is sent again. A newer state is not that again.
struct NewerAfterTroubleTests {
    /// A phone that has met so many 5xx in a row, by itself, with the state of step 2.
    private func troubled(_ times: Int = 8, _ reason: APNSReason.Known = .serviceUnavailable) throws -> Scene {
        var scene = try Scene.live()
        try scene.put("a", 2)
        scene.wait(.seconds(2))
        for attempt in 0..<times {
            if attempt > 0 { scene.now = try #require(try scene.instance().dueAt) }
            let flight = try scene.onlyFlight()
            // As a straggler's the fault is the phone's own, not the lane's.
            try scene.settle(flight) { _ in .awaited(until: flight.record.leaseUntil) }
            try scene.settle(flight, dice: 1) { _ in .answered(.success(.refusal(reason))) }
        }
        return scene
    }

    @Test func `the same state waits for Apple's 15 minutes`() throws {
        var scene = try troubled()
        #expect(try scene.instance().dueAt == scene.now + .seconds(900))
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
        let due = try #require(try scene.instance().dueAt)
        #expect(due == scene.now + .seconds(300))
        try scene.put("a", 3)
        scene.wait(.seconds(299))
        #expect(try scene.deliver().isEmpty)
    }
}
