import JSONText
import LiveActivityAPI
import LiveActivityRegistration
import Testing

/// Desired states in answers, and the cards that they apply to.
struct WishTests {
    private static func wish(_ members: String) -> String {
        #"{"activities":[{"activity":"a","type":"order","state":{"step":9},"revision":9,"phase":"active","#
            + members + "}]}"
    }

    private static func started(_ bench: PhoneBench) -> Int {
        bench.cardActions.count { if case .start = $0 { true } else { false } }
    }

    @Test func `a wish is for the cards of its type alone`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        bench.settle(
            #"{"activities":[{"activity":"a","type":"ride","state":{"step":9},"revision":9,"phase":"active"}]}"#)
        #expect(bench.updates.isEmpty)
        bench.settle(
            #"{"activities":[{"activity":"z","type":"ride","state":{},"revision":9,"phase":"active","localID":"c"}]}"#)
        bench.run { $0.wake($1) }
        bench.settle(PhoneBench.wish(step: 2, revision: 2))
        #expect(bench.updates == [["step": 2]], "it is still a's")

        var second = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        second.settle(
            PhoneBench.wish(step: 1, revision: 1, localID: "c", lastTimestamp: "2026-11-21T15:00:00Z")
                .replacing(#""type":"order""#, with: #""type":"ride""#), date: 1_795_271_520)
        _ = second.run { $0.update("c", content: ["step": 50], $1) }
        guard case .update(_, _, _, _, let timestamp)? = second.cardActions.last else {
            return #expect(Bool(false), "\(second.cardActions)")
        }
        #expect(timestamp == 1_795_271_521, "another type's second is not this card's")

        var order = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        order.settle()
        let ride = CardOrder(type: "ride", activity: "a", attributes: [:], content: [:])
        #expect(order.run { $0.start(ride, $1) } != nil, "what is shown is another type's")
        // The server's state is about the other card.
        order.answer(200, PhoneBench.wish(step: 1, revision: 1))
        #expect(Self.started(order) == 1)
    }

    @Test func `a card keeps the activity that it names, and takes the newest second of all`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        let later = PhoneBench.wish("b", step: 1, revision: 1, localID: "c", lastTimestamp: "2026-11-21T16:00:00Z")
        bench.settle(later, date: 1_795_271_520)
        for second in ["2026-11-21T15:00:00Z", "2026-11-21T14:00:00Z"] {
            bench.run { $0.wake($1) }
            bench.settle(
                PhoneBench.wish(step: 1, revision: 3, localID: "c", lastTimestamp: second), date: 1_795_271_520)
        }
        _ = bench.run { $0.update("c", content: ["step": 50], $1) }
        guard case .update(_, _, _, _, let timestamp)? = bench.cardActions.last else {
            return #expect(Bool(false), "\(bench.cardActions)")
        }
        #expect(timestamp == 1_795_273_201, "after 15:00:00: 16:00:00 was another card's, and 14:00:00 is older")
        let reported = bench.sent.filter { $0.path.hasSuffix("/c") }.map { PhoneBench.body($0)["activity"]?.string }
        #expect(reported.allSatisfy { $0 == "a" })
    }

    @Test func `a card that was wished for is the server's, whatever its attributes say`() {
        var bench = PhoneBench.ready()
        bench.run { $0.setForeground(true, $1) }
        bench.settle(PhoneBench.wish("12345", step: 1, revision: 1, starts: true))
        guard case .start(let order, _)? = bench.cardActions.last else {
            return #expect(Bool(false), "\(bench.cardActions)")
        }
        bench.run { $0.started(order, PhoneBench.card("c", "order-12345"), $1) }
        bench.settle(PhoneBench.wish("12345", step: 1, revision: 1, starts: true))
        bench.run { $0.see(all: [PhoneBench.card("c", "order-12345", token: 1)], $1) }
        bench.settle(PhoneBench.wish("12345", step: 1, revision: 1, starts: true))
        #expect(Self.started(bench) == 1 && bench.ended.isEmpty)
        let reported = bench.sent.filter { $0.path.hasSuffix("/c") }.map { PhoneBench.body($0)["activity"]?.string }
        #expect(!reported.isEmpty && reported.allSatisfy { $0 == "12345" })
    }

    @Test func `an older state than the card shows is not shown`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1, step: 4)])
        bench.settle(PhoneBench.wish(step: 4, revision: 4))
        bench.run { $0.wake($1) }
        bench.settle(PhoneBench.wish(step: 3, revision: 3))
        #expect(bench.updates.isEmpty)
    }

    @Test(arguments: [1, nil])
    func `states that come faster than seconds do not take a card with a token far ahead of the clock`(token: Int?) {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: token)])
        let second = 1_795_271_520
        for step in 2...60 {
            bench.run { $0.wake($1) }
            bench.settle(PhoneBench.wish(step: step, revision: step), date: second)
        }
        let timestamps = bench.cardActions.compactMap { action in
            if case .update(_, _, _, _, let timestamp) = action { timestamp } else { nil }
        }
        // Only the app can change a card without a token.
        #expect(timestamps == Array(second...(second + (token == nil ? 58 : 10))))
        bench.run { $0.wake($1) }
        bench.settle(PhoneBench.wish(step: 61, revision: 61), date: second + 30)
        #expect(bench.updates.last == ["step": 61])
    }

    @Test func `without the server's clock a date of its is left to iOS`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        bench.settle(Self.wish(#""dismissAt":"2026-11-21T15:30:00Z""#).replacing("active", with: "ended"))
        guard case .end("c", _, let dismissal, nil)? = bench.cardActions.last else {
            return #expect(Bool(false), "\(bench.cardActions)")
        }
        #expect(Instant("2026-11-21T15:30:00Z").map { dismissal == .at($0) } == true)
    }

    @Test func `an activity that runs again can be swiped away again`() {
        var bench = PhoneBench.ready()
        bench.settle(PhoneBench.wish(step: 1, revision: 1, phase: "ended"))
        bench.run { $0.wake($1) }
        bench.settle(PhoneBench.wish(step: 2, revision: 2))
        bench.run { $0.see(PhoneBench.card("c", token: 1), $1) }
        bench.settle(PhoneBench.wish(step: 1, revision: 2))
        var over = PhoneBench.card("c")
        over.state = .dismissed
        bench.run { $0.see(over, $1) }
        #expect(PhoneBench.body(bench.sent.last)["state"]?.string == "dismissed")
    }

    @Test func `what iOS refused is tried again when the app comes back to the screen`() {
        var bench = PhoneBench.ready()
        bench.run { $0.setForeground(true, $1) }
        let wish = PhoneBench.wish(step: 1, revision: 1, starts: true)
        bench.settle(wish)
        #expect(Self.started(bench) == 1)
        bench.run { $0.notStarted(1, "targetMaximumExceeded", $1) }
        bench.run { $0.setForeground(false, $1) }
        bench.run { $0.setForeground(true, $1) }
        bench.settle(wish)
        #expect(Self.started(bench) == 2)
    }

    // MARK: - The app's own starts

    @Test func `a start that waits for the server is not settled, and is done when its patience is over`() {
        var bench = PhoneBench.ready()
        bench.settle()
        let order = bench.run { $0.start(PhoneBench.order(), $1) }
        #expect(bench.machine.nextWake == bench.now.steady + 3_000)
        #expect(PhoneBench.body(bench.sent.last)["attributes"]?.object == ["id": "a"])
        bench.answer()
        #expect(Self.started(bench) == 1 && !bench.machine.isSettled, "iOS has not come back from it")
        bench.run { $0.started(order ?? 0, PhoneBench.card("c"), $1) }
        bench.settle()
        #expect(bench.machine.isSettled)
    }

    @Test(arguments: [false, true])
    func `where nobody is signed in no card is made, which would be nobody's`(isToldSo: Bool) {
        var bench = PhoneBench()
        bench.launch(user: nil)
        if isToldSo { bench.run { $0.signOut($1) } }
        #expect(bench.run { $0.start(PhoneBench.order(), $1) } == nil)
        #expect(Self.started(bench) == 0 && bench.sent.isEmpty)
        #expect(bench.notes.last?.code == .activityNotStarted && bench.notes.last?.detail == "nobody-signed-in")
        bench.run { $0.signIn("ann", $1) }
        bench.settle()
        let order = bench.run { $0.start(PhoneBench.order(), $1) }
        bench.answer()
        bench.run { $0.started(order ?? 0, PhoneBench.card("c"), $1) }
        #expect(Self.started(bench) == 1 && bench.ended.isEmpty)
    }

    @Test(arguments: ["bob", nil])
    func `a start that is under way when its person leaves is not the next one's`(next: String?) {
        for isSeenFirst in [false, true] {
            var bench = PhoneBench.ready()
            bench.settle()
            let order = bench.run { $0.start(PhoneBench.order(), $1) } ?? 0
            bench.answer()
            #expect(Self.started(bench) == 1 && bench.machine.isWanted(order))
            bench.run { if let next { $0.signIn(next, $1) } else { $0.signOut($1) } }
            #expect(!bench.machine.isWanted(order))
            // The card was being made all the same. The sequence may report it before the call that made it returns.
            if isSeenFirst { bench.run { $0.see(PhoneBench.card("c", token: 1), $1) } }
            bench.run { $0.started(order, PhoneBench.card("c", token: 1), $1) }
            #expect(bench.cardActions.last == .end(localID: "c", content: nil, .immediate, timestamp: nil))
            var over = PhoneBench.card("c", token: 1)
            over.state = .ended
            bench.run { $0.see(over, $1) }
            bench.settle()
            #expect(!bench.notes.contains { $0.code == .activityStarted })
            let inventory = bench.sent.last { $0.path.hasSuffix("/instances") }
            #expect(next == nil || PhoneBench.body(inventory)["instances"]?.array == [])
        }
    }

    @Test func `a start that the server refuses is done without it, and only once`() {
        var bench = PhoneBench.ready()
        bench.settle()
        bench.run { _ = $0.start(PhoneBench.order(), $1) }
        bench.answer(422, #"{"code":"contract_violation"}"#)
        #expect(Self.started(bench) == 1 && bench.notes.contains { $0.code == .activityStartedWithoutServer })

        var late = PhoneBench.ready()
        late.settle()
        late.run { _ = $0.start(PhoneBench.order(), $1) }
        late.wait(3_000)
        late.answer(422, #"{"code":"contract_violation"}"#)
        #expect(Self.started(late) == 1)
    }

    @Test func `a card that a push starts meanwhile takes the place of the app's`() {
        var bench = PhoneBench.ready()
        bench.settle()
        bench.run { _ = $0.start(PhoneBench.order(), $1) }
        bench.run { $0.see(PhoneBench.card("pushed", token: 1), $1) }
        bench.wait(3_000)
        bench.settle()
        #expect(Self.started(bench) == 0)
    }

    @Test func `the second of the app's own start is reported, and what the server does next is newer`() {
        var bench = PhoneBench.ready()
        bench.settle(date: 1_795_271_520)
        let order = bench.run { $0.start(PhoneBench.order(), $1) }
        bench.answer(200, date: 1_795_271_520)
        bench.run { $0.started(order ?? 0, PhoneBench.card("mine", token: 1), $1) }
        #expect(PhoneBench.body(bench.sent.last)["lastTimestamp"]?.string == "2026-11-21T14:32:01Z")
        bench.settle(PhoneBench.wish(step: 2, revision: 2), date: 1_795_271_520)
        guard case .update(_, "mine", _, _, let timestamp)? = bench.cardActions.last else {
            return #expect(Bool(false), "\(bench.cardActions)")
        }
        #expect(timestamp == 1_795_271_522)
    }

    @Test func `the app ends its card at once, when iOS likes or then, by the server's clock, and once`() throws {
        let (past, later) = try (#require(Instant(seconds: 1_795_271_000)), #require(Instant(seconds: 1_795_275_000)))
        let cases: [(CardDismissal, CardDismissal)] = [
            (.systemDefault, .systemDefault), (.immediate, .immediate), (.at(past), .immediate),
            (.at(later), .at(later)),
        ]
        for (wanted, asked) in cases {
            var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
            bench.settle(date: 1_795_271_520)
            #expect(bench.run { $0.end("c", content: ["step": 9], wanted, $1) })
            #expect(
                bench.cardActions == [
                    .end(localID: "c", content: ["step": 9], asked, timestamp: 1_795_271_521)
                ])
            #expect(PhoneBench.body(bench.sent.last)["state"]?.string == "ended")
            #expect(!bench.run { $0.end("c", content: nil, .immediate, $1) })
            #expect(!bench.run { $0.update("c", content: ["step": 10], $1) }, "it runs no longer")
            #expect(bench.updates.isEmpty)
        }
    }

    @Test func `of changes that iOS does not come back from the newest are remembered`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        bench.settle()
        bench.writes = nil
        for step in 1...20 {
            _ = bench.run { $0.update("c", content: ["step": .number(JSONNumber(step))], $1) }
        }
        let card = (try? JSONValue(encoding: bench.disk))?.object?["cards"]?.object?["c"]?.object
        #expect(card?["changes"]?.array?.count == 16)
        #expect(card?["changes"]?.array?.last?.object?["content"] == ["step": 20])
    }
}
