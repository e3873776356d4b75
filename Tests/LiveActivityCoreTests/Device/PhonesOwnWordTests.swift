import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Tests of what is accepted from a person or a phone when no backend speaks for it.
struct PhonesOwnWordTests {
    private static let ann = Reporter.person(Sample.user("ann"))
    private static let eve = Reporter.person(Sample.user("eve"))

    // MARK: - Devices

    @Test func `a person reports for devices of their own, and another's looks like one that is not there`() throws {
        var scene = Scene()
        try scene.register(startToken: nil)
        try scene.put(users: ["ann"])
        let before = scene.store.rows
        let device = Sample.device("phone")
        for reporter in [Self.eve, .phone(7, Sample.user("ann"), secretHash: [1])] {
            var token = RegisterPushToStartToken(
                app: scene.app, id: device, type: "order", token: Sample.token("p2s"), now: scene.now)
            token.reporter = reporter
            #expect(scene.store.run(token) == .failure(.unknownDevice(device)))
            var leave = SignOutDevice(app: scene.app.bundleID, id: device, now: scene.now)
            leave.reporter = reporter
            #expect(scene.store.run(leave) == .failure(.unknownDevice(device)))
            #expect(throws: Refusal.unknownDevice(device)) { try scene.report(by: reporter) }
            #expect(throws: Refusal.unknownDevice(device)) { try scene.inventory(by: reporter) }
        }
        #expect(scene.store.rows == before)
        try scene.report(by: Self.ann)
        #expect(try scene.card().state == .live)
    }

    @Test func `a device changes hands by a sign-out, by its credential or by the backend, and not by a claim`() throws
    {
        let device = Sample.device("phone")
        func register(_ scene: inout Scene, by reporter: Reporter, possession: [UInt8]? = nil) throws {
            var command = RegisterDevice(
                app: scene.app, id: device, body: .init(user: Sample.user("eve")), now: scene.now, freshKey: 9)
            command.reporter = reporter
            command.possession = possession
            _ = try scene.run(command)
        }
        var scene = Scene()
        try scene.register(startToken: nil)
        try scene.handOut([7])
        let before = scene.store.rows
        #expect(throws: Refusal.deviceTaken(device)) { try register(&scene, by: Self.eve) }
        #expect(throws: Refusal.deviceTaken(device)) { try register(&scene, by: Self.eve, possession: [8]) }
        // A token of one person does not register another.
        #expect(throws: Refusal.deviceTaken(device)) { try register(&scene, by: Self.ann) }
        #expect(scene.store.rows == before)
        for way in 0..<3 {
            var changed = scene
            switch way {
            case 0: try register(&changed, by: Self.eve, possession: [7])
            case 1: try register(&changed, by: .backend)
            default:
                _ = try changed.run(SignOutDevice(app: changed.app.bundleID, id: device, now: changed.now))
                #expect(changed.store.rows.devices[7]?.credentials == [])
                try register(&changed, by: Self.eve)
            }
            #expect(changed.store.rows.devices[7]?.userID == Sample.user("eve"))
            #expect(changed.store.rows.devices[7]?.credentials == [], "what the one before held is over")
        }
    }

    // MARK: - Credentials

    @Test func `the credential before holds until the new one is used, and is over then`() throws {
        var scene = Scene()
        try scene.register(startToken: nil)
        func by(_ secret: UInt8) -> Reporter { .phone(7, Sample.user("ann"), secretHash: [secret]) }
        var hashes: [[UInt8]] { scene.store.rows.devices[7]?.credentials.map(\.secretHash) ?? [] }
        try scene.handOut([1])
        try scene.report(by: by(1))
        // The answers with the next credentials were lost. The phone's credential stays valid.
        for secret in 2...5 as ClosedRange<UInt8> { try scene.handOut([secret]) }
        #expect(hashes == [[1], [4], [5]])
        try scene.report(by: by(1))
        #expect(throws: Refusal.unknownDevice(Sample.device("phone"))) { try scene.report(by: by(3)) }
        try scene.report(by: by(4))
        #expect(hashes == [[4], [5]])
        #expect(throws: Refusal.unknownDevice(Sample.device("phone"))) { try scene.report(by: by(1)) }
        try scene.report(by: by(5))
        #expect(hashes == [[5]])
        #expect(try scene.run(RevokeCredentials(app: scene.app.bundleID, id: Sample.device("phone"))).revoked == 1)
        #expect(throws: Refusal.unknownDevice(Sample.device("phone"))) { try scene.report(by: by(5)) }
    }

    @Test func `a credential's use is kept once a day, and it is idle after the limit`() throws {
        var scene = Scene()
        try scene.register(startToken: nil)
        let made = scene.now
        try scene.handOut([1])
        func used() -> UnixTime? { scene.store.rows.devices[7]?.credentials.first?.usedAt }
        #expect(used() == nil)
        scene.wait(.seconds(60))
        let reporter = Reporter.phone(7, Sample.user("ann"), secretHash: [1])
        try scene.report(by: reporter)
        let first = scene.now
        #expect(used() == first)
        scene.wait(.seconds(3600))
        try scene.report(by: reporter)
        #expect(used() == first)
        scene.wait(.seconds(86_400))
        try scene.report(by: reporter)
        #expect(used() == scene.now)
        let credential = PhoneCredentialRecord(secretHash: [1], createdAt: made)
        #expect(!credential.isIdle(at: made + .seconds(9), after: .seconds(10)))
        #expect(credential.isIdle(at: made + .seconds(10), after: .seconds(10)))
    }

    @Test func `another person's device that takes a token over ends the credentials of the one before`() throws {
        var scene = try Scene.live()
        let old = try scene.card().device
        try scene.handOut([1])
        try scene.register("reinstalled", user: "bob", startToken: "p2s", key: 9)
        #expect(scene.store.rows.devices[old]?.credentials == [])
    }

    // MARK: - Joining

    @Test func `a person joins as one of the audience, and nobody else does`() throws {
        var scene = Scene()
        try scene.register(startToken: nil)
        try scene.register("other", user: "eve", startToken: nil, key: 9)
        try scene.put(users: ["ann"])
        try scene.report(by: Self.ann)
        try scene.report("other", local: "hers", by: Self.eve)
        #expect(try scene.card().isWanted)
        let waiting = try scene.card("other")
        #expect(!waiting.isWanted && waiting.awaitsUntil == scene.now + .seconds(86_400))
        #expect(try scene.decision("other") == .nothing(Reason(.awaitingAudience)))
        // No state and no end is ever sent to it, not even after a day.
        for step in 2...4 {
            scene.wait(.seconds(40_000))
            try scene.put("a", step)
            #expect(try scene.deliver().allSatisfy { $0.phone.device.key == 7 })
        }
        try scene.end()
        #expect(try scene.deliver().allSatisfy { $0.phone.device.key == 7 })
    }

    @Test func `an open type lets in who can name the activity`() throws {
        var type = Sample.type()
        type.policy.join = .open
        var scene = Scene(type)
        try scene.register("other", user: "eve", startToken: nil, key: 9)
        try scene.put(users: ["ann"])
        try scene.report("other", by: Self.eve)
        #expect(try scene.card("other").isWanted && scene.card("other").awaitsUntil == nil)
    }

    @Test func `a report that waits counts as soon as its person is named, and not after a day`() throws {
        for (wait, isKept) in [(Duration.seconds(86_000), true), (.seconds(86_500), false)] {
            var scene = Scene()
            try scene.register("other", user: "eve", startToken: nil, key: 9)
            try scene.put(users: ["ann"])
            try scene.report("other", token: "t", by: Self.eve)
            scene.wait(wait)
            try scene.changeAudience(add: ["eve"])
            let card = try scene.card("other")
            #expect(card.isWanted && card.awaitsUntil == nil)
            #expect(card.state == (isKept ? .live : .absent))
            #expect(try scene.deliver().map(\.plan.kind) == (isKept ? [.update] : []))
        }
    }

    @Test func `who names an activity before the backend does gets nothing of it, and plants nothing in it`() throws {
        var scene = Scene()
        try scene.register("other", user: "eve", startToken: nil, key: 9)
        try scene.report("other", token: "t", by: Self.eve) { $0.attributes = ["planted": true] }
        #expect(try scene.activity().phase == .announced)
        try scene.put(users: ["ann"])
        #expect(try !scene.card("other").isWanted)
        #expect(try scene.deliver().isEmpty)
        let number = try scene.activity().number
        let attributes = String(
            decoding: try #require(scene.store.rows.contents[number]?.attributes.bytes), as: UTF8.self)
        #expect(!attributes.contains("planted"))
    }

    @Test func `an activity of another type looks like one that is not there`() throws {
        let other = Sample.type("other")
        var scene = Scene(Sample.type(), other)
        try scene.register("other", user: "eve", startToken: nil, key: 9)
        try scene.put(users: ["ann"])
        try scene.report("other", token: "t", type: other, by: Self.eve)
        // The device waits for its audience, and its report is not kept.
        let waiting = try scene.card("other")
        #expect(waiting.awaitsUntil == scene.now + .seconds(86_400) && !waiting.isWanted)
        #expect(waiting.state == .absent && waiting.localID == nil && scene.store.rows.updateTokens.isEmpty)
        #expect(try scene.activity().type == "order" && scene.deliver().isEmpty)
        // A member of the audience is told.
        try scene.register(startToken: nil)
        #expect(throws: Refusal.typeDiffers(Sample.activityID("a"), is: "order")) {
            try scene.report(type: other, by: Self.ann)
        }
    }

    @Test func `of a phone twenty such reports are kept, and no more`() throws {
        var scene = Scene()
        try scene.register("other", user: "eve", startToken: nil, key: 9)
        for number in 1...20 { try scene.report("other", local: "c\(number)", activity: "x\(number)", by: Self.eve) }
        let before = scene.store.rows
        #expect(throws: Refusal.tooManyAwaiting(limit: 20)) {
            try scene.report("other", local: "c21", activity: "x21", by: Self.eve)
        }
        #expect(scene.store.rows == before)
        // A known activity is renewed, and a day later there is room for another.
        try scene.report("other", local: "c1", activity: "x1", by: Self.eve)
        scene.wait(.seconds(86_401))
        try scene.report("other", local: "c21", activity: "x21", by: Self.eve)
    }

    @Test func `what a person's phone waited with is nothing to the phone's next owner`() throws {
        var scene = Scene()
        try scene.register("other", user: "eve", startToken: nil, key: 9)
        try scene.put(users: ["bob"])
        try scene.report("other", token: "t", by: Self.eve)
        try scene.register("other", user: "bob", startToken: nil, key: 9)
        #expect(try scene.card("other").state == .absent)
        #expect(try scene.deliver().isEmpty)
    }
}

extension Scene {
    /// Reports a card on the reporter's own authority.
    fileprivate mutating func report(
        _ device: String = "phone", local: String = "card", activity: String = "a", token: String? = nil,
        type: ActivityType? = nil, by reporter: Reporter, _ change: (inout CardReport) -> Void = { _ in }
    ) throws {
        var report = CardReport(localID: Sample.local(local), type: type ?? self.type, state: .active)
        report.activity = Sample.activityID(activity)
        report.token = token.map { Sample.token($0) }
        change(&report)
        var command = ReportCard(app: app, device: Sample.device(device), report: report, now: now)
        command.reporter = reporter
        _ = try run(command)
    }

    fileprivate mutating func inventory(by reporter: Reporter) throws {
        var command = ReportInventory(app: app, device: Sample.device("phone"), sequence: 1, reports: [], now: now)
        command.reporter = reporter
        _ = try run(command)
    }

    fileprivate mutating func handOut(_ secretHash: [UInt8]) throws {
        _ = try run(
            HandOutCredential(
                app: app.bundleID, id: Sample.device("phone"), secretHash: secretHash, now: now, reporter: .backend))
    }
}
