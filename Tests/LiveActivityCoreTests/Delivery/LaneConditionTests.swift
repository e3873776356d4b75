import APNSModel
import LiveActivityCore
import TestSupport
import Testing

/// Tests of lanes that wait for a route or for a type instead of a time.
struct LaneConditionTests {
    private let route = PushRoute(Sample.bundleID, .production)

    /// Activities `a1`, `a2` … of one phone each, whose live cards are behind.
    private func orders(_ count: Int, alert: Bool = false) throws -> Scene {
        var scene = Scene()
        for index in 1...count {
            let user = "user-\(index)"
            try scene.register("d\(index)", user: user, startToken: nil, key: DeviceKey(index * 10))
            try scene.put("a\(index)", 1, users: [user])
            try scene.report("d\(index)", local: "c\(index)", activity: "a\(index)", token: "t\(index)")
            try scene.put("a\(index)", 2) { body in
                if alert { body.alert = .init(PushAlert(title: .text("Now"), body: .text("Look"))) }
            }
        }
        scene.wait(.seconds(2))
        return scene
    }

    private func claim(
        _ scene: inout Scene, _ gate: CircuitGate, types: [ActivityType]? = nil
    ) throws -> ClaimWork.Reply {
        var app = scene.app
        if let types { app = AppSettings(bundleID: app.bundleID, types: types, environments: app.environments) }
        return try scene.run(ClaimWork(now: scene.now, node: 1, apps: [app.bundleID: app], gate: gate, seed: 1))
    }

    private func closed(_ scene: Scene, probes: Bool = false, trials: Bool = false) -> CircuitGate {
        CircuitGate(
            closed: [route: .init(until: scene.now + .seconds(9), trouble: .connection("reset"))],
            probes: probes ? [route] : [], trials: trials ? [route] : [])
    }

    @Test func `an outage writes nothing for a lane that waits, and its pushes leave when the route opens`() throws {
        var scene = try orders(3)
        #expect(try claim(&scene, closed(scene)).held == [route])
        let rows = scene.store.rows
        for _ in 1...40 {
            scene.wait(.seconds(60))
            let reply = try claim(&scene, closed(scene))
            #expect(reply.flights.isEmpty && reply.held.isEmpty && !reply.hasMore)
        }
        #expect(scene.store.rows.lanes == rows.lanes && scene.store.rows.cards == rows.cards)
        #expect(scene.store.laneConditions == [.route(route, isHarmless: true)])
        #expect(try claim(&scene, .open).flights.map(\.seats.count) == [1, 1, 1])
        #expect(scene.store.laneConditions.isEmpty)
    }

    @Test func `a lane that waits says why, without a time`() throws {
        var scene = try orders(1)
        _ = try claim(&scene, closed(scene))
        let reason = try #require(try scene.lane("a1").reason)
        #expect(reason.text == "APNs closed the connection (reset): the push waits until APNs can be reached again")
    }

    @Test func `a lane that waits is looked at after an hour or so, because its decisions depend on the time too`()
        throws
    {
        var scene = try orders(9)
        _ = try claim(&scene, closed(scene))
        let times = try (1...9).map { try #require(try scene.lane("a\($0)").nextAt) - scene.now }
        #expect(times.allSatisfy { $0 >= .seconds(45 * 60) && $0 <= .seconds(75 * 60) })
        #expect(Set(times).count > 5, "lanes that began to wait together do not come together")
        scene.wait(.seconds(75 * 60))
        #expect(try claim(&scene, closed(scene)).held == [route])
        #expect(try #require(try scene.lane("a1").nextAt) > scene.now)
    }

    @Test func `a new state and another phone are looked at although the lane waits`() throws {
        var scene = try orders(1)
        _ = try claim(&scene, closed(scene))
        try scene.put("a1", 3)
        #expect(try claim(&scene, closed(scene)).held == [route])
        #expect(try claim(&scene, closed(scene)).held.isEmpty)
        // The route of this phone is open.
        try scene.register("other", user: "user-1", environment: .sandbox, startToken: nil, key: 5)
        try scene.report("other", local: "c", activity: "a1", token: "t")
        let flight = try #require(try claim(&scene, closed(scene)).flights.first)
        #expect(flight.seats.map(\.phone.device.key) == [5])
        try scene.settle(flight) { _ in .answered(.success(PushAnswer(status: 200))) }
        for _ in 1...2 {
            scene.wait(.seconds(9))
            _ = try claim(&scene, closed(scene))
        }
        #expect(scene.store.laneConditions == [.route(route, isHarmless: true)])
    }

    @Test func `a few lanes are searched for a probe, and the others wait on`() throws {
        var scene = try orders(40)
        while try claim(&scene, closed(scene)).hasMore {}
        let lanes = scene.store.rows.lanes
        scene.wait(.seconds(60))
        let reply = try claim(&scene, closed(scene, probes: true))
        #expect(reply.probed == [route] && reply.flights.map(\.seats.count) == [1])
        let changed = scene.store.rows.lanes.filter { lanes[$0.key] != $0.value }
        #expect(changed.count == 1)
    }

    @Test func `lanes with alerts alone are searched when any push will do`() throws {
        var scene = try orders(2, alert: true)
        _ = try claim(&scene, closed(scene))
        #expect(scene.store.laneConditions == [.route(route, isHarmless: false)])
        #expect(try claim(&scene, closed(scene, probes: true)).held.isEmpty)
        #expect(try claim(&scene, closed(scene, probes: true, trials: true)).probed == [route])
    }

    @Test func `lanes that waited take half of a claim, and the other half is of lanes that are due`() throws {
        var scene = try orders(6)
        _ = try claim(&scene, closed(scene))
        for index in 7...10 {
            try scene.register("d\(index)", user: "user-\(index)", startToken: nil, key: DeviceKey(index * 10))
            try scene.put("a\(index)", 1, users: ["user-\(index)"])
            try scene.report("d\(index)", local: "c\(index)", activity: "a\(index)", token: "t\(index)")
            try scene.put("a\(index)", 2)
        }
        scene.wait(.seconds(2))
        var limits = ClaimWork.Limits()
        limits.lanes = 4
        let reply = try scene.run(
            ClaimWork(now: scene.now, node: 1, apps: [scene.app.bundleID: scene.app], limits: limits, seed: 1))
        #expect(reply.flights.map(\.lane.activity).map { $0 <= 6 } == [true, false, true, false])
        #expect(reply.hasMore)
    }

    /// A person's phone on the sandbox, with an order that is behind.
    private func addSandbox(_ index: Int, to scene: inout Scene) throws {
        let user = "tester-\(index)"
        try scene.register(
            "s\(index)", user: user, environment: .sandbox, startToken: nil, key: DeviceKey(10_000 + index))
        try scene.put("s\(index)", 1, users: [user])
        try scene.report("s\(index)", local: "sc\(index)", activity: "s\(index)", token: "st\(index)")
        try scene.put("s\(index)", 2)
    }

    @Test func `routes that open share a claim, and a route that is closed is probed meanwhile`() throws {
        var scene = try orders(12)
        for index in 1...8 { try addSandbox(index, to: &scene) }
        scene.wait(.seconds(2))
        let sandbox = PushRoute(Sample.bundleID, .sandbox)
        var gate = closed(scene)
        gate.closed[sandbox] = gate.closed[route]
        while try claim(&scene, gate).hasMore {}
        var limits = ClaimWork.Limits()
        limits.lanes = 4
        func environments(_ gate: CircuitGate) throws -> [APNSEnvironment] {
            let claim = ClaimWork(
                now: scene.now, node: 1, apps: [scene.app.bundleID: scene.app], limits: limits, gate: gate, seed: 1)
            return try scene.run(claim).flights.flatMap(\.seats).map { $0.phone.environment(of: $0.plan.kind) }
        }
        #expect(try environments(.open).count { $0 == .sandbox } == 2)
        limits.lanes = 8
        let reply = try environments(
            CircuitGate(closed: [sandbox: gate.closed[route]!], probes: [sandbox]))
        #expect(reply.count { $0 == .sandbox } == 1 && reply.count { $0 == .production } > 1)
    }

    @Test func `lanes that waited and lanes that are due get their phones in turns`() throws {
        var scene = try orders(8)
        _ = try claim(&scene, closed(scene))
        for index in 1...8 { try addSandbox(index, to: &scene) }
        scene.wait(.seconds(2))
        // Room for four pushes only.
        let pace = Pacer.Grant(pushes: 4, activityPushes: 4, onTheWay: [:], halvings: 0)
        let reply = try scene.run(
            ClaimWork(now: scene.now, node: 1, apps: [scene.app.bundleID: scene.app], pace: pace, seed: 1))
        let sent = reply.flights.flatMap(\.seats).map { $0.phone.environment(of: $0.plan.kind) }
        #expect(sent.count { $0 == .sandbox } == 2 && sent.count { $0 == .production } == 2)
    }

    @Test func `a phone that names another environment at the time of its last look wakes its lane`() throws {
        var scene = try orders(1)
        try scene.report("d1", local: "c1", activity: "a1", token: "new")
        _ = try claim(&scene, closed(scene))
        #expect(!scene.store.laneConditions.isEmpty)
        try scene.register("d1", user: "user-1", environment: .sandbox, startToken: nil, key: 10)
        try scene.report("d1", local: "c1", activity: "a1", token: "sandboxed")
        #expect(try scene.lane("a1").nextAt == scene.now)
    }

    @Test func `a lane whose route is gone from the configuration waits for its type, and says nothing of APNs`() throws
    {
        var scene = try orders(1)
        _ = try claim(&scene, closed(scene))
        _ = try claim(&scene, .open, types: [])
        #expect(scene.store.laneConditions == [.type(Sample.bundleID, Sample.type().name)])
        #expect(try claim(&scene, .open).flights.count == 1)
        #expect(try scene.lane("a1").reason == nil)
    }

    @Test func `a lane whose phones are held back on two routes looks again at a time`() throws {
        var scene = Scene()
        for (index, environment) in [APNSEnvironment.production, .sandbox].enumerated() {
            try scene.register("d\(index)", environment: environment, startToken: nil, key: DeviceKey(index * 10 + 10))
            try scene.report("d\(index)", local: "c\(index)", token: "t\(index)")
        }
        try scene.put(users: ["ann"]) { $0.devices = .all }
        scene.wait(.seconds(2))
        var gate = closed(scene)
        gate.closed[PushRoute(Sample.bundleID, .sandbox)] = gate.closed[route]
        _ = try claim(&scene, gate)
        #expect(try scene.lane().waitsFor == nil && scene.lane().nextAt == scene.now + .seconds(9))
    }

    @Test func `a type that was taken out of the configuration costs nothing until it is back`() throws {
        var scene = try orders(2)
        _ = try claim(&scene, .open, types: [])
        let rows = scene.store.rows
        #expect(scene.store.laneConditions == [.type(Sample.bundleID, Sample.type().name)])
        for _ in 1...20 {
            scene.wait(.seconds(120))
            #expect(try !claim(&scene, .open, types: []).hasMore)
        }
        #expect(scene.store.rows.lanes == rows.lanes)
        #expect(try claim(&scene, .open).flights.map(\.seats.count) == [1, 1])
    }

    @Test(arguments: [
        LaneCondition.route(PushRoute(Sample.bundleID, .sandbox), isHarmless: true),
        .route(PushRoute(Sample.bundleID, .production), isHarmless: false), .type(Sample.bundleID, "a/b c"),
    ])
    func `the stored form of a condition gives the condition back`(condition: LaneCondition) {
        #expect(LaneCondition(stored: condition.stored) == condition)
    }

    @Test(arguments: ["", "route", "route/production", "route/nowhere/com.acme.pizza", "type//x", "lane/a/b"])
    func `another text is no condition`(text: String) {
        #expect(LaneCondition(stored: text) == nil)
    }
}
