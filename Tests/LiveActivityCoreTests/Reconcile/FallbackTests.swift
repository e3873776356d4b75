import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Tests of fallback notifications in place of a card that cannot be shown: at most one, and never both.
@Suite struct FallbackTests {
    private static func type(_ change: (inout TypePolicy) -> Void = { _ in }) throws -> ActivityType {
        let template = try AlertTemplate(
            parsing: PushAlert(title: .text("Order is {/status}"), body: .text("Step {/step}")))
        return Sample.type { policy in
            policy.startGrace = .zero
            policy.fallback = template
            change(&policy)
        }
    }

    /// A phone with a device token, and with a push-to-start token unless it is `nil`.
    private static func scene(startToken: String? = "p2s", _ type: ActivityType? = nil) throws -> Scene {
        var scene = Scene(try type ?? Self.type())
        try scene.register(startToken: startToken)
        try scene.say { $0.deviceToken = Sample.token("d1") }
        return scene
    }

    private static func text(_ seat: NotificationFlight.Seat) throws -> (title: String?, body: String?) {
        let alert = try JSONValue(parsing: seat.notification.payload).object?["aps"]?.object?["alert"]?.object
        return (alert?["title"]?.string, alert?["body"]?.string)
    }

    // MARK: - When

    static let obstacles: [(Reason.Code, @Sendable (inout Scene) throws -> Void)] = [
        (.activitiesDisabled, { try $0.say { $0.activitiesEnabled = false } }),
        (.belowPushToStart, { try $0.say { $0.osVersion = OSVersion(17, 1) } }),
        (.noPushToStartToken, { _ in }),
    ]

    @Test(arguments: obstacles.indices)
    func `a card that cannot be shown is told by one notification, with values of the state`(index: Int) throws {
        let (code, change) = Self.obstacles[index]
        var scene = try Self.scene(startToken: code == .noPushToStartToken ? nil : "p2s")
        try change(&scene)
        try scene.put(users: ["ann"])
        #expect(try scene.decision() == .fallBack(try scene.decision().reason))
        #expect(try scene.decision().reason.code == code)
        #expect(try scene.deliver().isEmpty)
        let sent = try scene.deliverNotifications()
        #expect(sent.count == 1)
        let text = try Self.text(try #require(sent.first))
        #expect(text == ("Order is baking", "Step 1"))
        #expect(try scene.decision() == .nothing(Reason(.fellBack)))
        // The next state has no alert, so it is no reason for another notification.
        scene.wait(.seconds(5))
        try scene.put("a", 2)
        #expect(try scene.deliver().isEmpty && scene.deliverNotifications().isEmpty)
        // A state with an alert is, once for each alert id.
        scene.wait(.seconds(5))
        for _ in 0..<2 {
            try scene.put("a", 3) { body in
                var alert = SetDesiredState.AlertWish(Sample.alert)
                alert.id = "hurry"
                body.alert = alert
            }
            try scene.deliver()
        }
        #expect(try scene.deliverNotifications().map(Self.text).map(\.body) == ["Step 3"])
        let entries = scene.store.history.flatMap(\.entries).filter { $0.kind == .fallback }
        #expect(entries.compactMap(\.reason?.code) == [code, code] && entries.filter { $0.status == 200 }.count == 2)
    }

    @Test(arguments: [APNSReason.Known.badDeviceToken, .unregistered, .expiredToken, .deviceTokenNotForTopic])
    func `P4: a refused push-to-start token is cleared, and the message goes out as a notification`(
        reason: APNSReason.Known
    ) throws {
        var scene = try Self.scene()
        try scene.put(users: ["ann"])
        let flight = try scene.onlyFlight()
        #expect(flight.seats.first?.plan.kind == .start)
        try scene.settle(flight) { _ in .answered(.success(.refusal(reason))) }
        #expect(scene.store.rows.deviceTokens[.init(7, .pushToStart, "order")]?.deadAt != nil)
        #expect(scene.store.rows.deviceTokens[.init(7, .device, "")]?.deadAt == nil)
        #expect(try scene.deliver().isEmpty)
        #expect(try scene.deliverNotifications().count == 1)
    }

    @Test func `a start that our own mistake keeps from leaving is told by a notification`() throws {
        var scene = try Self.scene()
        try scene.put(users: ["ann"])
        try scene.settle(try scene.onlyFlight()) { _ in .answered(.success(.refusal(.badTopic))) }
        try scene.deliver()
        #expect(try scene.deliverNotifications().count == 1)
    }

    static let openStarts: [SettleFlight.Outcome] = [
        .answered(.success(PushAnswer(status: 200))), .answered(.failure(PushFailure(.unknownFate, "lost"))),
    ]

    @Test(arguments: openStarts.indices)
    func `a start whose card may be there is never doubled by a notification, however long it takes`(index: Int) throws
    {
        var scene = try Self.scene()
        try scene.put(users: ["ann"])
        try scene.settle(try scene.onlyFlight()) { _ in Self.openStarts[index] }
        for _ in 0..<30 {
            scene.wait(.seconds(1800))
            // Neither a dead token nor an alert makes it certain that there is no card.
            if scene.now == Sample.now + .seconds(3600) { try scene.say { $0.activitiesEnabled = false } }
            try scene.put("a", Int(scene.now.seconds % 7)) { $0.alert = .init(Sample.alert) }
            try scene.deliver()
            guard scene.now < Sample.now + .seconds(43_000) else { break }
            #expect(try scene.deliverNotifications().isEmpty)
        }
    }

    @Test func `a crash between claim and answer leaves a start of unknown fate, and no notification`() throws {
        var scene = try Self.scene()
        try scene.put(users: ["ann"])
        _ = try scene.onlyFlight()
        scene.node = 2
        try scene.deliver()
        #expect(try scene.card().state == .unconfirmed)
        #expect(try scene.deliverNotifications().isEmpty)
    }

    // MARK: - Never both

    @Test func `what was told is not started afterwards, though a way opens; the next state is`() throws {
        var scene = try Self.scene(startToken: nil)
        try scene.put(users: ["ann"])
        try scene.deliver()
        // This holds before the notification has left as well as afterwards.
        try scene.registerStart("phone", "p2s")
        #expect(try scene.deliver().isEmpty)
        #expect(try scene.deliverNotifications().count == 1)
        try scene.registerStart("phone", "p2s-2")
        #expect(try scene.deliver().isEmpty && scene.deliverNotifications().isEmpty)
        scene.wait(.seconds(70))
        try scene.put("a", 2)
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
        #expect(try scene.deliverNotifications().isEmpty)
    }

    @Test func `a start's refusal that is known late does not make what was told untold`() throws {
        var scene = try Self.scene()
        try scene.put(users: ["ann"]) { $0.alert = SetDesiredState.AlertWish(Sample.alert) }
        let start = try scene.onlyFlight()
        #expect(start.seats.map(\.plan.carriesAlert) == [true])
        let until = scene.now + .seconds(20)
        try scene.settle(start) { _ in .awaited(until: until) }
        // The clock is set forward, so the start counts as failed. No card can be shown any more.
        scene.wait(.seconds(2400))
        try scene.say { $0.activitiesEnabled = false }
        _ = try scene.inventory(sequence: 1)
        #expect(try scene.deliver().isEmpty)
        #expect(try scene.deliverNotifications().count == 1)
        try scene.settle(start) { _ in .answered(.success(.refusal(.serviceUnavailable))) }
        try scene.say { $0.activitiesEnabled = true }
        scene.wait(.seconds(3600))
        #expect(try scene.deliver().isEmpty)
    }

    @Test func `a notification that no token could take leaves the way open for a start`() throws {
        var scene = try Self.scene(startToken: nil)
        try scene.put(users: ["ann"])
        try scene.deliver()
        try scene.deliverNotifications(.refusal(.badDeviceToken))
        #expect(try scene.card().alerts.told == nil)
        try scene.registerStart("phone", "p2s")
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
    }

    @Test func `a settlement comes to the same whether or not others of its transaction have ended the card`() throws {
        var scene = try Self.scene(try Self.type { $0.startGrace = .seconds(15) })
        try scene.put(users: ["ann"])
        scene.wait(.seconds(16))
        try scene.deliver()
        try scene.report(token: "u1")
        try scene.deliver()
        scene.wait(.seconds(2))
        try scene.end()
        let flight = try scene.onlyFlight()
        let ended = scene.settlement(flight) { _ in .answered(.success(PushAnswer(status: 200))) }
        var body = SetDesiredState.Body(state: Sample.state(3))
        body.reopen = true
        let reopening = SetDesiredState(
            app: scene.app.bundleID, id: Sample.activityID("a"), type: scene.type, body: body, now: scene.now)
        var together = scene.store
        // The first commit had an unknown outcome.
        together.run(together: [.init(ended), .init(reopening), .init(ended)])
        _ = try scene.run(ended)
        _ = try scene.run(reopening)
        _ = try scene.run(ended)
        #expect(scene.store.rows == together.rows)
    }

    @Test func `an alert whose start and whose notification were both refused comes with the next start`() throws {
        var scene = try Self.scene()
        try scene.put(users: ["ann"])
        try scene.deliver(.refusal(.unregistered))
        scene.wait(.seconds(60))
        // The second state brings an alert, and the phone can get neither a card nor a notification.
        try scene.put("a", 2) { $0.alert = SetDesiredState.AlertWish(Sample.alert) }
        try scene.deliver()
        try scene.deliverNotifications(.refusal(.badDeviceToken))
        try scene.registerStart("phone", "p2s-2")
        #expect(try scene.deliver().map(\.plan.carriesAlert) == [true])
    }

    @Test func `a phone without a device token waits for its push-to-start token`() throws {
        var scene = Scene(try Self.type())
        try scene.register(startToken: nil)
        try scene.put(users: ["ann"])
        #expect(try scene.decision() == .nothing(Reason(.noPushToStartToken)))
        try scene.say { $0.notificationAuthorization = "denied" }
        try scene.say { $0.deviceToken = Sample.token("d1") }
        try scene.deliver()
        #expect(scene.waiting == (0, 0))
        // With permission, the notification is sent.
        try scene.say { $0.notificationAuthorization = "authorized" }
        try scene.deliver()
        #expect(try scene.deliverNotifications().count == 1)
    }

    @Test func `a phone that has just been in touch may start the card itself: it is given the time`() throws {
        var type = try Self.type()
        type.policy.startGrace = .seconds(15)
        var scene = try Self.scene(startToken: nil, type)
        try scene.put(users: ["ann"])
        try scene.deliver()
        #expect(scene.waiting == (0, 0))
        try scene.report(token: "u1")
        scene.wait(.seconds(20))
        try scene.deliver()
        #expect(scene.waiting == (0, 0))
    }

    @Test func `only the device that a card would be started on is told`() throws {
        var scene = try Self.scene(startToken: nil)
        scene.wait(.seconds(10))
        try scene.register("second", startToken: nil, key: 8)
        try scene.say("second") { $0.deviceToken = Sample.token("d2") }
        try scene.put(users: ["ann"])
        try scene.deliver()
        #expect(try scene.deliverNotifications().map(\.device.id) == [Sample.device("second")])
    }

    @Test func `the wish of the call counts before that of the type, and without either there is none`() throws {
        var scene = try Self.scene(startToken: nil)
        try scene.put(users: ["ann"]) { $0.fallback = PushAlert(title: .text("{/step} of {/many|few}")) }
        try scene.deliver()
        #expect(try scene.deliverNotifications().map(Self.text).map(\.title) == ["1 of few"])
        var silent = try Self.scene(startToken: nil, Sample.type { $0.startGrace = .zero })
        try silent.put(users: ["ann"])
        try silent.deliver()
        #expect(silent.waiting == (0, 0))
        #expect(try silent.decision() == .nothing(Reason(.noPushToStartToken)))
    }

    @Test func `a start that our estimate holds back past the start window is told instead`() throws {
        var scene = try Self.scene()
        var starts = 0
        // Starts as many as the budget allows at once.
        for number in 1...20 {
            try scene.put("a\(number)", users: ["ann"])
            guard try scene.deliver().map(\.plan.kind) == [.start] else { break }
            starts += 1
            try scene.report(local: "card\(number)", activity: "a\(number)", token: "u\(number)")
            try scene.deliver()
        }
        #expect((1..<20).contains(starts))
        try scene.put("a", users: ["ann"])
        #expect(try scene.decision().reason.code == .startBudget)
        #expect(try scene.deliver().isEmpty)
        #expect(try scene.deliverNotifications().isEmpty)
        scene.wait(.seconds(301))
        try scene.deliver()
        // The notification of this activity and the one before it.
        let sent = try scene.deliverNotifications()
        #expect(
            sent.count <= 2 && sent.contains { $0.notification.fallback?.activity == (try? scene.activity().number) })
        scene.wait(.seconds(4000))
        try scene.deliver()
        #expect(try scene.card().state == .absent)
    }

    // MARK: - Properties

    /// Tests that no order of events shows a state both by a card and by a notification.
    @Test(arguments: UInt64(1)...20)
    func `never both, over any history`(seed: UInt64) throws {
        for round in 0..<50 {
            var history = FallbackHistory(seed: seed &* 1000 &+ UInt64(round), try Self.scene(startToken: nil))
            try history.live(steps: 60)
            #expect(history.faults.isEmpty, "seed \(seed), round \(round): \(history.faults)")
        }
    }
}

/// A phone whose tokens and settings change at random, and the pushes that APNs took for it.
private struct FallbackHistory {
    var dice: SeededDice
    var scene: Scene
    var faults: [String] = []
    /// Revisions in notifications. `shown` holds those in starts that APNs has or may have.
    private var told: Set<Revision> = []
    private var shown: Set<Revision> = []
    private var step = 0

    init(seed: UInt64, _ scene: Scene) {
        dice = SeededDice(seed: seed)
        self.scene = scene
    }

    mutating func live(steps: Int) throws {
        for _ in 0..<steps {
            try act()
            scene.wait(.milliseconds(Int64(dice.pick([0, 100, 2000, 20_000, 400_000]))))
        }
        let both = told.intersection(shown)
        if !both.isEmpty { faults.append("told and shown: \(both.sorted())") }
    }

    private mutating func act() throws {
        switch dice.roll(10) {
        case 0, 1:
            step += 1
            let (withAlert, withUsers) = (dice.chance(50), step == 1 || dice.chance(20))
            try scene.put("a", step, users: withUsers ? ["ann"] : nil) { body in
                if withAlert { body.alert = .init(Sample.alert) }
            }
        case 2: try? scene.registerStart("phone", "p\(dice.roll(50))")
        case 3:
            let isOn = dice.chance(60)
            try scene.say { $0.activitiesEnabled = isOn }
        case 4:
            let token: DeviceToken = Sample.token("d\(dice.roll(50))")
            try? scene.say { $0.deviceToken = token }
        case 5, 6, 7: try claim()
        default: try claimNotifications()
        }
    }

    private mutating func answer() -> Result<PushAnswer, PushFailure> {
        switch dice.roll(6) {
        case 0: .success(.refusal(dice.pick([.badDeviceToken, .unregistered, .expiredToken])))
        case 1: .failure(PushFailure(.unknownFate, "lost"))
        case 2: .success(.refusal(dice.pick([.serviceUnavailable, .tooManyRequests])))
        default: .success(PushAnswer(status: 200))
        }
    }

    private mutating func claim() throws {
        for flight in try scene.claim().flights {
            let answer = answer()
            for seat in flight.seats where seat.plan.kind == .start && Self.mayHaveArrived(answer) {
                shown.insert(seat.plan.revision)
            }
            try scene.settle(flight) { _ in .answered(answer) }
        }
    }

    private mutating func claimNotifications() throws {
        let flight = try scene.claimNotifications().flight
        let answer = answer()
        for seat in flight.seats where Self.mayHaveArrived(answer) {
            if let fallback = seat.notification.fallback { told.insert(fallback.revision) }
        }
        try scene.settle(flight) { _ in answer }
    }

    private static func mayHaveArrived(_ answer: Result<PushAnswer, PushFailure>) -> Bool {
        switch answer {
        case .success(let answer): answer.status == 200
        case .failure(let failure): failure.mayHaveArrived
        }
    }
}
