import APNSModel
import LiveActivityCore
import TestSupport
import Testing

/// Tests of an alert whose push is answered late, refused, overtaken, or never answered.
struct AlertFateTests {
    /// A card that lacks a state with an alert. A push with both is on its way, and its answer is awaited.
    private func awaited(
        _ onUnknown: AlertRecord.OnUnknown = .drop, priority: ActivityRecord.PriorityWish = .high
    ) throws -> (scene: Scene, flight: Flight) {
        var scene = try Scene.live()
        try scene.put("a", 2) { body in
            body.priority = priority
            var wish = SetDesiredState.AlertWish(Sample.alert)
            wish.onUnknown = onUnknown
            body.alert = wish
        }
        scene.wait(.seconds(2))
        let flight = try scene.onlyFlight()
        #expect(flight.seats.first?.plan.carriesAlert == true)
        scene.wait(.milliseconds(1500))
        let until = scene.now + .seconds(20)
        try scene.settle(flight) { _ in .awaited(until: until) }
        return (scene, flight)
    }

    static let refusals: [SettleFlight.Outcome] = [
        .answered(.success(.refusal(.serviceUnavailable))), .answered(.success(.refusal(.tooManyRequests))),
        .answered(.success(.refusal(.invalidProviderToken))), .answered(.success(.refusal(.badDeviceToken))),
        .answered(.failure(PushFailure(.notSentInTime, "it waited too long"))),
        .answered(.failure(PushFailure(.cannotConnect, "refused"))),
        .answered(.failure(PushFailure(.refusedByPeer, "GOAWAY"))),
    ]

    @Test(arguments: refusals.indices)
    func `an alert that APNs never took goes with the next push, though that was known late`(index: Int) throws {
        var (scene, flight) = try awaited()
        scene.wait(.seconds(3))
        try scene.settle(flight) { _ in Self.refusals[index] }
        // After a refused token the phone reports another.
        if index == 3 { try scene.report(token: "u2") }
        scene.wait(.seconds(70))
        let sent = try scene.deliver()
        #expect(sent.map(\.plan.carriesAlert) == [true] && sent.first?.plan.priority == .high)
        // The alert is sent only once more.
        try scene.put("a", 3)
        scene.wait(.seconds(2))
        #expect(try scene.deliver().map(\.plan.carriesAlert) == [false])
    }

    @Test func `an alert comes again to the new token that was sent its state meanwhile`() throws {
        var (scene, flight) = try awaited()
        try scene.report(token: "u2")
        #expect(try scene.deliver().map(\.plan.carriesAlert) == [false])
        scene.wait(.seconds(3))
        try scene.settle(flight) { _ in .answered(.success(.refusal(.serviceUnavailable))) }
        scene.wait(.seconds(30))
        #expect(try scene.deliver().map(\.plan.carriesAlert) == [true])
        scene.wait(.seconds(30))
        #expect(try scene.deliver().isEmpty)
    }

    @Test func `an alert whose fate stays unknown is dropped`() throws {
        var (scene, flight) = try awaited()
        scene.wait(.seconds(3))
        try scene.settle(flight) { _ in .answered(.failure(PushFailure(.unknownFate, "no answer in time"))) }
        scene.wait(.seconds(70))
        #expect(try scene.deliver().map(\.plan.carriesAlert) == [false])
    }

    @Test func `a late refusal gives nothing back that another push has given`() throws {
        var (scene, flight) = try awaited(.repeat)
        try scene.report(token: "u2")
        #expect(try scene.deliver().map(\.plan.carriesAlert) == [true])
        try scene.settle(flight) { _ in .answered(.failure(PushFailure(.notSentInTime, "it waited too long"))) }
        scene.wait(.seconds(70))
        #expect(try scene.deliver().isEmpty)
    }

    @Test func `what became of an older alert does not take a newer one for given, whose answer is awaited`() throws {
        var (scene, older) = try awaited()
        try scene.put("a", 3) { $0.alert = SetDesiredState.AlertWish(Sample.alert) }
        scene.wait(.seconds(20))
        let newer = try scene.onlyFlight()
        #expect(newer.seats.map(\.plan.alertRevision) == [3])
        let until = scene.now + .seconds(20)
        try scene.settle(newer) { _ in .awaited(until: until) }
        try scene.settle(older) { _ in .answered(.failure(PushFailure(.unknownFate, "no answer in time"))) }
        try scene.settle(newer) { _ in .answered(.success(.refusal(.serviceUnavailable))) }
        scene.wait(.seconds(70))
        #expect(try scene.deliver().map(\.plan.alertRevision) == [3])
    }

    @Test func `an alert comes again though it was written down twice that its answer is awaited`() throws {
        var (scene, flight) = try awaited()
        scene.wait(.seconds(1))
        let until = scene.now + .seconds(20)
        try scene.settle(flight) { _ in .awaited(until: until) }
        scene.wait(.seconds(2))
        try scene.settle(flight) { _ in .answered(.success(.refusal(.tooManyRequests))) }
        scene.wait(.seconds(70))
        #expect(try scene.deliver().map(\.plan.carriesAlert) == [true])
    }

    @Test func `a process that was late, and not lost, says that an alert was never taken`() throws {
        var scene = try Scene.live()
        try scene.put("a", 2) { $0.alert = .init(Sample.alert) }
        scene.wait(.seconds(2))
        let flight = try scene.onlyFlight()
        scene.node = 2
        #expect(try scene.claim().rescued == 1)
        try scene.settle(flight) { _ in .answered(.failure(PushFailure(.notSentInTime, "it stood still"))) }
        scene.wait(.seconds(2))
        #expect(try scene.deliver().map(\.plan.carriesAlert) == [true])
    }

    @Test func `a start for an alert comes again when its refusal is known late`() throws {
        var scene = try Scene.live(Sample.type { $0.restart = .onAlert })
        try scene.report("phone", .dismissed)
        try scene.put("a", 2) { $0.alert = .init(Sample.alert) }
        scene.wait(.seconds(61))
        let flight = try scene.onlyFlight()
        #expect(flight.seats.map(\.plan.kind) == [.start])
        scene.wait(.milliseconds(1500))
        let until = scene.now + .seconds(20)
        try scene.settle(flight) { _ in .awaited(until: until) }
        scene.wait(.seconds(3))
        try scene.settle(flight) { _ in .answered(.success(.refusal(.serviceUnavailable))) }
        scene.wait(.seconds(30))
        let sent = try scene.deliver()
        #expect(sent.map(\.plan.kind) == [.start] && sent.first?.plan.carriesAlert == true)
    }

    @Test func `an alert on a push that an update of the app's own has overtaken is not sent twice`() throws {
        var scene = Scene()
        try scene.register()
        try scene.put(users: ["ann"]) { body in
            body.alert = .init(Sample.alert)
            body.alert?.keep = true
        }
        scene.wait(.seconds(20))
        let flight = try scene.onlyFlight()
        let timestamp = try #require(flight.seats.first).timestamp
        try scene.report(token: "u1") { report in
            report.basedOn = 1
            report.lastTimestamp = timestamp + 1
        }
        scene.wait(.milliseconds(1500))
        let until = scene.now + .seconds(20)
        try scene.settle(flight) { _ in .awaited(until: until) }
        try scene.put("a", 2)
        scene.wait(.seconds(2))
        #expect(try scene.deliver().map(\.plan.carriesAlert) == [false])
    }

    @Test func `an alert is sent at high priority within the minute of another high push`() throws {
        var scene = try Scene.live()
        scene.wait(.seconds(61))
        try scene.put("a", 2) { $0.priority = .high }
        scene.wait(.seconds(2))
        #expect(try scene.deliver().map(\.plan.priority) == [.high])
        scene.wait(.seconds(2))
        try scene.put("a", 3) { $0.priority = .high }
        scene.wait(.seconds(2))
        #expect(try scene.deliver().map(\.plan.priority) == [.low])
        try scene.put("a", 4) { body in
            body.priority = .high
            body.alert = .init(Sample.alert)
        }
        scene.wait(.seconds(2))
        let sent = try scene.deliver()
        #expect(sent.map(\.plan.priority) == [.high] && sent.first?.plan.carriesAlert == true)
    }

    @Test func `a call that names an older alert again does not pass on the newest`() throws {
        var scene = Scene()
        try scene.register()
        try scene.put("a", 1, users: ["ann"]) { $0.alert = wish("one") }
        try scene.put("a", 2) { $0.alert = wish("two") }
        // The first call is repeated after another state was set, because nobody had answered it.
        try scene.put("a", 1) { $0.alert = wish("one") }
        #expect(try scene.activity().alert == nil)
        try scene.put("a", 2) { $0.alert = wish("three") }
        try scene.put("a", 3) { $0.alert = wish("three") }
        #expect(try scene.activity().alert?.id == "three")
        try scene.end(alert: wish("one"))
        #expect(try scene.activity().alert == nil)
    }

    private func wish(_ id: String) -> SetDesiredState.AlertWish {
        var wish = SetDesiredState.AlertWish(Sample.alert)
        wish.id = id
        return wish
    }

    @Test func `who leaves while the card lives and comes back is not told what was said meanwhile`() throws {
        var scene = try Scene.live()
        try scene.changeAudience(remove: ["ann"])
        try scene.put("a", 2) { $0.alert = .init(Sample.alert) }
        scene.wait(.seconds(2))
        try scene.changeAudience(add: ["ann"])
        scene.wait(.seconds(2))
        #expect(try scene.deliver().map(\.plan.carriesAlert) == [false])
    }

    @Test func `who joins at the very millisecond that a clock shows again does not get the alert`() throws {
        var scene = Scene()
        try scene.register()
        try scene.put(users: ["bob"]) { $0.alert = SetDesiredState.AlertWish(Sample.alert) }
        try scene.changeAudience(add: ["ann"])
        scene.wait(.seconds(20))
        #expect(try scene.deliver().map(\.plan.carriesAlert) == [false])
    }

    @Test(arguments: [true, false])
    func `who leaves and comes back does not get the alert that was on its way when they left`(
        isAwaitedBefore: Bool
    ) throws {
        var scene = try Scene.live()
        try scene.put("a", 2) { $0.alert = SetDesiredState.AlertWish(Sample.alert) }
        let flight = try scene.onlyFlight()
        #expect(flight.seats.map(\.plan.carriesAlert) == [true])
        let until = scene.now + .seconds(13)
        if isAwaitedBefore { try scene.settle(flight) { _ in .awaited(until: until) } }
        try scene.changeAudience(remove: ["ann"])
        scene.wait(.seconds(1))
        try scene.changeAudience(add: ["ann"])
        if !isAwaitedBefore { try scene.settle(flight) { _ in .awaited(until: until) } }
        try scene.settle(flight) { _ in .answered(.failure(PushFailure(.cannotConnect, "refused"))) }
        scene.wait(.seconds(60))
        #expect(try scene.deliver().map(\.plan.carriesAlert) == [false])
    }

    @Test func `who leaves twice while the answer to their end is awaited is sent one end`() throws {
        var scene = try Scene.live()
        try scene.changeAudience(remove: ["ann"])
        let flight = try scene.onlyFlight()
        scene.wait(.milliseconds(1500))
        let until = scene.now + .seconds(20)
        try scene.settle(flight) { _ in .awaited(until: until) }
        try scene.changeAudience(add: ["ann"])
        try scene.changeAudience(remove: ["ann"])
        #expect(try scene.deliver().isEmpty)
        scene.now = until
        #expect(try scene.deliver().map(\.plan.kind) == [.end])
    }

    @Test func `a notification whose token was replaced meanwhile goes to the new one`() throws {
        var scene = Scene()
        try scene.register()
        try scene.say { $0.deviceToken = Sample.token("d1") }
        try scene.notify()
        let flight = try scene.claimNotifications().flight
        try scene.say { $0.deviceToken = Sample.token("d2") }
        let now = scene.now
        try scene.settle(flight) { _ in .success(.refusal(.expiredToken, inactiveSince: now)) }
        let sent = try scene.deliverNotifications()
        #expect(sent.map(\.token.value) == [TokenValue(Sample.token("d2", as: DeviceTokenKind.self))])
        #expect(scene.waiting == (0, 0))
    }

    @Test func `who was told in place of a card is not shown one as well after they were away`() throws {
        var scene = Scene(Sample.type { $0.fallback = AlertTemplate(PushAlert(title: "Told", body: "instead")) })
        try scene.register(startToken: nil)
        try scene.say { $0.deviceToken = Sample.token("d1") }
        try scene.put(users: ["ann"])
        scene.wait(.seconds(61))
        try scene.deliver()
        #expect(try scene.deliverNotifications().count == 1)
        try scene.report(token: "u1")
        try scene.changeAudience(remove: ["ann"])
        #expect(try scene.deliver().map(\.plan.kind) == [.end])
        try scene.changeAudience(add: ["ann"])
        try scene.registerStart("phone", "p2s")
        scene.wait(.seconds(61))
        #expect(try scene.deliver().isEmpty)
        try scene.put("a", 2)
        scene.wait(.seconds(2))
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
    }
}
