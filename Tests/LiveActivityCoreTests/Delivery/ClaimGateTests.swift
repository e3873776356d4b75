import APNSModel
import LiveActivityCore
import TestSupport
import Testing

/// Tests of claims with a closed route, and with little room.
struct ClaimGateTests {
    private let route = PushRoute(Sample.bundleID, .production)

    /// A crowd of live cards that are behind, with or without alerts.
    private func crowd(_ count: Int, alert: Bool = false) throws -> Scene {
        var scene = Scene()
        for index in 1...count {
            try scene.register("d\(index)", startToken: nil, key: DeviceKey(index * 10))
            try scene.report("d\(index)", local: "c\(index)", token: "t\(index)")
        }
        try scene.put(users: ["ann"]) { body in
            body.devices = .all
            if alert {
                body.alert = .init(PushAlert(title: .text("Now"), body: .text("Look")))
            }
        }
        scene.wait(.seconds(2))
        return scene
    }

    private func claim(
        _ scene: inout Scene, _ gate: CircuitGate, pace: Pacer.Grant = Pacer.unlimited
    ) throws -> ClaimWork.Reply {
        try scene.run(
            ClaimWork(now: scene.now, node: 1, apps: [scene.app.bundleID: scene.app], gate: gate, pace: pace, seed: 1))
    }

    private func closed(_ scene: Scene, probes: Bool = false, trials: Bool = false) -> CircuitGate {
        CircuitGate(
            closed: [route: .init(until: scene.now + .seconds(9), trouble: .connection(""))],
            probes: probes ? [route] : [], trials: trials ? [route] : [])
    }

    @Test func `on a closed route nobody is sent to and nothing is written for phones of a large lane`() throws {
        var scene = try crowd(LaneRecord.small + 1)
        let before = scene.store.rows.cards
        let reply = try claim(&scene, closed(scene))
        #expect(reply.flights.isEmpty && reply.held == [route] && reply.probed.isEmpty && !reply.hasMore)
        #expect(scene.store.rows.cards == before)
        #expect(try scene.lane().nextAt == scene.now + .seconds(9))
        scene.wait(.seconds(9))
        #expect(try claim(&scene, .open).flights.map(\.seats.count) == [LaneRecord.small + 1])
    }

    @Test func `a route that wants a probe gets one push, and the others wait`() throws {
        var scene = try crowd(5)
        let reply = try claim(&scene, closed(scene, probes: true))
        #expect(reply.flights.map(\.seats.count) == [1] && reply.probed == [route])
        let flight = try #require(reply.flights.first)
        try scene.settle(flight) { _ in .answered(.success(PushAnswer(status: 200))) }
        #expect(try claim(&scene, closed(scene)).flights.isEmpty)
        scene.wait(.seconds(9))
        #expect(try claim(&scene, .open).flights.map(\.seats.count) == [4])
    }

    @Test func `an alert is no probe, unless any push will do`() throws {
        var scene = try crowd(2, alert: true)
        #expect(try claim(&scene, closed(scene, probes: true)).probed.isEmpty)
        scene.wait(.seconds(9))
        #expect(try claim(&scene, closed(scene, probes: true, trials: true)).flights.map(\.seats.count) == [1])
    }

    @Test func `a claim takes no more than the pacer grants, and an activity no more than its share`() throws {
        var scene = try crowd(9)
        var limits = Pacer.Limits()
        limits.pushes = 12
        var pacer = Pacer(limits)
        pacer.left(1, 2)
        let reply = try claim(&scene, .open, pace: #require(pacer.grant(at: scene.now)))
        let flight = try #require(reply.flights.first)
        #expect(flight.seats.count == 4)
        try scene.settle(flight) { _ in .answered(.success(PushAnswer(status: 200))) }
        pacer.left(1, 4)
        let full = try #require(pacer.grant(at: scene.now))
        #expect(try claim(&scene, .open, pace: full).flights.isEmpty)
        #expect(try scene.lane().nextAt == scene.now + Pacer.pause)
        scene.wait(Pacer.pause)
        #expect(try claim(&scene, .open).flights.map(\.seats.count) == [5])
    }

    @Test func `no more phones are read than may leave`() throws {
        let scene = try crowd(9)
        func read(_ limits: ClaimWork.Limits, _ pace: Pacer.Grant) throws -> (devices: Int, isComplete: Bool) {
            let claim = ClaimWork(
                now: scene.now, node: 1, apps: [scene.app.bundleID: scene.app], limits: limits, pace: pace, seed: 1)
            let page = scene.store.load(claim.keys).pages.values.first
            return (page?.devices.count ?? 0, page?.isComplete ?? false)
        }
        let half = Pacer.Grant(pushes: 100, activityPushes: 20, onTheWay: [1: 16], halvings: 0)
        #expect(try read(.init(), half) == (4, false))
        let full = Pacer.Grant(pushes: 100, activityPushes: 20, onTheWay: [1: 20], halvings: 0)
        #expect(try read(.init(), full) == (0, false))
        var limits = ClaimWork.Limits()
        limits.pushes = 6
        #expect(try read(limits, Pacer.unlimited) == (6, false))
        #expect(try read(.init(), Pacer.unlimited) == (9, true))
    }

    @Test func `an activity that is full pauses unread, and one for which the whole is used up is next`() throws {
        var scene = try crowd(3)
        let full = Pacer.Grant(pushes: 100, activityPushes: 50, onTheWay: [1: 48], halvings: 0)
        let paused = try claim(&scene, .open, pace: full)
        #expect(paused.flights.isEmpty && !paused.hasMore)
        #expect(try scene.lane().nextAt == scene.now + Pacer.pause)
        scene.wait(Pacer.pause)
        let spent = Pacer.Grant(pushes: 0, activityPushes: 50, onTheWay: [:], halvings: 0)
        let waiting = try claim(&scene, .open, pace: spent)
        #expect(waiting.flights.isEmpty && waiting.hasMore)
        #expect(try scene.lane().nextAt == scene.now)
    }
}
