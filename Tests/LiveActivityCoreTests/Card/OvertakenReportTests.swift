import APNSModel
import LiveActivityCore
import TestSupport
import Testing

/// Tests of which of two cards a report is about, and which of two reports of a card is newer.
struct OvertakenReportTests {
    private func card(_ local: String, _ token: String?, _ scene: Scene) -> CardReport {
        var report = CardReport(localID: Sample.local(local), type: scene.type, state: .active)
        report.activity = Sample.activityID("a")
        report.token = token.map { Sample.token($0) }
        return report
    }

    private func value(_ token: String) -> TokenValue { TokenValue(Sample.token(token, as: UpdateTokenKind.self)) }

    private func token(_ scene: Scene) throws -> UpdateTokenRecord? {
        scene.store.rows.updateTokens[.init(try scene.activity().number, 7)]
    }

    private func owner(_ token: String, _ scene: Scene) -> TokenOwnerRecord? {
        scene.store.rows.owners[.init(Sample.bundleID, value(token))]
    }

    @Test func `an inventory that a card's own report has overtaken does not bring its replaced token back`() throws {
        var scene = try Scene.live()
        try scene.report(token: "u3") { $0.sequence = 5 }
        // The inventory was sent earlier, when the card had another token, and was late.
        _ = try scene.inventory(sequence: 4, [card("card", "u2", scene)])
        #expect(try token(scene)?.value == value("u3"))
        #expect(owner("u3", scene)?.deadAt == nil)
        // A later inventory counts.
        _ = try scene.inventory(sequence: 6, [card("card", "u4", scene)])
        #expect(try token(scene)?.value == value("u4"))
    }

    @Test func `an inventory that any report has overtaken does not bring back a card that is over`() throws {
        var scene = try Scene.live(Sample.type { $0.restart = .always })
        try scene.report(token: "u3") { $0.sequence = 5 }
        try scene.end()
        scene.wait(.seconds(2))
        try scene.deliver()
        scene.wait(.seconds(600))
        try scene.put("a", 2) { $0.reopen = true }
        scene.wait(.seconds(60))
        try scene.deliver(.refusal(.expiredToken, inactiveSince: scene.now))
        #expect(try scene.card().state == .absent)
        _ = try scene.inventory(sequence: 4, [card("card", "u2", scene)])
        #expect(try scene.card().state == .absent)
        #expect(owner("u2", scene) == nil)
    }

    @Test func `a token is known since the first report that names it, though the card counts as over`() throws {
        var scene = try Scene.live()
        try scene.put("a", 2, users: ["bob"])
        scene.wait(.seconds(2))
        #expect(try scene.deliver().map(\.plan.kind) == [.end])
        try scene.report("phone", .ended)
        scene.wait(.seconds(60))
        let first = scene.now
        try scene.report(token: "u2")
        #expect(owner("u2", scene)?.firstSeenAt == first)
        #expect(owner("u2", scene)?.releasedAt == first, "no card has it")
        scene.wait(.seconds(60))
        _ = try scene.inventory(sequence: 1, [card("card", "u2", scene)])
        #expect(owner("u2", scene)?.firstSeenAt == first)
        #expect(owner("u2", scene)?.releasedAt == nil, "the card is ended by it")
        #expect(try scene.deliver().map { $0.phone.token(of: $0.plan) } == [value("u2")])
    }

    @Test func `an earlier run's card that the app had started is ended beside this run's`() throws {
        var scene = Scene()
        try scene.register()
        try scene.put(users: ["ann"])
        scene.wait(.seconds(20))
        // The server's start is on its way beside a card of the app's own that nobody has reported.
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
        var own = card("own", "u1", scene)
        own.startedAt = scene.now
        scene.wait(.seconds(60))
        try scene.end()
        try scene.put("a", 2) { $0.reopen = true }
        scene.wait(.seconds(60))
        _ = try scene.inventory(sequence: 1, [own, card("ours", "u2", scene)])
        let sent = try scene.deliver()
        #expect(sent.map(\.plan.kind) == [.end, .update])
        #expect(sent.map { $0.phone.token(of: $0.plan) } == [value("u1"), value("u2")])
        #expect(try scene.card().localID == Sample.local("ours"))
    }

    @Test func `of two cards in one inventory the one stays that the server knows`() throws {
        var scene = try Scene.live()
        _ = try scene.inventory(sequence: 1, [card("other", "u2", scene), card("card", "u1", scene)])
        #expect(try scene.card().localID == Sample.local("card"))
        let sent = try scene.deliver()
        #expect(sent.map(\.plan.kind) == [.end])
        #expect(sent.map { $0.phone.token(of: $0.plan) } == [value("u2")])
    }

    @Test func `a dismissal from before a start is not about the start's card`() throws {
        var scene = Scene(Sample.type { $0.restart = .onAlert })
        try scene.register()
        try scene.put(users: ["ann"])
        _ = try scene.inventory(sequence: 4)
        scene.wait(.seconds(80))
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
        try scene.report(local: "earlier", .dismissed) { $0.sequence = 3 }
        #expect(try scene.card().hasOpenStart)
        let earlier = scene.now - .seconds(60)
        try scene.report(local: "own", .dismissed) {
            $0.sequence = 5
            $0.startedAt = earlier
        }
        #expect(try scene.card().hasOpenStart)
        try scene.report(local: "card", .dismissed) { $0.sequence = 6 }
        #expect(try scene.card().state == .dismissed)
    }

    @Test func `a late answer leaves the wait for a newer push's answer alone, however the clock was set`() throws {
        var scene = try Scene.live()
        scene.wait(.seconds(4800))
        try scene.put("a", 2)
        let first = try scene.onlyFlight()
        let firstUntil = scene.now + .seconds(20)
        try scene.settle(first) { _ in .awaited(until: firstUntil) }
        // The clock was ahead, and is set back by more than a timestamp may be ahead.
        scene.now = scene.now - .seconds(4800)
        try scene.put("a", 3)
        let second = try scene.onlyFlight()
        let until = scene.now + .seconds(20)
        try scene.settle(second) { _ in .awaited(until: until) }
        scene.wait(.seconds(10))
        let entries = first.seats.map {
            SettleFlight.Entry(
                seat: $0, outcome: .answered(.failure(PushFailure(.unknownFate, "no answer in time"))), dice: 0.5,
                awaitedUntil: firstUntil)
        }
        _ = try scene.run(SettleFlight(flight: first, entries: entries, app: scene.app, now: scene.now))
        #expect(try scene.card().awaitedUntil == until)
        #expect(try scene.deliver().isEmpty)
    }

    // MARK: - Two cards

    @Test func `a card that an inventory lists as over makes room for the one that runs`() throws {
        for state in [CardReport.State.ended, .gone] {
            var scene = try Scene.live()
            var over = card("card", nil, scene)
            over.state = state
            _ = try scene.inventory(sequence: 1, [card("other", "u2", scene), over])
            #expect(try scene.card().localID == Sample.local("other"))
            #expect(try scene.deliver().map(\.plan.kind) == [.update])
        }
    }

    @Test func `an older card that an inventory lists alone is the one that is there`() throws {
        var scene = try Scene.live()
        var older = card("other", "u2", scene)
        older.startedAt = Sample.now - .seconds(60)
        _ = try scene.inventory(sequence: 1, [older])
        #expect(try scene.card().localID == Sample.local("other"))
        #expect(try scene.deliver().map(\.plan.kind) == [.update])
    }

    @Test func `a card under another name, with the same token, is not ended`() throws {
        var scene = try Scene.live()
        try scene.report(local: "renamed", token: "u1")
        #expect(try scene.card().localID == Sample.local("renamed"))
        #expect(try scene.deliver().allSatisfy { $0.plan.kind == .update })
        #expect(owner("u1", scene)?.releasedAt == nil)
    }

    @Test func `of three cards in one inventory the known one stays as well`() throws {
        var scene = try Scene.live()
        _ = try scene.inventory(
            sequence: 1, [card("card", "u1", scene), card("second", "u2", scene), card("third", "u3", scene)])
        #expect(try scene.card().localID == Sample.local("card"))
        #expect(try scene.deliver().map { $0.phone.token(of: $0.plan) } == [value("u2")])
    }

    @Test func `a known card that nothing can be sent to gives way to one with a token`() throws {
        var scene = try Scene.live()
        scene.wait(.seconds(60))
        try scene.put("a", 2)
        try scene.deliver(.refusal(.badDeviceToken))
        _ = try scene.inventory(sequence: 1, [card("card", "u1", scene), card("other", "u2", scene)])
        #expect(try scene.card().localID == Sample.local("other"))
        #expect(try scene.deliver().map(\.plan.kind) == [.update])
    }

    @Test func `a late first report of another card changes nothing`() throws {
        var scene = try Scene.live()
        try scene.report(token: "u1") { $0.sequence = 5 }
        try scene.report(local: "other", token: "u2") { $0.sequence = 3 }
        #expect(try scene.card().localID == Sample.local("card"))
        #expect(try scene.deliver().isEmpty)
    }

    @Test func `a phone that is handed over counts its reports from the beginning`() throws {
        var scene = try Scene.live()
        try scene.report(token: "u1") { $0.sequence = 900 }
        try scene.register(user: "bob")
        try scene.put("a", 2, users: ["bob"])
        _ = try scene.inventory(sequence: 1, [card("card", "u7", scene)])
        #expect(try token(scene)?.value == value("u7"))
        #expect(try scene.deliver().contains { $0.phone.token(of: $0.plan) == value("u7") })
    }

    @Test func `the end of an earlier run's card does not wait for the new one's token`() throws {
        var scene = try Scene.live()
        try scene.end()
        let end = try scene.onlyFlight()
        try scene.put("a", 2) { $0.reopen = true }
        // The app shows the new state in a card of its own, before any push was sent.
        var own = card("own", nil, scene)
        own.startedAt = scene.now + .seconds(2)
        own.contentState = Sample.state(2)
        scene.wait(.seconds(3))
        try scene.report(local: "own") {
            $0.startedAt = own.startedAt
            $0.contentState = own.contentState
        }
        try scene.settle(end) { _ in .answered(.success(PushAnswer(status: 429))) }
        scene.wait(.seconds(120))
        #expect(try scene.deliver().map { $0.phone.token(of: $0.plan) } == [value("u1")])
    }

    @Test func `a process that is lost takes no alert from a phone that stands in an earlier run`() throws {
        var scene = Scene()
        try scene.register()
        try scene.register("second", startToken: "p2s-2", key: 9)
        try scene.register("third", startToken: "p2s-3", key: 5)
        try scene.put(users: ["ann"]) { $0.devices = .all }
        scene.wait(.seconds(20))
        #expect(try scene.deliver().count == 3)
        try scene.report(token: "u1")
        try scene.report("second", token: "u2")
        try scene.report("third", token: "u3")
        try scene.end()
        scene.wait(.seconds(100))
        #expect(try scene.deliver().count == 3)
        scene.wait(.seconds(5))
        try scene.put("a", 2) {
            $0.reopen = true
            $0.devices = .all
            $0.alert = SetDesiredState.AlertWish(Sample.alert)
        }
        // The first phone has had contact and waits for its app. The starts of its neighbors are on their way.
        try scene.register()
        let before = try scene.card()
        var seats: [Flight.Seat] = []
        for _ in 0..<5 where seats.isEmpty { seats = try scene.claim().flights.flatMap(\.seats) }
        #expect(seats.map(\.phone.device.key) == [5, 9])
        scene.node += 1
        #expect(try scene.claim().rescued == 1)
        #expect(try scene.card().alerts.given == before.alerts.given)
    }
}
