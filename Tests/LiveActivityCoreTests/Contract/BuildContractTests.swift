import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Tests of contracts by build. A phone whose build could not decode a state is not sent it.
struct BuildContractTests {
    private static func contract(_ properties: String, _ required: String, attributes: String = "") throws -> Contract {
        let state = #"{"type": "object", "required": [\#(required)], "additionalProperties": false, "properties": {"#
        return try Contract(
            JSONValue(
                parsing:
                    #"{"attributesType": "orderAttributes", "contentState": \#(state)\#(properties)}}\#(attributes)}"#))
    }

    /// A type whose level was a number before build 90, and which had no status `refunded` before build 120.
    private static func type(attributes: String = "") throws -> ActivityType {
        var type = Sample.type("order")
        let note = #""note": {"type": ["string", "null"]}"#
        type.contract = try contract(
            #""status": {"enum": ["ready", "refunded"]}, "level": {"type": "string"}, \#(note)"#, #""status", "level""#)
        type.olderContracts = [
            OlderContract(
                before: try #require(AppBuild("90")),
                contract: try contract(#""status": {"enum": ["ready"]}, "level": {"type": "number"}"#, #""level""#)),
            OlderContract(
                before: try #require(AppBuild("120")),
                contract: try contract(
                    #""status": {"enum": ["ready"]}, "level": {"type": "string"}"#, #""status""#,
                    attributes: attributes)),
        ]
        return type
    }

    private static let ready: JSONObject = ["status": "ready", "level": "high", "note": "new"]
    private static let refunded: JSONObject = ["status": "refunded", "level": "high"]

    /// A scene with phones of these builds in the audience.
    private static func scene(_ builds: [String?], attributes: String = "") throws -> Scene {
        var scene = Scene(try type(attributes: attributes))
        for (number, build) in builds.enumerated() {
            try scene.register("phone\(number)", startToken: "p\(number)", key: DeviceKey(number + 1))
            try update(&scene, number, to: build)
        }
        return scene
    }

    private static func update(_ scene: inout Scene, _ number: Int, to build: String?) throws {
        var body = RegisterDevice.Body(user: Sample.user("ann"))
        body.build = build
        _ = try scene.run(
            RegisterDevice(
                app: scene.app, id: Sample.device("phone\(number)"), body: body, now: scene.now,
                freshKey: DeviceKey(number + 1)))
    }

    private static func set(_ scene: inout Scene, _ state: JSONObject) throws {
        try scene.put(users: ["ann"]) {
            $0.state = state
            $0.devices = .all
        }
    }

    private static func sent(_ scene: inout Scene) throws -> [String] {
        scene.wait(.seconds(100))
        return try scene.deliver().map { "\($0.plan.kind) \($0.phone.device.id.text)" }.sorted()
    }

    @Test func `a state starts no card on a build that could not decode it, and one on every other`() throws {
        var scene = try Self.scene(["80", "100", "119.9", "120", "200", nil, "beta"])
        try Self.set(&scene, Self.refunded)
        let started = try Self.sent(&scene)
        #expect(started == [3, 4, 5, 6].map { "start phone\($0)" })
        for (number, build) in ["80", "100", "119.9"].enumerated() {
            let decision = try scene.decision("phone\(number)")
            #expect(decision.reason == Reason(.incompatibleBuild, build), "\(decision)")
        }
    }

    @Test func `members that an older build does not know are none of its business`() throws {
        var scene = try Self.scene(["100", "130"])
        try Self.set(&scene, Self.ready)
        #expect(try Self.sent(&scene) == ["start phone0", "start phone1"])
    }

    @Test func `a build in the middle may be unfit where older and newer ones are not`() throws {
        let ranges = UnfitBuilds(stored: "90..<120,..<7.1;..<5")
        #expect(ranges.stored == "90..<120,..<7.1;..<5")
        let fits = ["7", "7.0.9", "7.1", "89", "90", "119.99", "120", "90.0"].map { !ranges.hasState($0) }
        #expect(fits == [false, false, true, true, false, false, true, false])
        #expect(ranges.hasStart("4") && UnfitBuilds(stored: ";..<5").hasStart("4"))
        #expect(!UnfitBuilds(stored: ";..<5").hasState("4") && !ranges.hasState(nil) && !ranges.hasState("1a"))
        #expect(UnfitBuilds(stored: nil).isEmpty && UnfitBuilds().stored == nil)
    }

    @Test func `a live card on an older build keeps what it shows until a state fits it again`() throws {
        var scene = try Self.scene(["100", "130"])
        try Self.set(&scene, Self.ready)
        _ = try Self.sent(&scene)
        for number in 0...1 { try scene.report("phone\(number)", local: "c\(number)", token: "u\(number)") }
        _ = try Self.sent(&scene)
        try Self.set(&scene, Self.refunded)
        #expect(try Self.sent(&scene) == ["update phone1"])
        #expect(try scene.decision("phone0").reason == Reason(.incompatibleBuild, "100"))
        var other = Self.ready
        other["level"] = "low"
        try Self.set(&scene, other)
        #expect(try Self.sent(&scene) == ["update phone0", "update phone1"])
    }

    @Test func `an update of the app opens the way`() throws {
        var scene = try Self.scene(["100"])
        try Self.set(&scene, Self.refunded)
        #expect(try Self.sent(&scene).isEmpty)
        // The phone gets the same state without another call.
        try Self.update(&scene, 0, to: "121")
        #expect(try Self.sent(&scene) == ["start phone0"])
    }

    @Test func `an update of the app brings a live card to the state that it could not decode`() throws {
        var scene = try Self.scene(["100"])
        try Self.set(&scene, Self.ready)
        _ = try Self.sent(&scene)
        try scene.report("phone0", local: "c0", token: "u0")
        _ = try Self.sent(&scene)
        try Self.set(&scene, Self.refunded)
        #expect(try Self.sent(&scene).isEmpty)
        try Self.update(&scene, 0, to: "121")
        #expect(try Self.sent(&scene) == ["update phone0"])
    }

    @Test func `an end reaches a build that could not decode its last state, without it`() throws {
        var scene = try Self.scene(["100", "130"])
        try Self.set(&scene, Self.ready)
        _ = try Self.sent(&scene)
        for number in 0...1 { try scene.report("phone\(number)", local: "c\(number)", token: "u\(number)") }
        _ = try Self.sent(&scene)
        try scene.end("a", Self.refunded)
        scene.wait(.seconds(100))
        let flight = try #require(try scene.claim().flights.first)
        #expect(flight.seats.count == 2)
        for seat in flight.seats {
            let request = try PushBuilder.request(
                seat.plan, desired: flight.desired, content: flight.content, phone: seat.phone,
                timestamp: scene.now.seconds, id: PushID(random: 1, 2))
            let text = String(decoding: try #require(request?.payload), as: UTF8.self)
            #expect(text.contains("refunded") == (seat.phone.device.build == "130"), "\(text)")
        }
    }

    @Test func `attributes that an older build could not decode keep a card from being started, not from an update`()
        throws
    {
        let attributes = #", "attributes": {"type": "object", "required": ["shop"], "properties": {"shop": true}}"#
        var scene = try Self.scene(["100", "130"], attributes: attributes)
        try Self.set(&scene, Self.ready)
        #expect(try Self.sent(&scene) == ["start phone1"])
        #expect(try scene.decision("phone0").reason == Reason(.incompatibleBuild, "100"))
        try scene.report("phone0", local: "own", token: "u0")
        _ = try Self.sent(&scene)
        try Self.set(&scene, ["status": "ready", "level": "low"])
        #expect(try Self.sent(&scene).contains("update phone0"))
    }

    @Test func `what an older build passes over is no contradiction when it reports what it holds`() throws {
        var scene = try Self.scene(["100"])
        try Self.set(&scene, Self.ready)
        _ = try Self.sent(&scene)
        try scene.report("phone0", local: "c", token: "u0") { $0.contentState = ["status": "ready", "level": "high"] }
        #expect(try Self.sent(&scene).isEmpty)
        #expect(try scene.card("phone0").shownRevision == scene.activity().revision)
    }

    @Test func `the verdict is made when the state is set, and kept with it`() throws {
        var scene = try Self.scene([])
        try Self.set(&scene, Self.refunded)
        let number = try scene.activity().number
        #expect(scene.store.rows.contents[number]?.unfit.stored == "..<90,90..<120;")
        try Self.set(&scene, Self.ready)
        #expect(scene.store.rows.contents[number]?.unfit.stored == "..<90;")
    }

    @Test func `a build's own contract is the one whose builds end next after it`() throws {
        let type = try Self.type()
        let (first, second) = (type.olderContracts[0].contract, type.olderContracts[1].contract)
        let builds: [(build: String?, contract: Contract?)] = [
            ("1", first), ("89.9", first), ("90", second), ("90.0", second), ("119", second), ("120", nil),
            ("121", nil), (nil, nil), ("beta", nil),
        ]
        #expect(first != second)
        for (build, contract) in builds { #expect(type.olderContract(of: build) == contract, "\(build ?? "none")") }
    }

    @Test func `a type that has no older contracts any more says nothing about builds`() throws {
        var scene = try Self.scene(["100"])
        try Self.set(&scene, Self.refunded)
        scene.wait(.seconds(100))
        let incompatible = Reason(.incompatibleBuild, "100")
        #expect(try scene.decision("phone0").reason == incompatible)
        scene.app.types["order"]?.olderContracts = []
        #expect(try scene.decision("phone0").reason != incompatible)
    }

    @Test func `where no card can be shown a notification takes its place`() throws {
        var scene = try Self.scene(["100"])
        var type = scene.type
        type.policy.fallback = AlertTemplate(PushAlert(title: .text("Your order")))
        scene.app.types["order"] = type
        var body = RegisterDevice.Body(user: Sample.user("ann"))
        body.deviceToken = Sample.token("d1")
        _ = try scene.run(
            RegisterDevice(app: scene.app, id: Sample.device("phone0"), body: body, now: scene.now, freshKey: 1))
        try Self.set(&scene, Self.refunded)
        scene.wait(.seconds(100))
        #expect(try scene.decision("phone0") == .fallBack(Reason(.incompatibleBuild, "100")))
    }
}
