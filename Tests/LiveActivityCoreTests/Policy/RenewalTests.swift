import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Tests of renewal. iOS stops updating a card after 8 hours, so a second card is started once before that.
///
/// The first card is ended when the second has its token.
struct RenewalTests {
    static let type = Sample.type { $0.renewal = true }
    static let restarting = Sample.type { policy in
        policy.renewal = true
        policy.restart = .always
    }

    /// A live card just before its renewal is due.
    private func scene(_ type: ActivityType = Self.type) throws -> Scene {
        var scene = try Scene.live(type)
        try scene.deliver()
        scene.wait(Reconciler.renewalAge - .seconds(10))
        // The app was open meanwhile. Its reports do not delay the renewal.
        try scene.report(token: "u1")
        return scene
    }

    /// A scene in which the second start was sent.
    func renewing(_ type: ActivityType = Self.type) throws -> Scene {
        var scene = try scene(type)
        scene.now = try #require(scene.store.nextWakeAt)
        #expect(try scene.deliver().map(\.plan.part) == [.successor])
        return scene
    }

    private func request(_ seat: Flight.Seat, _ scene: Scene) throws -> PushRequest {
        let activity = try scene.activity()
        let content = try #require(scene.store.rows.contents[activity.number])
        return try #require(
            try PushBuilder.request(
                seat.plan, desired: DesiredSituation(activity, scene.type, content), content: content,
                phone: seat.phone, timestamp: seat.timestamp, id: PushID(random: 1, 2)))
    }

    @Test func `At 7 hours 15 a second start goes out by itself, without a sound`() throws {
        var scene = try scene()
        let started = try #require(try scene.card().startedAt)
        #expect(try scene.deliver().isEmpty)
        #expect(scene.store.nextWakeAt == started + Reconciler.renewalAge)
        scene.now = started + Reconciler.renewalAge
        let sent = try scene.deliver()
        #expect(sent.map(\.plan.kind) == [.start])
        #expect(sent.map(\.plan.reason.code) == [.renewal])
        let body = try JSONValue(parsing: try request(try #require(sent.first), scene).payload)
        #expect(body[Sample.pointer("/aps/alert/title")] == "Order")
        #expect(body[Sample.pointer("/aps/alert/sound")] == nil)
        #expect(try scene.card().state == .live)
    }

    @Test func `Without renewal nothing happens`() throws {
        var scene = try scene(Sample.type())
        scene.wait(.seconds(7200))
        #expect(try scene.deliver().isEmpty)
        #expect(scene.store.nextWakeAt == nil)
    }

    @Test func `The first card is updated until the second one's token is there, and then ended at once`() throws {
        var scene = try renewing()
        try scene.put("a", 2)
        scene.wait(.seconds(2))
        let update = try scene.deliver()
        #expect(update.map(\.plan.kind) == [.update])
        #expect(update.first?.phone.updateToken?.value == TokenValue(Sample.token("u1", as: UpdateTokenKind.self)))
        // The card is reported, but its token is not.
        try scene.report(local: "second")
        #expect(try scene.deliver().isEmpty)
        #expect(try scene.card().localID == Sample.local("card"))
        try scene.report(local: "second", token: "u2")
        let sent = try scene.deliver()
        #expect(sent.map(\.plan.kind) == [.end, .update])
        let end = try request(try #require(sent.first), scene)
        let body = try JSONValue(parsing: end.payload)
        let dismissal = try #require(body[Sample.pointer("/aps/dismissal-date")]?.int)
        #expect(dismissal <= Int(scene.now.seconds))
        #expect(body[Sample.pointer("/aps/content-state")] == nil)
        #expect(sent.first?.phone.token(of: sent[0].plan) == TokenValue(Sample.token("u1", as: UpdateTokenKind.self)))
        #expect(sent.last?.phone.updateToken?.value == TokenValue(Sample.token("u2", as: UpdateTokenKind.self)))
        let card = try scene.card()
        #expect(card.localID == Sample.local("second") && !card.isRenewing && card.state == .live)
        // Late reports of the first card change nothing.
        try scene.report(local: "card", .ended)
        try scene.report(local: "card", token: "u1")
        #expect(try scene.card() == card)
    }

    @Test(arguments: [ActivityRecord.Restart.never, .onAlert, .always])
    func `Swiped away with the second start open: the second card is ended too, unless it was to come back`(
        restart: ActivityRecord.Restart
    ) throws {
        var scene = try renewing()
        try scene.put { $0.restart = restart }
        try scene.report(local: "card", .dismissed)
        #expect(try scene.card().state == .dismissed)
        // No third card is started with any setting, because the second start is open.
        try scene.put("a", 2) { $0.alert = .init(Sample.alert) }
        scene.wait(.seconds(60))
        #expect(try scene.deliver().isEmpty)
        try scene.report(local: "second")
        #expect(try scene.deliver().isEmpty)
        try scene.report(local: "second", token: "u2")
        let sent = try scene.deliver()
        if restart == .always {
            #expect(sent.map(\.plan.kind) == [.update])
        } else {
            #expect(sent.map(\.plan.kind) == [.end] && sent.map(\.plan.reason.code) == [.personDismissed])
            #expect(sent.allSatisfy { !$0.plan.carriesAlert })
        }
        #expect(sent.map(\.phone.updateToken?.value) == [TokenValue(Sample.token("u2", as: UpdateTokenKind.self))])
        scene.wait(.seconds(30))
        #expect(try scene.deliver().isEmpty)
    }

    @Test func `Swiped away, and the second card never came: after 12 hours one may come back`() throws {
        var scene = try renewing()
        try scene.put { $0.restart = .always }
        let started = try #require(try scene.card().startedAt)
        try scene.report(local: "card", .dismissed)
        try scene.put("a", 2)
        scene.wait(.seconds(3600))
        #expect(try scene.deliver().isEmpty)
        scene.now = started + Reconciler.renewalEnd + Reconciler.startFateHorizon
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
    }

    @Test func `When no second card comes the first is kept, and there is no second try`() throws {
        var scene = try renewing()
        scene.wait(.seconds(40 * 60))
        #expect(try scene.deliver().isEmpty)
        try scene.put("a", 2)
        scene.wait(.seconds(2))
        #expect(try scene.deliver().map(\.plan.kind) == [.update])
        #expect(try scene.card().localID == Sample.local("card"))
        scene.wait(.seconds(3600))
        #expect(try scene.deliver().isEmpty)
    }

    @Test(arguments: [
        PushAnswer(status: 429, reason: .known(.tooManyRequests)),
        PushAnswer(status: 503, reason: .known(.serviceUnavailable)),
    ])
    func `A start that APNs definitely did not take is tried again in time`(answer: PushAnswer) throws {
        var scene = try scene()
        scene.now = try #require(scene.store.nextWakeAt)
        let flight = try scene.onlyFlight()
        try scene.settle(flight) { _ in .answered(.success(answer)) }
        #expect(try !scene.card().isRenewing)
        scene.wait(.seconds(60))
        #expect(try scene.deliver().map(\.plan.part) == [.successor])
    }

    @Test func `A start of unknown fate is not repeated`() throws {
        var scene = try scene()
        scene.now = try #require(scene.store.nextWakeAt)
        let flight = try scene.onlyFlight()
        try scene.settle(flight) { _ in .answered(.failure(PushFailure(.unknownFate, "lost"))) }
        scene.wait(.seconds(60))
        #expect(try scene.deliver().isEmpty)
        #expect(try scene.card().isRenewing)
    }

    @Test func `A process that is lost with the second start on its way leaves no third card`() throws {
        var scene = try scene()
        scene.now = try #require(scene.store.nextWakeAt)
        _ = try scene.onlyFlight()
        scene.node = 2
        scene.wait(.seconds(1))
        #expect(try scene.deliver().isEmpty)
        scene.wait(.seconds(600))
        #expect(try scene.deliver().isEmpty)
        try scene.report(local: "second", token: "u2")
        #expect(try scene.deliver().map(\.plan.kind) == [.end, .update])
    }

    @Test func `The end of the first card is repeated when its answer is lost, and given up when its token is dead`()
        throws
    {
        var scene = try renewing()
        try scene.report(local: "second", token: "u2")
        let flight = try scene.onlyFlight()
        try scene.settle(flight) { _ in .answered(.failure(PushFailure(.unknownFate, "lost"))) }
        scene.wait(.seconds(30))
        let again = try scene.onlyFlight()
        #expect(again.seats.map(\.plan.part) == [.predecessor])
        let dead = PushAnswer(status: 410, reason: .known(.unregistered), inactiveSince: scene.now)
        try scene.settle(again) { _ in .answered(.success(dead)) }
        let token = try #require(scene.store.rows.updateTokens.values.first)
        #expect(token.predecessor == nil && token.deadAt == nil)
        #expect(try scene.card().state == .live)
        #expect(try scene.deliver().map(\.plan.kind) == [.update])
    }

    @Test func `A card without a token is not renewed: nothing could end it`() throws {
        var scene = try scene()
        let now = scene.now
        scene.store.edit { draft in
            for key in draft.snapshot.updateTokens.keys { draft.removeUpdateToken(key, at: now) }
        }
        scene.wait(.seconds(60))
        #expect(try scene.deliver().isEmpty)
    }

    @Test func `Quiet hours hold it, and when they last too long there is none`() throws {
        let from = Sample.now + .seconds(20) + Reconciler.renewalAge
        let minute = ZoneRules.utc.local(from).second / 60
        for (length, renews) in [(20, true), (60, false)] {
            let type = Sample.type { policy in
                policy.renewal = true
                policy.quietHours = QuietHours(
                    from: TimeOfDay(minute: minute), to: TimeOfDay(minute: minute + length), zone: "Etc/UTC",
                    zones: ZoneTable(["Etc/UTC": .utc]))
            }
            var scene = try scene(type)
            scene.wait(.seconds(10))
            #expect(try scene.deliver().isEmpty)
            scene.wait(.seconds(34 * 60))
            #expect(try scene.deliver().map(\.plan.part) == (renews ? [.successor] : []))
        }
    }

    @Test(arguments: [200, 410])
    func `Who comes back while the second card may be there gets no third one beside it`(_ status: Int) throws {
        for isReported in [true, false] {
            var scene = try renewing(Self.restarting)
            if isReported { try scene.report(local: "second") }
            // The person leaves, the first card is over, and the person rejoins.
            try scene.changeAudience(remove: ["ann"])
            let answer = PushAnswer(status: status, reason: status == 410 ? .known(.expiredToken) : nil)
            #expect(try scene.deliver(answer).map(\.plan.kind) == [.end])
            scene.wait(.seconds(2))
            try scene.changeAudience(add: ["ann"])
            scene.wait(.seconds(3600))
            #expect(try scene.deliver().isEmpty)
            #expect(try scene.card().hasOpenStart)
            var swiped = scene
            // With its token, the second card is theirs.
            try scene.report(local: "second", token: "u2")
            #expect(try scene.card().state == .live)
            #expect(try scene.deliver().map(\.plan.kind) == [.update])
            // Without its token, they can swipe it away. Then a third card takes its place.
            guard isReported else { continue }
            try swiped.report(local: "second", .dismissed)
            #expect(try swiped.card().state == .dismissed)
            #expect(try swiped.deliver().map(\.plan.kind) == [.start])
        }
    }

    @Test func `Who comes back to a second card that nothing could end keeps it`() throws {
        var scene = try renewing(Self.restarting)
        try scene.changeAudience(remove: ["ann"])
        #expect(try scene.deliver().map(\.plan.kind) == [.end])
        // The report has no token, and comes too late for the card to be the one that stays.
        try scene.report(local: "second")
        try scene.changeAudience(add: ["ann"])
        scene.wait(.seconds(3600))
        #expect(try scene.deliver().isEmpty && scene.card().localID == Sample.local("second"))
        try scene.report(local: "second", token: "u2")
        #expect(try scene.deliver().map(\.plan.kind) == [.update])
    }

    @Test func `Who comes back when the second start had its time gets a card`() throws {
        var scene = try renewing()
        try scene.changeAudience(remove: ["ann"])
        #expect(try scene.deliver().map(\.plan.kind) == [.end])
        try scene.changeAudience(add: ["ann"])
        #expect(try scene.deliver().isEmpty)
        scene.wait(Reconciler.startFateHorizon + .seconds(600))
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
    }

    @Test func `An activity that ends in between has both cards ended`() throws {
        var scene = try renewing()
        try scene.end()
        scene.wait(.seconds(2))
        #expect(try scene.deliver().map(\.plan.kind) == [.end])
        try scene.report(local: "second", token: "u2")
        #expect(try scene.deliver().map(\.plan.kind) == [.end])
        #expect(try scene.card().localID == Sample.local("second"))
    }

    @Test func `The end of the first card is tried until iOS has ended that card, before any card is started`() throws {
        var scene = try renewing(
            Sample.type { policy in
                policy.renewal = true
                policy.restart = .always
            })
        try scene.report(local: "second", token: "u2")
        let began = scene.now
        for _ in 0..<7 {
            let end = try scene.onlyFlight()
            #expect(end.seats.map(\.plan.part) == [.predecessor])
            let until = scene.now + .seconds(20)
            try scene.settle(end) { _ in .awaited(until: until) }
            try scene.settle(end) { _ in .answered(.success(.refusal(.tooManyRequests))) }
            scene.now = try #require(try scene.card().predecessor.dueAt)
        }
        #expect(scene.now < began + Reconciler.activityLifetime - Reconciler.renewalAge)
        // The person swipes away the second card, so a third one takes its place.
        try scene.report(local: "second", .dismissed)
        let sent = try scene.deliver()
        #expect(sent.map(\.plan.kind) == [.end, .start] && sent.first?.plan.part == .predecessor)
    }

    @Test func `While the end of the first card waits, the second one gets its states`() throws {
        var scene = try renewing()
        try scene.report(local: "second", token: "u2")
        for _ in 0..<4 {
            scene.now = try scene.card().predecessor.dueAt ?? scene.now
            let flight = try scene.onlyFlight()
            #expect(flight.seats.map(\.plan.part) == [.predecessor])
            try scene.settle(flight) { _ in .answered(.success(.refusal(.tooManyRequests))) }
        }
        #expect(try scene.deliver().map(\.plan.part) == [.card])
        try scene.put("a", 2)
        scene.wait(.seconds(2))
        let sent = try scene.deliver()
        #expect(sent.map(\.plan.part) == [.card] && sent.first?.plan.kind == .update)
        scene.now = try #require(try scene.card().predecessor.dueAt)
        #expect(try scene.deliver().map(\.plan.part) == [.predecessor])
    }

    @Test func `While the end of the first card waits, nothing is done for a start that waits as well`() throws {
        var scene = try renewing(
            Sample.type { policy in
                policy.renewal = true
                policy.restart = .always
            })
        try scene.report(local: "second", token: "u2")
        var wait = Duration.zero
        while wait < .seconds(130) {
            scene.now = try scene.card().predecessor.dueAt ?? scene.now
            try scene.settle(try scene.onlyFlight()) { _ in .answered(.success(.refusal(.tooManyRequests))) }
            wait = try #require(try scene.card().predecessor.dueAt) - scene.now
        }
        try scene.report(local: "second", .dismissed)
        try scene.report(local: "third", .requesting)
        #expect(try scene.decision().reason.code == .retryLater)
    }

    @Test(arguments: [true, false])
    func `The end of the first card waits for no clock that was ahead and is set right`(_ isAwaited: Bool) throws {
        var scene = try renewing()
        try scene.report(local: "second", token: "u2")
        let until = scene.now + .seconds(20)
        try scene.settle(try scene.onlyFlight()) { _ in
            isAwaited ? .awaited(until: until) : .answered(.success(.refusal(.tooManyRequests)))
        }
        scene.now = scene.now - .seconds(7200)
        try scene.put("a", 2)
        scene.wait(.seconds(2))
        #expect(try scene.deliver().map(\.plan.part) == [.predecessor, .card])
    }

    @Test func `The end of the first card is given up when neither environment knows its token`() throws {
        var scene = try renewing()
        scene.store.edit { draft in
            for var device in Array(draft.snapshot.devices.values) {
                device.environment = nil
                draft.put(device)
            }
        }
        try scene.report(local: "second", token: "u2")
        var ends = 0
        for _ in 0..<20 {
            let flights = try scene.claim().flights
            for flight in flights {
                ends += flight.seats.count { $0.plan.part == .predecessor }
                try scene.settle(flight) { seat in
                    .answered(.success(seat.plan.part == .predecessor ? .refusal(.badDeviceToken) : .init(status: 200)))
                }
            }
        }
        #expect((1...5).contains(ends))
        #expect(scene.store.rows.updateTokens.values.allSatisfy { $0.predecessor == nil })
    }
}
