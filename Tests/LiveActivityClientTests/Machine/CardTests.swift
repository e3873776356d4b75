import JSONText
import LiveActivityAPI
import LiveActivityRegistration
import Testing

struct CardTests {
    @Test func `W1: each new update token replaces the one before, and a running card is adopted at launch`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        bench.settle()
        bench.run { $0.see(PhoneBench.card("c", token: 2), $1) }
        #expect(PhoneBench.body(bench.sent.last)["token"]?.string == PhoneBench.token(2).text)
        // A third token arrives while the second report is under way. The newest token is sent next.
        bench.run { $0.see(PhoneBench.card("c", token: 3), $1) }
        bench.settle()
        #expect(PhoneBench.body(bench.sent.last)["token"]?.string == PhoneBench.token(3).text)
        bench.kill()
        bench.launch(cards: [PhoneBench.card("c", token: 3)])
        bench.settle()
        let inventory = bench.sent.first { $0.path.hasSuffix("/instances") }
        // Reports of single cards share the inventories' sequence: one inventory, then the second and the third token.
        #expect(PhoneBench.body(inventory)["sequence"]?.int == 4)
        #expect("\(PhoneBench.body(inventory))".contains(PhoneBench.token(3).text))
        #expect(bench.notes.contains { $0.detail?.hasPrefix("update 00000000") == true })
        #expect((1...3).allSatisfy { !"\(bench.notes)".contains(PhoneBench.token($0).text) }, "masked")
    }

    @Test func `a card that ended is never registered again`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        bench.settle()
        var over = PhoneBench.card("c", token: 1)
        over.state = .ended
        bench.run { $0.see(over, $1) }
        bench.settle()
        let calls = bench.sent.count
        bench.run { $0.see(PhoneBench.card("c", token: 2), $1) }
        #expect(bench.sent.count == calls)
        #expect(bench.ended == ["c"], "it shows although it is over: it is ended again")
        bench.kill()
        bench.launch(cards: [over])
        #expect(bench.settle().allSatisfy { !$0.hasSuffix("/c") })
    }

    @Test func `a swipe that was seen is a dismissal`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        bench.settle()
        bench.run { $0.see(over(.dismissed), $1) }
        #expect(PhoneBench.body(bench.sent.last)["state"]?.string == "dismissed")
    }

    @Test func `what nobody saw go, or a switch took, or eight hours, is gone`() {
        var killed = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        killed.settle()
        killed.kill()
        killed.launch(cards: [])
        killed.listNothing()
        #expect(Self.saysGone(&killed))

        var switched = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        switched.settle()
        switched.run { $0.see(PhoneBench.facts { $0.frequentPushesEnabled = false }, $1) }
        switched.run { $0.see(over(.dismissed), $1) }
        #expect(Self.saysGone(&switched))

        var old = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        old.settle()
        old.wait(8 * 3_600_000)
        old.run { $0.see(over(.dismissed), $1) }
        #expect(Self.saysGone(&old))

        // By the server's clock the report is a minute old, whatever the phone's clock says after the next launch.
        var reset = PhoneBench.ready()
        reset.settle(date: 1_795_271_520)
        reset.run { $0.see(PhoneBench.card("c", token: 1), $1) }
        reset.settle(date: 1_795_271_520)
        reset.kill()
        reset.wait(60_000)
        reset.now.wall += 86_400_000
        reset.launch(cards: [PhoneBench.card("c", token: 1)])
        reset.settle(date: 1_795_271_580)
        reset.run { $0.see(over(.dismissed), $1) }
        #expect(!Self.saysGone(&reset))

        var wanted = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        wanted.settle(PhoneBench.wish(step: 1, revision: 2))
        wanted.run { $0.setForeground(true, $1) }
        wanted.settle(PhoneBench.wish(step: 2, revision: 3, phase: "ended"))
        wanted.run { $0.see(over(.dismissed), $1) }
        #expect(wanted.sent.allSatisfy { PhoneBench.body($0)["state"]?.string != "dismissed" })
    }

    @Test func `a card that one list lacks lives, and iOS is asked again`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        bench.settle()
        bench.kill()
        bench.launch(cards: [])
        #expect(!Self.saysGone(&bench) && !bench.machine.isSettled, "what it has to say is not all known")
        bench.wait(bench.machine.limits.absence - 1)
        #expect(bench.looks == 0)
        bench.wait(1)
        #expect(bench.looks == 1)
        bench.run { $0.see(all: [PhoneBench.card("c", token: 1)], $1) }
        #expect(!Self.saysGone(&bench) && bench.machine.isSettled)
        #expect(bench.ended.isEmpty)
    }

    @Test func `a card that was told to be gone and is listed again lives, and the server hears of it first`() {
        for hearsOfIt in [true, false] {
            var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
            bench.settle()
            bench.kill()
            bench.launch(cards: [])
            bench.listNothing()
            if hearsOfIt {
                #expect(Self.saysGone(&bench))
                bench.kill()
                bench.launch(cards: [])
            }
            let said = bench.sent.count
            bench.run { $0.see(all: [PhoneBench.card("c", token: 1)], $1) }
            bench.settle()
            #expect(bench.ended.isEmpty)
            let words = bench.sent.dropFirst(said).map { ($0.path, PhoneBench.body($0)) }
            let inventory = words.first { $0.0.hasSuffix("/instances") }?.1["instances"]?.array?.first?.object
            #expect(inventory?["state"] == "active" && inventory?["token"] != nil, "\(words)")
            #expect(hearsOfIt ? words.allSatisfy { $0.1["state"] != "gone" } : true)
            #expect(bench.machine.isSettled)
        }
    }

    @Test func `of the cards that are gone the last sixteen are remembered`() {
        let cards = (0..<40).map { PhoneBench.card("c\($0)", "a\($0)", token: $0 + 1) }
        var bench = PhoneBench.ready(cards: cards)
        bench.settle()
        bench.listNothing()
        for _ in 0..<3 { bench.settle() }
        #expect(bench.machine.isSettled)
        bench.kill()
        bench.launch(cards: cards)
        #expect(bench.ended.count == 24 && bench.ended.allSatisfy { (Int($0.dropFirst()) ?? 99) < 24 })
    }

    @Test func `what a process never saw running it did not see swiped away`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        bench.settle()
        bench.kill()
        bench.launch(cards: [over(.dismissed)])
        #expect(Self.saysGone(&bench))
    }

    @Test func `a card that leaves after its activity is over was not swiped away`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        bench.writes = nil
        bench.settle(PhoneBench.wish(step: 2, revision: 2))
        bench.run { $0.wake($1) }
        // The end waits for the update that is under way. The server's push comes first.
        bench.settle(PhoneBench.wish(step: 3, revision: 3, phase: "ended"))
        #expect(bench.ended.isEmpty)
        bench.run { $0.see(over(.dismissed), $1) }
        #expect(Self.saysGone(&bench))
    }

    private static func saysGone(_ bench: inout PhoneBench) -> Bool {
        bench.settle()
        return bench.sent.contains { $0.path.hasSuffix("/c") && PhoneBench.body($0)["state"]?.string == "gone" }
    }

    private func over(_ state: InstanceRequest.State) -> SeenCard {
        var card = PhoneBench.card("c")
        card.state = state
        return card
    }

    @Test func `an inventory waits until the cards are known, and its sequence grows across launches`() {
        var bench = PhoneBench()
        bench.run { machine, now in
            machine.signIn("ann", now)
            machine.see(PhoneBench.facts(), now)
        }
        #expect(bench.settle().allSatisfy { !$0.hasSuffix("/instances") })
        bench.run { $0.see(all: [], $1) }
        bench.loseAnswer()
        bench.kill()
        bench.launch()
        bench.settle()
        #expect(PhoneBench.body(bench.sent.last)["sequence"]?.int == 2)
    }

    // MARK: - Duplicates

    @Test func `of two cards the one with a token stays, then the app's own, then the newest`() {
        var token = PhoneBench.ready(cards: [PhoneBench.card("old", token: 1), PhoneBench.card("new")])
        #expect(token.ended == ["new"])
        token.settle()
        let end = token.sent.last { $0.path.hasSuffix("/new") }
        #expect(PhoneBench.body(end)["state"]?.string == "duplicate", "no dismissal, and no end of the activity")
        #expect(token.notes.contains { $0.code == .duplicateEnded && $0.localID == "new" })

        var own = PhoneBench.ready()
        own.settle()
        let order = own.run { $0.start(PhoneBench.order(), $1) }
        own.answer(200)
        own.run { $0.started(order ?? 0, PhoneBench.card("mine"), $1) }
        own.run { $0.see(PhoneBench.card("pushed"), $1) }
        #expect(own.ended == ["pushed"])

        let newest = PhoneBench.ready(cards: [PhoneBench.card("old"), PhoneBench.card("new")])
        #expect(newest.ended == ["old"])
    }

    @Test func `a card on a channel is reported as that, and is no duplicate of one with a token`() throws {
        for tokenFirst in [true, false] {
            var (onChannel, withToken) = (PhoneBench.card("on-channel"), PhoneBench.card("with-token", token: 1))
            onChannel.channel = "dHN0LXNyY2gtY2hubA=="
            var bench = PhoneBench.ready(cards: [tokenFirst ? withToken : onChannel])
            bench.settle()
            bench.run { $0.see(tokenFirst ? onChannel : withToken, $1) }
            bench.settle()
            #expect(bench.ended.isEmpty)
            // Of two cards on a channel, or of two without one, one is too many.
            (onChannel.localID, withToken.localID) = ("second-on-channel", "second-with-token")
            bench.run { $0.see(onChannel, $1) }
            #expect(bench.ended == ["on-channel"])
            bench.run { $0.see(withToken, $1) }
            #expect(bench.ended == ["on-channel", "with-token"])
            bench.settle()
            let reports = bench.sent.filter { $0.path.contains("with-token") || $0.path.contains("on-channel") }
            for report in reports {
                let isOnChannel = report.path.contains("on-channel")
                let body = PhoneBench.body(report)
                guard body["state"]?.string == "active" else { continue }
                #expect(body["channel"]?.string == (isOnChannel ? "dHN0LXNyY2gtY2hubA==" : nil))
            }
            #expect(reports.count >= 4)
        }
    }

    @Test func `the server hears of a card on a channel when the one with a token is over`() {
        var onChannel = PhoneBench.card("on-channel")
        onChannel.channel = "dHN0LXNyY2gtY2hubA=="
        var bench = PhoneBench.ready(cards: [onChannel, PhoneBench.card("with-token", token: 1)])
        bench.settle()
        let before = bench.sent.count
        var over = PhoneBench.card("with-token")
        over.state = .ended
        bench.run { $0.see(over, $1) }
        bench.settle()
        #expect(bench.sent.dropFirst(before).map(\.path).contains { $0.hasSuffix("/instances") })
    }

    @Test func `iOS may tell of a card on a channel before it has come back from making it`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("with-token", "b", token: 1)])
        bench.settle()
        var order = PhoneBench.order()
        order.channel = "dHN0LXNyY2gtY2hubA=="
        let number = bench.run { $0.start(order, $1) }
        bench.answer(200)
        bench.run { $0.see(PhoneBench.card("pushed", token: 2), $1) }
        bench.run { $0.see(PhoneBench.card("mine"), $1) }
        #expect(bench.ended.isEmpty && !bench.sent.contains { $0.path.hasSuffix("/mine") })
        var mine = PhoneBench.card("mine")
        mine.channel = order.channel
        bench.run { $0.started(number ?? 0, mine, $1) }
        bench.settle()
        #expect(bench.ended.isEmpty)
        let report = bench.sent.last { $0.path.hasSuffix("/mine") }
        #expect(PhoneBench.body(report)["channel"]?.string == order.channel)
        // Holds across launches, although the card's attributes do not say it.
        bench.kill()
        bench.launch(cards: [PhoneBench.card("mine"), PhoneBench.card("pushed", token: 2)])
        bench.settle()
        #expect(bench.ended.isEmpty)
    }

    @Test func `the server hears of the card that stays before the end of the other`() throws {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("old", token: 1)])
        bench.settle()
        bench.run { $0.see(PhoneBench.card("new", token: 2), $1) }
        bench.settle()
        let paths = bench.sent.map(\.path)
        let stays = try #require(paths.lastIndex { $0.hasSuffix("/new") })
        let goes = try #require(paths.lastIndex { $0.hasSuffix("/old") })
        #expect(stays < goes)
    }

    @Test func `a renewal's two cards both stay until the new one has a token`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("old", token: 1)])
        bench.settle()
        bench.wait(7 * 3_600_000 + 900_000)
        bench.run { $0.see(PhoneBench.card("new"), $1) }
        #expect(bench.ended.isEmpty)
        bench.run { $0.see(PhoneBench.card("new", token: 2), $1) }
        #expect(bench.ended == ["old"])
    }

    @Test func `a renewal is one though the app saw the old card an hour after it was started`() {
        // Also with a phone's clock that is an hour late, because the server's clock counts.
        for late in [0, 3_600_000] {
            var bench = PhoneBench.ready(cards: [PhoneBench.card("old", token: 1)])
            bench.now.wall -= late
            let old = PhoneBench.wish(step: 1, revision: 1, localID: "old", startedAt: "2026-11-21T13:32:00Z")
            bench.settle(old, date: 1_795_271_520)
            bench.wait(6 * 3_600_000 + 900_000)
            // The server's next start sets the newer card's time. The old card does not take it over.
            bench.run { $0.wake($1) }
            bench.settle(
                old.replacing("13:32:00", with: "20:47:00"), date: 1_795_271_520 + 6 * 3_600 + 900)
            // A process without an answer from the server has only the phone's clock.
            if late == 0 {
                bench.kill()
                bench.launch(cards: [PhoneBench.card("old", token: 1)])
            }
            bench.run { $0.see(PhoneBench.card("new"), $1) }
            #expect(bench.ended.isEmpty)
            bench.run { $0.see(PhoneBench.card("new", token: 2), $1) }
            #expect(bench.ended == ["old"])
        }
        var early = PhoneBench.ready(cards: [PhoneBench.card("old", token: 1)])
        early.settle(PhoneBench.wish(step: 1, revision: 1, localID: "old", startedAt: "2026-11-21T14:30:00Z"))
        early.wait(6 * 3_600_000 + 900_000)
        early.run { $0.see(PhoneBench.card("new"), $1) }
        #expect(early.ended == ["new"], "so early it is a duplicate")
    }

    // MARK: - Answers

    @Test func `an answer brings a card without a token to the newest state, and ends it`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c")])
        bench.settle(PhoneBench.wish(step: 4, revision: 4), date: 1_795_271_530)
        guard case .update(_, "c", let content, _, let timestamp)? = bench.cardActions.last else {
            return #expect(Bool(false), "\(bench.cardActions)")
        }
        #expect(content["step"]?.int == 4 && timestamp == 1_795_271_530)
        #expect(PhoneBench.body(bench.sent.last)["contentState"]?.object == ["step": 4], "what it holds is reported")
        #expect(bench.cardActions.count == 1, "once")
        bench.run { $0.wake($1) }
        bench.settle(PhoneBench.wish(step: 5, revision: 5, phase: "ended"))
        #expect(bench.ended == ["c"])
    }

    @Test func `an answer does not overrule what was pushed while it was under way`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        bench.settle(PhoneBench.wish(step: 1, revision: 1))
        bench.run { $0.wake($1) }
        bench.run { $0.see(PhoneBench.card("c", token: 1, step: 7), $1) }
        bench.answer(200, PhoneBench.wish(step: 2, revision: 2))
        #expect(bench.cardActions.isEmpty)
    }

    @Test func `what the app cannot read stays as it is and is not asked for again and again`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c")])
        // The card continues to show the part that it can, encoded in its own way.
        bench.writes = { _ in ["step": 1, "note": "old app"] }
        for _ in 0..<5 {
            bench.settle(PhoneBench.wish(step: 4, revision: 4))
            bench.run { $0.see(PhoneBench.card("c", token: 1, step: 1), $1) }
        }
        #expect(bench.updates.count <= 2)
        #expect(bench.machine.isSettled)
    }

    @Test func `an update that iOS ignored is tried again at the next wake, and not before`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c")])
        bench.writes = { _ in ["step": 1] }
        bench.settle(PhoneBench.wish(step: 4, revision: 4))
        bench.settle(PhoneBench.wish(step: 4, revision: 4))
        #expect(bench.updates.count == 1)
        #expect(PhoneBench.body(bench.sent.last)["contentState"]?.object == ["step": 1], "what it holds is reported")
        bench.writes = { $0 }
        bench.run { $0.wake($1) }
        bench.settle(PhoneBench.wish(step: 4, revision: 4))
        #expect(bench.updates.count == 2)
        #expect(PhoneBench.body(bench.sent.last)["contentState"]?.object == ["step": 4])
    }
}
