import APNSModel
import LiveActivityCore
import TestSupport
import Testing

/// Tests of a card that counts as over but is in an inventory. Its end was lost, or went to a replaced token.
///
/// It is ended by the token that the phone reports.
struct StrayCardTests {
    private func card(_ local: String, _ token: String, _ scene: Scene) -> CardReport {
        var report = CardReport(localID: Sample.local(local), type: scene.type, state: .active)
        report.activity = Sample.activityID("a")
        report.token = Sample.token(token)
        report.startedAt = Sample.now + .seconds(20)
        return report
    }

    /// A card whose end was accepted but never arrived.
    private func ended(
        _ type: ActivityType = Sample.type(), environment: APNSEnvironment? = .production
    ) throws -> Scene {
        var scene = Scene(type)
        try scene.register(environment: environment)
        try scene.put(users: ["ann"])
        scene.wait(.seconds(20))
        try scene.deliver()
        try scene.report(token: "u1")
        scene.wait(.seconds(2))
        try scene.end()
        #expect(try scene.deliver().map(\.plan.kind) == [.end])
        return scene
    }

    /// A card whose end never arrived, after its activity has begun another run.
    private func reopened(
        _ type: ActivityType = Sample.type(), environment: APNSEnvironment? = .production
    ) throws -> Scene {
        var scene = try ended(type, environment: environment)
        scene.wait(.seconds(60))
        try scene.put("a", 2) { $0.reopen = true }
        return scene
    }

    private func tokens(_ seats: [Flight.Seat]) -> [TokenValue?] { seats.map { $0.phone.token(of: $0.plan) } }
    private let first = TokenValue(Sample.token("u1", as: UpdateTokenKind.self))

    @Test func `an inventory that shows it brings the end's repeats forward, and no more of them`() throws {
        var scene = try ended()
        // The inventory may have been sent before the end arrived.
        scene.wait(.seconds(59))
        _ = try scene.inventory(sequence: 1, [card("card", "u1", scene)])
        #expect(try scene.deliver().isEmpty)
        var sequence: Int64 = 1
        for expected in [1, 1, 0, 0] {
            scene.wait(.seconds(61))
            sequence += 1
            _ = try scene.inventory(sequence: sequence, [card("card", "u1", scene)])
            let sent = try scene.deliver()
            #expect(sent.count == expected)
            #expect(sent.allSatisfy { $0.plan.reason.code == .endRepeated && $0.plan.priority == .low })
        }
    }

    @Test(arguments: [PushAnswer(status: 200), .refusal(.expiredToken)])
    func `it is not ended once more in a run that begins while it is`(_ answer: PushAnswer) throws {
        var scene = try reopened()
        try scene.deliver()
        scene.wait(.seconds(2))
        _ = try scene.inventory(sequence: 1, [card("card", "u1", scene)])
        let flight = try scene.onlyFlight()
        #expect(tokens(flight.seats) == [first] && flight.seats.first?.plan.part == .predecessor)
        try scene.end()
        try scene.put("a", 3) { $0.reopen = true }
        let began = scene.now
        try scene.report(local: "third", token: "u3") { $0.startedAt = began }
        try scene.settle(flight) { _ in .answered(.success(answer)) }
        scene.wait(.seconds(120))
        #expect(!tokens(try scene.deliver()).contains(first))
    }

    @Test(arguments: [PushFailure.Code.unknownFate, .notSentInTime, .cannotConnect])
    func `a late doubt about its end leaves the wait for the next one's answer alone`(_ code: PushFailure.Code) throws {
        var (scene, early, _) = try endedTwice()
        scene.wait(.seconds(8))
        try answer(&scene, early, .failure(PushFailure(code, "late")))
        scene.wait(.seconds(2))
        #expect(try scene.deliver().isEmpty)
    }

    @Test(
        arguments: [
            .success(PushAnswer(status: 200)), .success(.refusal(.expiredToken)), .success(.refusal(.badTopic)),
            .failure(PushFailure(.unknownFate, "late")),
        ] as [Result<PushAnswer, PushFailure>])
    func `once it is over, what is still said of its end leaves the wait for an update's answer alone`(
        _ result: Result<PushAnswer, PushFailure>
    ) throws {
        var (scene, early, late) = try endedTwice()
        try answer(&scene, late, .success(.refusal(.expiredToken)))
        try scene.put("a", 9)
        let update = try scene.onlyFlight()
        #expect(update.seats.map(\.plan.part) == [.card] && update.seats.map(\.plan.kind) == [.update])
        let until = scene.now + .seconds(12)
        try scene.settle(update) { _ in .awaited(until: until) }
        scene.wait(.seconds(3))
        try answer(&scene, early, result)
        #expect(try scene.card().awaitedUntil == until)
        #expect(try scene.deliver().isEmpty)
    }

    /// A card whose end was sent twice because the clock was set forward. Both answers are awaited.
    private func endedTwice() throws -> (Scene, early: Flight, late: Flight) {
        var scene = try reopened()
        try scene.deliver()
        scene.wait(.seconds(2))
        _ = try scene.inventory(sequence: 1, [card("card", "u1", scene)])
        let began = scene.now
        try scene.report(local: "second", token: "u2") { $0.startedAt = began }
        let early = try scene.onlyFlight()
        try scene.settle(early) { [until = until(early)] _ in .awaited(until: until) }
        scene.wait(.seconds(300))
        let late = try scene.onlyFlight()
        try scene.settle(late) { [until = until(late)] _ in .awaited(until: until) }
        #expect([early, late].allSatisfy { $0.seats.map(\.plan.part) == [.predecessor] })
        #expect(try scene.card().awaitedUntil == until(late))
        return (scene, early, late)
    }

    private func until(_ flight: Flight) -> UnixTime { flight.record.claimedAt + .seconds(12) }

    private func answer(_ scene: inout Scene, _ flight: Flight, _ result: Result<PushAnswer, PushFailure>) throws {
        let entries = flight.seats.map {
            SettleFlight.Entry(seat: $0, outcome: .answered(result), dice: 0, awaitedUntil: until(flight))
        }
        _ = try scene.run(SettleFlight(flight: flight, entries: entries, app: scene.app, now: scene.now))
    }

    @Test func `beside the card of the next run it is ended, and that one stays`() throws {
        var scene = try reopened()
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
        let began = scene.now
        try scene.report(local: "second", token: "u2") { $0.startedAt = began }
        scene.wait(.seconds(2))
        _ = try scene.inventory(sequence: 1, [card("card", "u1", scene), card2(scene)])
        let sent = try scene.deliver()
        #expect(sent.first?.plan.kind == .end)
        #expect(tokens(sent.filter { $0.plan.kind == .end }) == [first])
        let card = try scene.card()
        #expect(card.state == .live && card.localID == Sample.local("second") && !card.isRenewing)
        try scene.put("a", 3)
        scene.wait(.seconds(2))
        #expect(try scene.deliver().map(\.plan.kind) == [.update])
    }

    private func card2(_ scene: Scene) -> CardReport {
        var report = card("second", "u2", scene)
        report.startedAt = scene.now
        return report
    }

    @Test func `before the token of the next card is known it is ended as well, and again if it is still there`() throws
    {
        var scene = try reopened()
        try scene.deliver()
        _ = try scene.inventory(sequence: 1, [card("card", "u1", scene)])
        #expect(tokens(try scene.deliver()) == [first])
        #expect(try scene.card().state == .unconfirmed)
        _ = try scene.inventory(sequence: 2, [card("card", "u1", scene), card2(scene)])
        let sent = try scene.deliver()
        #expect(sent.first?.plan.kind == .end)
        #expect(tokens(sent.filter { $0.plan.kind == .end }) == [first])
        #expect(try scene.card().localID == Sample.local("second"))
    }

    @Test func `one that a next run has not begun beside is ended before that begins`() throws {
        var scene = try reopened()
        _ = try scene.inventory(sequence: 1, [card("card", "u1", scene)])
        #expect(try scene.deliver().map(\.plan.kind) == [.end])
        // A phone with recent contact may be starting the card itself.
        scene.wait(Reconciler.recentContact)
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
    }

    @Test func `one whose end was accepted is ended again where no next card is to come`() throws {
        var scene = try reopened()
        try scene.put("a", 3, users: ["bob"])
        for sequence in 1...2 as ClosedRange<Int64> {
            _ = try scene.inventory(sequence: sequence, [card("card", "u1", scene)])
            let sent = try scene.deliver()
            #expect(sent.map(\.plan.kind) == [.end] && tokens(sent) == [first])
        }
        _ = try scene.inventory(sequence: 3)
        #expect(try scene.deliver().isEmpty)
    }

    @Test func `whose person has left the phone by then sees it end`() throws {
        var scene = try reopened()
        try scene.deliver()
        try scene.register(user: "bob")
        _ = try scene.inventory(sequence: 1, [card("card", "u1", scene)])
        #expect(tokens(try scene.deliver()) == [first])
    }

    @Test func `of a phone in the other environment it is ended there`() throws {
        var scene = try reopened(environment: nil)
        try scene.deliver()
        _ = try scene.inventory(sequence: 1, [card("card", "u1", scene)])
        var tried: [APNSEnvironment] = []
        for _ in 0..<2 {
            let flight = try scene.onlyFlight()
            tried += flight.seats.map { $0.phone.environment(of: $0.plan.kind) }
            let answer: PushAnswer = tried.count == 1 ? .refusal(.badDeviceToken) : PushAnswer(status: 200)
            try scene.settle(flight) { _ in .answered(.success(answer)) }
        }
        #expect(tried == [.production, .sandbox])
        #expect(try scene.deliver().isEmpty)
    }

    @Test func `a renewed card whose successor was swiped away is ended before another starts`() throws {
        var scene = try Scene.live(
            Sample.type {
                $0.renewal = true; $0.restart = .always
            })
        scene.wait(Reconciler.renewalAge)
        #expect(try scene.deliver().map(\.plan.part) == [.successor])
        try scene.report(local: "second", token: "u2")
        // The outcome of the first card's end is never known.
        let flight = try scene.onlyFlight()
        #expect(flight.seats.map(\.plan.part) == [.predecessor])
        try scene.settle(flight) { _ in .answered(.failure(PushFailure(.unknownFate, "no answer"))) }
        // This is later than any inventory that may be older than the second card's report.
        scene.wait(ReportInventory.travel)
        _ = try scene.inventory(sequence: 1, [card("card", "u1", scene)])
        scene.wait(.seconds(2))
        #expect(try scene.deliver().map(\.plan.kind) == [.end, .start])
    }

    @Test func `a report alone, one without a token, and one with a dead token end nothing`() throws {
        var scene = try reopened()
        try scene.deliver()
        try scene.report(token: "u1") { $0.startedAt = Sample.now + .seconds(20) }
        #expect(try scene.deliver().isEmpty)
        var bare = card("card", "u1", scene)
        bare.token = nil
        _ = try scene.inventory(sequence: 1, [bare])
        #expect(try scene.deliver().isEmpty)
        _ = try scene.inventory(sequence: 2, [card("card", "u1", scene)])
        let now = scene.now
        #expect(try scene.deliver(.refusal(.expiredToken, inactiveSince: now)).count == 1)
        _ = try scene.inventory(sequence: 3, [card("card", "u1", scene)])
        #expect(try scene.deliver().isEmpty)
    }

    /// After the other card is over, only the row shows that a card without a token exists.
    @Test(arguments: [true, false])
    func `of two cards the one that has a token is ended, and no third is started`(isInventory: Bool) throws {
        var scene = Scene(Sample.type { $0.restart = .always })
        try scene.register()
        try scene.put(users: ["ann", "bob"])
        scene.wait(.seconds(20))
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
        var own = card("own", "u1", scene)
        var ours = card("ours", "", scene)
        ours.token = nil
        (own.startedAt, ours.startedAt) = (nil, nil)
        if isInventory {
            _ = try scene.inventory(sequence: 2, [own, ours])
        } else {
            try scene.report(local: "own", token: "u1") { $0.sequence = 2 }
            try scene.report(local: "ours") { $0.sequence = 3 }
        }
        #expect(try scene.card().localID?.text == "ours")
        let end = try scene.deliver()
        #expect(end.map(\.plan.kind) == [.end] && tokens(end) == [first])
        for (join, leave): ([String], [String]) in [([], ["ann"]), (["ann"], [])] {
            try scene.changeAudience(add: join, remove: leave)
            scene.wait(.seconds(2))
            try scene.deliver()
        }
        scene.wait(.seconds(600))
        #expect(try scene.deliver().allSatisfy { $0.plan.kind != .start })
    }

    @Test func `of two cards whose beginnings are known the older is ended, in whatever order they are told of`() throws
    {
        for isReversed in [false, true] {
            var scene = Scene()
            try scene.register()
            try scene.put(users: ["ann"])
            scene.wait(.seconds(20))
            try scene.deliver()
            var (older, newer) = (card("older", "u1", scene), card("newer", "u2", scene))
            older.startedAt = Sample.now + .seconds(10)
            newer.startedAt = Sample.now + .seconds(20)
            _ = try scene.inventory(sequence: 2, isReversed ? [newer, older] : [older, newer])
            #expect(try scene.card().localID?.text == "newer")
            let sent = try scene.deliver()
            #expect(sent.map(\.plan.kind).contains(.end) && tokens(sent.filter { $0.plan.kind == .end }) == [first])
        }
    }
}
