import JSONText
import LiveActivityAPI
import LiveActivityRegistration
import Testing

/// The app's own changes, beside a server that makes changes too.
struct LocalTests {
    private func started(_ bench: PhoneBench) -> [CardOrder] {
        bench.cardActions.compactMap { if case .start(_, let order) = $0 { order } else { nil } }
    }

    @Test func `N7: a start is announced before the card is made`() {
        var bench = PhoneBench.ready()
        bench.settle()
        bench.run { _ = $0.start(PhoneBench.order(), $1) }
        #expect(PhoneBench.body(bench.sent.last)["state"]?.string == "requesting")
        #expect(PhoneBench.body(bench.sent.last)["activity"]?.string == "a")
        #expect(started(bench).isEmpty)
        bench.answer(200, PhoneBench.wish(step: 1, revision: 1, starts: true))
        #expect(started(bench).count == 1)
    }

    @Test func `a scheduled card begins at its date, and one whose date has passed now`() {
        func startedAt(_ at: Int) -> String? {
            var bench = PhoneBench.ready()
            bench.settle()
            var order = PhoneBench.order()
            order.schedule = Instant(seconds: Double(at)).map { .init(at: $0, alert: CardAlert(title: "t", body: "b")) }
            bench.run { _ = $0.start(order, $1) }
            bench.answer(200, PhoneBench.wish(step: 1, revision: 1, starts: true))
            bench.run { $0.started(1, PhoneBench.card("c"), $1) }
            return PhoneBench.body(bench.sent.last)["startedAt"]?.string
        }
        #expect(startedAt(4_000_000_000)?.hasPrefix("2096-10-02") == true)
        let past = startedAt(1_000)
        #expect(past != nil && past?.hasPrefix("1970") == false)
    }

    @Test func `N7: where the server's start is under way the app makes none`() {
        var bench = PhoneBench.ready()
        bench.settle()
        bench.run { _ = $0.start(PhoneBench.order(), $1) }
        bench.answer(200, PhoneBench.wish(step: 1, revision: 1))
        #expect(started(bench).isEmpty)
        #expect(bench.notes.contains { $0.code == .activityLeftToServer })
        bench.run { $0.see(PhoneBench.card("pushed", token: 1), $1) }
        let again = bench.run { $0.start(PhoneBench.order(), $1) }
        #expect(again == nil, "the activity is shown")
    }

    @Test func `F7: without the server the app goes on by itself`() {
        var bench = PhoneBench.ready()
        bench.loseAnswer()
        bench.run { _ = $0.start(PhoneBench.order(), $1) }
        bench.loseAnswer()
        bench.wait(3_000)
        #expect(started(bench).count == 1)
        #expect(bench.notes.contains { $0.code == .activityStartedWithoutServer })
        bench.run { $0.started(1, PhoneBench.card("c"), $1) }
        #expect(bench.run { $0.update("c", content: ["step": 2], $1) })
        #expect(bench.cardActions.contains { if case .update(_, "c", _, _, nil) = $0 { true } else { false } })
        #expect(bench.run { $0.end("c", content: nil, .systemDefault, $1) })
        #expect(bench.ended == ["c"])
    }

    @Test func `a local change is reported with what it was based on, and the next revision wins`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        bench.settle(PhoneBench.wish(step: 1, revision: 3), date: 1_795_271_519)
        #expect(bench.run { $0.update("c", content: ["step": 50], $1) })
        let report = PhoneBench.body(bench.sent.last)
        #expect(report["basedOn"]?.int == 3 && report["contentState"]?.object == ["step": 50])
        #expect(report["lastTimestamp"]?.string == "2026-11-21T14:32:00Z", "by the server's clock, a second ahead")
        // The update that iOS reports back is the app's own.
        bench.run { $0.see(PhoneBench.card("c", token: 1, step: 50), $1) }
        bench.settle(PhoneBench.wish(step: 1, revision: 3))
        #expect(bench.cardActions.count == 1, "up to what it was based on nothing is applied")
        bench.run { $0.wake($1) }
        bench.settle(PhoneBench.wish(step: 2, revision: 4))
        guard case .update(_, "c", let content, _, _)? = bench.cardActions.last else {
            return #expect(Bool(false), "\(bench.cardActions)")
        }
        #expect(content["step"]?.int == 2)
    }

    @Test func `after a minute the server's state returns, unless the app has authority`() {
        for isAppAuthority in [false, true] {
            var bench = PhoneBench.ready(.init(isAppAuthority: isAppAuthority), cards: [PhoneBench.card("c")])
            bench.settle(PhoneBench.wish(step: 1, revision: 3))
            _ = bench.run { $0.update("c", content: ["step": 50], $1) }
            bench.settle(PhoneBench.wish(step: 1, revision: 3))
            bench.wait(61_000)
            bench.run { $0.wake($1) }
            bench.settle(PhoneBench.wish(step: 1, revision: 3))
            #expect(bench.cardActions.count == (isAppAuthority ? 1 : 2))
        }
    }

    @Test func `N8: a card that the server would have is made by an app on the screen, once`() {
        var bench = PhoneBench.ready()
        bench.settle(PhoneBench.wish(step: 1, revision: 1, starts: true))
        #expect(started(bench).isEmpty, "not in the background: iOS would refuse it")
        bench.run { $0.setForeground(true, $1) }
        bench.settle(PhoneBench.wish(step: 1, revision: 1, starts: true))
        #expect(started(bench).count == 1)
        #expect(bench.sent.contains { PhoneBench.body($0)["state"]?.string == "requesting" })
        bench.run { $0.notStarted(1, "targetMaximumExceeded", $1) }
        bench.run { $0.wake($1) }
        bench.settle(PhoneBench.wish(step: 1, revision: 1, starts: true))
        #expect(started(bench).count == 1, "what iOS refused is not tried again and again")
    }

    @Test func `a card that could not be made is told to the server that waits for it`() {
        var bench = PhoneBench.ready()
        bench.settle()
        #expect(bench.run { $0.start(PhoneBench.order(), $1) } == 1)
        #expect(PhoneBench.body(bench.sent.last)["state"] == "requesting")
        bench.answer()
        bench.run { $0.notStarted(1, "targetMaximumExceeded", $1) }
        let word = bench.sent.last
        #expect(word?.path.hasSuffix("/instances/starting-1") == true)
        #expect(PhoneBench.body(word)["state"] == "notStarted" && PhoneBench.body(word)["activity"] == "a")
        bench.loseAnswer()
        #expect(!bench.machine.isSettled)
        bench.wait(10_000)
        #expect(PhoneBench.body(bench.sent.last)["state"] == "notStarted", "it is said until it is taken")
        bench.settle()
        #expect(bench.machine.isSettled)
    }

    @Test func `who left says nothing of a card that could not be made`() {
        var bench = PhoneBench.ready()
        bench.settle()
        _ = bench.run { $0.start(PhoneBench.order(), $1) }
        bench.answer()
        bench.run { $0.signOut($1) }
        bench.run { $0.notStarted(1, "late", $1) }
        bench.settle()
        #expect(!bench.sent.contains { PhoneBench.body($0)["state"] == "notStarted" })
    }

    @Test(arguments: [0, 3_600_000])
    func `what was ordered before the phone locked is made when the app is back, within an hour`(late: Int) {
        var bench = PhoneBench.ready()
        bench.run { $0.setForeground(true, $1) }
        bench.settle()
        let order = bench.run { $0.start(PhoneBench.order(), $1) }
        bench.run { $0.setForeground(false, $1) }
        bench.answer()
        bench.run { $0.notStarted(order ?? 0, "visibility", isHidden: true, $1) }
        #expect(bench.notes.contains { $0.code == .activityPostponed })
        bench.settle()
        #expect(bench.sent.contains { PhoneBench.body($0)["state"] == "notStarted" })
        #expect(bench.machine.isSettled && bench.machine.nextWake == nil, "nothing is to be done until then")
        let starts = started(bench).count
        bench.wait(late)
        bench.run { $0.setForeground(true, $1) }
        bench.settle()
        #expect(started(bench).count == starts + (late == 0 ? 1 : 0))
        #expect(late == 0 || bench.notes.contains { $0.code == .activityNotStarted && $0.detail == "too-late" })
    }

    @Test func `F7: an answer that comes after the fallback starts no second card`() {
        var bench = PhoneBench.ready()
        bench.settle()
        bench.run { _ = $0.start(PhoneBench.order(), $1) }
        bench.wait(3_000)
        #expect(started(bench).count == 1)
        bench.answer(200, PhoneBench.wish(step: 1, revision: 1, starts: true))
        #expect(started(bench).count == 1)
    }

    @Test func `an answer that found the app asleep is too old to start by: the server is told again`() {
        var bench = PhoneBench.ready()
        bench.settle()
        bench.run { _ = $0.start(PhoneBench.order(), $1) }
        bench.now.steady += 90_000
        bench.answer(200, PhoneBench.wish(step: 1, revision: 1, starts: true))
        #expect(started(bench).isEmpty)
        #expect(PhoneBench.body(bench.sent.last)["state"]?.string == "requesting")
        bench.answer(200, PhoneBench.wish(step: 1, revision: 1, starts: true))
        #expect(started(bench).count == 1)
    }

    @Test func `what the server wanted of the person before is started for nobody`() {
        var bench = PhoneBench.ready()
        bench.settle()
        bench.run { $0.setForeground(true, $1) }
        bench.run { $0.signIn("bob", $1) }
        bench.answer(200, PhoneBench.wish(step: 1, revision: 1, starts: true))
        bench.settle()
        #expect(started(bench).isEmpty)
        #expect(bench.sent.allSatisfy { PhoneBench.body($0)["state"]?.string != "requesting" })
    }

    @Test func `N8: a card that does not say what it shows is not doubled, and the server says what it is`() {
        var bench = PhoneBench.ready()
        bench.settle()
        bench.run { $0.setForeground(true, $1) }
        var order = PhoneBench.order()
        order.activity = nil
        let number = bench.run { [order] in $0.start(order, $1) }
        bench.settle(PhoneBench.wish(step: 1, revision: 1, starts: true))
        #expect(started(bench).count == 1, "the app's own, and no second one beside it")
        bench.run { $0.started(number ?? 0, PhoneBench.card("mine", nil), $1) }
        bench.settle(PhoneBench.wish(step: 1, revision: 1, starts: true))
        #expect(started(bench).count == 1)
        bench.settle(PhoneBench.wish(step: 2, revision: 2, localID: "mine"))
        bench.run { $0.wake($1) }
        bench.settle(PhoneBench.wish(step: 2, revision: 2, localID: "mine"))
        #expect(bench.updates == [["step": 2]], "known by its local id")
        bench.settle(PhoneBench.wish("b", step: 1, revision: 1, starts: true))
        bench.run { $0.wake($1) }
        bench.settle(PhoneBench.wish("b", step: 1, revision: 1, starts: true))
        #expect(started(bench).count == 2, "another activity's card may be made now")
    }

    @Test func `a wish whose announcement is lost is left to the server's push`() {
        var bench = PhoneBench.ready()
        bench.run { $0.setForeground(true, $1) }
        while !bench.machine.isSettled, PhoneBench.body(bench.sent.last)["state"] == nil {
            bench.answer(200, PhoneBench.wish(step: 1, revision: 1, starts: true))
        }
        for _ in 0..<8 {
            bench.loseAnswer()
            bench.wait(30_000)
        }
        #expect(started(bench).isEmpty)
    }

    @Test func `timestamps grow with every local change, whatever the phone's clock says`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        bench.now.wall += 3_600_000
        bench.settle(date: 1_795_271_520)
        var last = 0
        for step in 2..<6 {
            _ = bench.run { $0.update("c", content: ["step": .number(JSONNumber(step))], $1) }
            guard case .update(_, _, _, _, let timestamp?)? = bench.cardActions.last else { continue }
            #expect(timestamp > last && timestamp < 1_795_271_530)
            last = timestamp
        }
        #expect(last > 0)
    }
}
