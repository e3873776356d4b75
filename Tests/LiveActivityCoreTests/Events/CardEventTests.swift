import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Tests of which reports and answers create which event. A repeated one creates none.
struct CardEventTests {
    private static func refused(_ status: Int, _ reason: String) -> SettleFlight.Outcome {
        .answered(.success(PushAnswer(status: status, reason: APNSReason(reason))))
    }

    private static let accepted = SettleFlight.Outcome.answered(.success(PushAnswer(status: 200)))

    /// A start that was claimed and not answered.
    private func starting() throws -> (Scene, Flight) {
        var scene = Scene()
        try scene.register()
        try scene.put(users: ["ann"])
        scene.wait(.seconds(20))
        let flight = try scene.onlyFlight()
        #expect(scene.events.isEmpty)
        return (scene, flight)
    }

    // MARK: - Started

    @Test func `a start that APNs took is told, once however often the outcome is written down`() throws {
        var (scene, flight) = try starting()
        try scene.settle(flight) { _ in Self.accepted }
        let event = try #require(scene.events.first)
        #expect(scene.kinds == [.started])
        let number = try scene.activity().number
        #expect(event.app == scene.app.bundleID && event.activity == number)
        #expect(event.run == 1 && event.revision == 1 && event.device == 7 && event.at == scene.now)
        #expect(event.reason == .firstState && event.subject == nil)
        try scene.settle(flight) { _ in Self.accepted }
        // The phone reports the card of the event.
        try scene.report(token: "u1")
        try scene.report(token: "u1")
        #expect(scene.kinds == [.started])
    }

    @Test func `a start of unknown fate is told when the phone reports its card`() throws {
        var (scene, flight) = try starting()
        try scene.settle(flight) { _ in .answered(.failure(PushFailure(.unknownFate, "cut"))) }
        #expect(scene.kinds.isEmpty)
        try scene.report(token: "u1")
        #expect(scene.kinds == [.started] && scene.events.first?.reason == .reported)
        // The answer that was thought lost comes after all.
        try scene.settle(flight) { _ in Self.accepted }
        #expect(scene.kinds == [.started])
    }

    @Test func `a refused start is none`() throws {
        var (scene, flight) = try starting()
        try scene.settle(flight) { _ in Self.refused(503, "ServiceUnavailable") }
        #expect(scene.kinds.isEmpty)
    }

    @Test func `a card that the app started itself is told with its first report`() throws {
        var scene = Scene()
        try scene.register(startToken: nil)
        try scene.put(users: ["ann"])
        try scene.report("phone", .requesting)
        #expect(scene.kinds.isEmpty)
        for _ in 0..<2 { try scene.report("phone", .active, token: "u1") }
        #expect(scene.kinds == [.started])
    }

    @Test func `a start that a process left open, and whose answer came late, is told once`() throws {
        var (scene, flight) = try starting()
        scene.node = 2
        #expect(try scene.claim().rescued == 1)
        #expect(scene.kinds.isEmpty)
        try scene.settle(flight) { _ in Self.accepted }
        #expect(scene.kinds == [.started])
        try scene.report(token: "u1")
        #expect(scene.kinds == [.started])
    }

    // MARK: - Held

    @Test func `the phone's word that it shows the newest state is told once for each state`() throws {
        var scene = try Scene.live()
        scene.forget()
        for _ in 0..<2 { try scene.report(token: "u1") { $0.contentState = Sample.state(1) } }
        #expect(scene.kinds == [.held] && scene.events.first?.revision == 1)
        try scene.put("a", 2)
        scene.wait(.seconds(2))
        try scene.deliver()
        #expect(scene.kinds == [.held], "no push of an update is told")
        try scene.report(token: "u1") { $0.contentState = Sample.state(1) }
        #expect(scene.kinds == [.held])
        try scene.report(token: "u1") { $0.contentState = Sample.state(2) }
        #expect(scene.kinds == [.held, .held] && scene.events.last?.revision == 2)
    }

    @Test func `a state of the app's own is not the one that was set`() throws {
        var scene = try Scene.live()
        scene.forget()
        try scene.report(token: "u1") { report in
            report.contentState = Sample.state(9)
            report.basedOn = 1
        }
        #expect(scene.kinds.isEmpty)
        try scene.report(token: "u1") { $0.contentState = Sample.state(1) }
        #expect(scene.kinds == [.held])
    }

    // MARK: - Dismissed, ended

    @Test func `a person's dismissal is told once`() throws {
        var scene = try Scene.live()
        scene.forget()
        for _ in 0..<2 { try scene.report("phone", .dismissed) }
        _ = try scene.inventory(sequence: 1)
        #expect(scene.kinds == [.dismissed])
    }

    @Test func `an end is told when APNs took it, and not again when it is repeated or confirmed`() throws {
        var scene = try Scene.live()
        scene.forget()
        try scene.end()
        scene.wait(.seconds(2))
        let flight = try scene.onlyFlight()
        try scene.settle(flight) { _ in Self.accepted }
        try scene.settle(flight) { _ in Self.accepted }
        #expect(scene.kinds == [.ended] && scene.events.first?.reason == .activityEnded)
        scene.wait(.seconds(8000))
        #expect(try scene.deliver().map(\.plan.reason.code) == [.endRepeated])
        try scene.report("phone", .ended)
        #expect(scene.kinds == [.ended])
    }

    @Test func `a card that vanished is told by what says so`() throws {
        // The 410 about its token.
        var scene = try Scene.live()
        scene.forget()
        try scene.put("a", 2)
        scene.wait(.seconds(2))
        let flight = try scene.onlyFlight()
        for _ in 0..<2 { try scene.settle(flight) { _ in Self.refused(410, "Unregistered") } }
        #expect(scene.kinds == [.tokenDead, .ended])
        #expect(scene.events.map(\.reason) == [.tokenInactive, .tokenInactive])
        #expect(scene.events.first?.subject == .updateToken)
        // Then the person's dismissal.
        try scene.report("phone", .dismissed)
        #expect(scene.kinds == [.tokenDead, .ended, .dismissed])

        // An inventory.
        scene = try Scene.live()
        scene.forget()
        _ = try scene.inventory(sequence: 1)
        _ = try scene.inventory(sequence: 2)
        #expect(scene.kinds == [.ended] && scene.events.first?.reason == .notListed)

        // The app.
        scene = try Scene.live()
        scene.forget()
        for _ in 0..<2 { try scene.report("phone", .ended) }
        #expect(scene.kinds == [.ended] && scene.events.first?.reason == .reported)
    }

    @Test func `a start that came to no card is over when an inventory says so`() throws {
        var (scene, flight) = try starting()
        try scene.settle(flight) { _ in Self.accepted }
        scene.wait(.seconds(1000))
        _ = try scene.inventory(sequence: 1)
        #expect(scene.kinds == [.started, .ended] && scene.events.last?.reason == .notListed)
        // A card whose start created no event creates none for its end.
        (scene, flight) = try starting()
        try scene.settle(flight) { _ in .answered(.failure(PushFailure(.unknownFate, "cut"))) }
        scene.wait(.seconds(1000))
        _ = try scene.inventory(sequence: 1)
        #expect(scene.kinds.isEmpty)
    }

    // MARK: - Renewed

    @Test func `a second card that takes the first one's place is told as its renewal, and the first one's end is not`()
        throws
    {
        var scene = try Scene.live(Sample.type { $0.renewal = true })
        try scene.deliver()
        scene.wait(Reconciler.renewalAge - .seconds(10))
        try scene.report(token: "u1")
        scene.now = try #require(scene.store.nextWakeAt)
        scene.forget()
        #expect(try scene.deliver().map(\.plan.part) == [.successor])
        #expect(scene.kinds.isEmpty)
        for _ in 0..<2 { try scene.report(local: "second", token: "u2") }
        scene.wait(.seconds(2))
        #expect(try scene.deliver().map(\.plan.kind).contains(.end))
        #expect(scene.kinds == [.renewed])
    }

    // MARK: - Tokens, notifications, our faults

    @Test func `a dead push-to-start token is told once, whatever it serves`() throws {
        var (scene, flight) = try starting()
        for _ in 0..<2 { try scene.settle(flight) { _ in Self.refused(410, "Unregistered") } }
        #expect(scene.kinds == [.tokenDead])
        #expect(scene.events.first?.subject == .pushToStartToken && scene.events.first?.device == 7)
    }

    @Test func `a dead device token is told, and belongs to no activity`() throws {
        var scene = Scene()
        try scene.register()
        try scene.say { $0.deviceToken = Sample.token("d1") }
        try scene.notify()
        let flight = try scene.claimNotifications().flight
        for _ in 0..<2 {
            try scene.settle(flight) { _ in .success(PushAnswer(status: 410, reason: APNSReason("Unregistered"))) }
        }
        #expect(scene.kinds == [.tokenDead])
        #expect(scene.events.first?.subject == .deviceToken && scene.events.first?.activity == nil)
    }

    @Test func `a notification in place of a card is told in the commit that makes it`() throws {
        var scene = Scene(
            Sample.type { policy in
                policy.startGrace = .zero
                policy.fallback = AlertTemplate(Sample.alert)
            })
        try scene.register(startToken: nil)
        try scene.say { $0.deviceToken = Sample.token("d1") }
        try scene.put(users: ["ann"])
        try scene.deliver()
        try scene.deliver()
        #expect(scene.kinds == [.fellBack] && scene.events.first?.reason == .noPushToStartToken)
        #expect(try scene.deliverNotifications().count == 1)
        #expect(scene.kinds == [.fellBack])
    }

    @Test func `what is our own fault is told once for each state`() throws {
        var scene = try Scene.live()
        scene.forget()
        for revision in 2...3 {
            try scene.put("a", revision)
            scene.wait(.seconds(70))
            let flight = try scene.onlyFlight()
            for _ in 0..<2 { try scene.settle(flight) { _ in Self.refused(400, "BadTopic") } }
        }
        #expect(scene.kinds == [.parked, .parked] && scene.events.map(\.revision) == [2, 3])
        #expect(scene.events.map(\.reason) == [.parked, .parked])
    }

    @Test func `a parked notification is told once`() throws {
        var scene = Scene()
        try scene.register()
        try scene.say { $0.deviceToken = Sample.token("d1") }
        try scene.notify()
        let flight = try scene.claimNotifications().flight
        for _ in 0..<2 {
            try scene.settle(flight) { _ in .success(PushAnswer(status: 400, reason: APNSReason("BadTopic"))) }
        }
        #expect(scene.kinds == [.parked])
    }

    @Test func `a halted key is told with its environment`() throws {
        var scene = Scene()
        _ = try scene.run(
            TellKeyHalted(
                route: PushRoute(scene.app.bundleID, .sandbox), reason: .halted, now: scene.now))
        #expect(scene.kinds == [.keyHalted])
        #expect(scene.events.first?.subject == .sandbox && scene.events.first?.reason == .halted)
        #expect(scene.events.first?.activity == nil && scene.events.first?.device == nil)
    }

    // MARK: - Phones outside the audience

    @Test func `a phone that reports on its own word is told of when its person is named, and not before`() throws {
        var scene = Scene()
        try scene.register(startToken: nil)
        try scene.put(users: ["eve"])
        var report = CardReport(localID: Sample.local("card"), type: scene.type, state: .active)
        report.activity = Sample.activityID("a")
        report.token = Sample.token("u1")
        var command = ReportCard(app: scene.app, device: Sample.device("phone"), report: report, now: scene.now)
        command.reporter = .person(Sample.user("ann"))
        _ = try scene.run(command)
        #expect(scene.kinds.isEmpty)
        try scene.put(users: ["eve", "ann"])
        #expect(scene.kinds == [.started])
        try scene.report(token: "u1")
        #expect(scene.kinds == [.started])
    }

    @Test func `a refused command tells nothing`() throws {
        var scene = Scene()
        let result = scene.store.run(Refusing())
        #expect(throws: Refusal.activityNotNamed) { try result.get() }
        #expect(scene.events.isEmpty)
    }

    private struct Refusing: Command {
        var keys: [SnapshotKey] { [] }
        var rank: CommandRank { .write }

        func decide(_ draft: inout Draft) throws(Refusal) {
            draft.tell(EventRecord(.parked, app: Sample.bundleID, at: Sample.now))
            throw .activityNotNamed
        }
    }
}

extension Scene {
    /// Events in order.
    var events: [EventRecord] { store.events }
    var kinds: [EventRecord.Kind] { store.events.map(\.kind) }

    mutating func forget() { store.forgetEvents() }
}
