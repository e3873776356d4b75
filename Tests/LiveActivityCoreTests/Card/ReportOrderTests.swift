import APNSModel
import LiveActivityCore
import TestSupport
import Testing

/// Tests of reports and inventories that arrive late or in another order than the phone sent them.
struct ReportOrderTests {
    private func card(_ scene: Scene, token: String? = "u1") -> CardReport {
        var report = CardReport(localID: Sample.local("card"), type: scene.type, state: .active)
        report.activity = Sample.activityID("a")
        report.token = token.map { Sample.token($0) }
        return report
    }

    @Test func `an inventory from before a card was reported does not bury it`() throws {
        var scene = try Scene.live(Sample.type { $0.restart = .always })
        // The inventory is from before the card. Its first copy was lost.
        _ = try scene.inventory(sequence: 1)
        #expect(try scene.card().state == .live)
        #expect(try scene.deliver().isEmpty)
        scene.wait(ReportInventory.travel)
        _ = try scene.inventory(sequence: 2)
        #expect(try scene.card().state == .gone)
    }

    @Test func `numbered reports and inventories are in order, whatever time has passed`() throws {
        var scene = try Scene.live()
        try scene.report(token: "u1") { $0.sequence = 5 }
        scene.wait(.seconds(3600))
        _ = try scene.inventory(sequence: 4)
        #expect(try scene.card().state == .live)
        _ = try scene.inventory(sequence: 6)
        #expect(try scene.card().state == .gone)
    }

    @Test func `an inventory from before a card was there does not confirm that a dead token was the card's end`()
        throws
    {
        for sequence: Int64? in [5, nil] {
            var scene = try Scene.live(Sample.type { $0.restart = .always })
            try scene.report(token: "u1") { $0.sequence = sequence }
            try scene.put("a", 2)
            scene.wait(.seconds(2))
            #expect(try scene.deliver(.refusal(.expiredToken)).map(\.plan.kind) == [.update])
            #expect(try scene.card().goneByTokenAlone != nil)
            scene.wait(.seconds(60))
            _ = try scene.inventory(sequence: 4)
            #expect(try scene.deliver().isEmpty)
            scene.wait(ReportInventory.travel)
            _ = try scene.inventory(sequence: 6)
            #expect(try scene.deliver().map(\.plan.kind) == [.start])
        }
    }

    @Test func `a late report does not replace the token that a newer one named`() throws {
        var scene = try Scene.live()
        try scene.report(token: "u3") { $0.sequence = 5 }
        try scene.report(token: "u2") { $0.sequence = 4 }
        let number = try scene.activity().number
        let token = scene.store.rows.updateTokens[.init(number, 7)]
        #expect(token?.value == TokenValue(Sample.token("u3", as: UpdateTokenKind.self)) && token?.deadAt == nil)
    }

    @Test func `a late report without a number brings no token back that another has replaced`() throws {
        var scene = try Scene.live()
        // The person signs out, and is back before the end has arrived.
        _ = try scene.run(SignOutDevice(app: scene.app.bundleID, id: Sample.device("phone"), now: scene.now))
        scene.wait(.seconds(2))
        #expect(try scene.deliver().map(\.plan.kind) == [.end])
        try scene.register()
        _ = try scene.inventory(sequence: 1, [card(scene, token: "u2")])
        #expect(try scene.card().state == .live)
        scene.wait(.seconds(100))
        try scene.report(token: "u1")
        let token = scene.store.rows.updateTokens[.init(try scene.activity().number, 7)]
        #expect(token?.value == TokenValue(Sample.token("u2", as: UpdateTokenKind.self)) && token?.deadAt == nil)
    }

    @Test func `a token that a report had named before the card was found alive is taken, whatever the clock does`()
        throws
    {
        var scene = try Scene.live()
        scene.now = scene.now - .seconds(2400)
        try scene.end()
        #expect(try scene.deliver().map(\.plan.kind) == [.end])
        // The end does not reach the card, and the activity begins its next run.
        try scene.put("a", 2) { $0.reopen = true }
        try scene.report(token: "u2")
        #expect(try scene.card().state == .ending)
        _ = try scene.inventory(sequence: 1, [card(scene, token: "u2")])
        let token = scene.store.rows.updateTokens[.init(try scene.activity().number, 7)]
        #expect(token?.value == TokenValue(Sample.token("u2", as: UpdateTokenKind.self)))
    }

    @Test func `a report that an inventory has overtaken makes no card, and one that says it is over does`() throws {
        var scene = Scene()
        try scene.register()
        try scene.put(users: ["ann"])
        _ = try scene.inventory(sequence: 7)
        try scene.report(token: "u1") { $0.sequence = 6 }
        #expect(try scene.card().state == .absent)
        try scene.report("phone", .dismissed) { $0.sequence = 5 }
        #expect(try scene.card().state == .dismissed)
    }

    @Test func `a card that is over is not brought back by a report that another has overtaken`() throws {
        var scene = try Scene.live()
        try scene.put("a", 2, users: ["bob"])
        scene.wait(.seconds(2))
        try scene.deliver(.refusal(.expiredToken, inactiveSince: scene.now))
        try scene.report(local: "other", .gone) { $0.sequence = 9 }
        try scene.put("a", 3, users: ["ann"])
        try scene.report(token: "u2") { $0.sequence = 8 }
        #expect(try scene.card().state == .absent)
        try scene.report(token: "u2") { $0.sequence = 10 }
        #expect(try scene.card().state == .live)
    }

    @Test func `a card whose end got lost is the person's card when they are taken in again`() throws {
        var scene = try Scene.live()
        try scene.put("a", 2, users: ["bob"])
        scene.wait(.seconds(2))
        #expect(try scene.deliver().map(\.plan.kind) == [.end])
        try scene.put("a", 3, users: ["ann"])
        scene.wait(.seconds(20))
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
        // The start is lost as well. While it may still come, the old card is ended beside it.
        scene.wait(.seconds(3600))
        _ = try scene.inventory(sequence: 1, [card(scene)])
        let card = try scene.card()
        #expect(card.state == .live && card.localID == Sample.local("card"))
        #expect(try scene.deliver().map(\.plan.kind) == [.update])
    }

    @Test func `a card that one inventory lacked and the next one shows goes on`() throws {
        var scene = try Scene.live()
        scene.wait(.seconds(3600))
        _ = try scene.inventory(sequence: 1)
        #expect(try scene.card().state == .gone)
        scene.wait(.seconds(3600))
        _ = try scene.inventory(sequence: 2, [card(scene)])
        #expect(try scene.card().state == .live)
        #expect(try scene.deliver().map(\.plan.kind) == [.update])
    }

    @Test func `a card that its app called gone goes on when the app's next word shows it, in any run`() throws {
        for runs in 1...2 {
            var scene = try Scene.live()
            for run in 1..<runs {
                try scene.end("a")
                try scene.report(local: "card", .ended)
                try scene.put("a", 10 * run, users: ["ann"]) { $0.reopen = true }
                try scene.report(local: "next", token: "n1")
            }
            let local = runs == 1 ? "card" : "next"
            try scene.report(local: local, .gone) { $0.sequence = 3 }
            #expect(try scene.card().state == .gone)
            try scene.report(local: local, token: "u9") { $0.sequence = 2 }
            #expect(try scene.card().state == .gone, "an older word changes nothing")
            try scene.report(local: local, token: "u9") { $0.sequence = 4 }
            #expect(try scene.card().state == .live)
        }
    }

    @Test func `after the last repeat of an end another follows when an inventory still shows the card`() throws {
        var scene = try Scene.live()
        try scene.end()
        scene.wait(.seconds(2))
        try scene.deliver()
        for pause in Reconciler.endRepeats {
            scene.wait(pause)
            #expect(try scene.deliver().count == 1)
        }
        scene.wait(.seconds(14 * 60))
        _ = try scene.inventory(sequence: 1, [card(scene)])
        #expect(try scene.deliver().isEmpty)
        scene.wait(.seconds(60))
        for (sequence, expected) in [(2, 1), (3, 0)] {
            _ = try scene.inventory(sequence: Int64(sequence), [card(scene)])
            #expect(try scene.deliver().map(\.plan.kind) == Array(repeating: .end, count: expected))
        }
    }

    @Test func `a stray card's token that APNs refuses is done with, however new it is`() throws {
        var scene = try Scene.live()
        try scene.end()
        scene.wait(.seconds(2))
        try scene.deliver()
        let before = scene.now
        scene.wait(.seconds(300))
        try scene.put("a", 2) { $0.reopen = true }
        try scene.deliver()
        var second = card(scene, token: "u2")
        second.localID = Sample.local("second")
        second.startedAt = scene.now
        scene.wait(.seconds(2))
        // iOS had given the first card a token that the server has not seen before.
        _ = try scene.inventory(sequence: 1, [card(scene, token: "u9"), second])
        let flight = try scene.onlyFlight()
        #expect(flight.seats.first?.plan.part == .predecessor)
        try scene.settle(flight) { _ in .answered(.success(.refusal(.expiredToken, inactiveSince: before))) }
        scene.wait(.seconds(120))
        #expect(try scene.deliver().allSatisfy { $0.plan.part != .predecessor })
    }
}
