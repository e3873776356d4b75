import JSONText
import LiveActivityAPI
import LiveActivityRegistration
import Testing

/// Cards that are over and that iOS still shows.
struct FarewellTests {
    private static let noon = 1_795_271_520
    private static let later = "2026-11-21T14:52:00Z"
    private static let wish = PhoneBench.wish(step: 9, revision: 2, phase: "ended", dismissAt: later)

    private static func over(_ localID: String = "c", _ state: InstanceRequest.State = .ended) -> SeenCard {
        var card = PhoneBench.card(localID, token: 1)
        card.state = state
        return card
    }

    private static func ready() -> PhoneBench { .ready(cards: [PhoneBench.card("c", token: 1)]) }

    /// iOS reports the end of the card, and then a value that was read earlier.
    private static func hearLate(_ bench: inout PhoneBench) {
        bench.run { $0.see(over(), $1) }
        bench.run { $0.see(PhoneBench.card("c", token: 1), $1) }
    }

    @Test func `an end that is asked for again is the same: its last state, its date, its dismissal`() throws {
        let date = try #require(Instant(Self.later))
        for byApp in [true, false] {
            var bench = Self.ready()
            bench.settle(byApp ? #"{"activities":[]}"# : Self.wish, date: Self.noon)
            if byApp { _ = bench.run { $0.end("c", content: ["step": 8], .systemDefault, $1) } }
            Self.hearLate(&bench)
            guard case .end("c", let content, let dismissal, let timestamp?)? = bench.cardActions.first else {
                return #expect(Bool(false), "\(bench.cardActions)")
            }
            #expect(content == (byApp ? ["step": 8] : ["step": 9]))
            #expect(dismissal == (byApp ? .systemDefault : .at(date)))
            let end = ClientAction.end(localID: "c", content: content, dismissal, timestamp: timestamp)
            #expect(bench.cardActions == [end, end])

            // Holds also after the server has confirmed it and the app returns to the screen.
            bench.settle(Self.wish, date: Self.noon)
            bench.run { $0.setForeground(true, $1) }
            bench.run { $0.see(all: [PhoneBench.card("c", token: 1)], $1) }
            #expect(bench.cardActions == [end, end, end])
        }
    }

    @Test func `a process that was killed before iOS ended the card has the next one end it so`() throws {
        var bench = Self.ready()
        bench.settle(Self.wish, date: Self.noon)
        let asked = bench.cardActions
        #expect(bench.ended == ["c"])
        bench.kill()
        bench.launch(cards: [PhoneBench.card("c", token: 1)])
        #expect(bench.cardActions == asked)
    }

    @Test func `when its time is over the card goes at once`() {
        var bench = Self.ready()
        bench.settle(Self.wish, date: Self.noon)
        bench.wait(3_600_000)
        Self.hearLate(&bench)
        guard case .end("c", _, .immediate, _)? = bench.cardActions.last else {
            return #expect(Bool(false), "\(bench.cardActions)")
        }
    }

    @Test func `a card that a push ended stays as long as the server says, else as long as iOS likes`() throws {
        let cases: [(String?, CardDismissal)] = [
            (nil, .systemDefault), (Self.wish, .at(try #require(Instant(Self.later)))),
        ]
        for (wish, dismissal) in cases {
            var bench = Self.ready()
            bench.settle()
            bench.run { $0.see(Self.over(), $1) }
            bench.settle(wish ?? #"{"activities":[]}"#)
            bench.run { $0.see(PhoneBench.card("c", token: 1), $1) }
            #expect(bench.cardActions == [.end(localID: "c", content: nil, dismissal, timestamp: nil)])
        }
    }

    @Test func `what was to go at once, or was swiped away, goes at once`() {
        var swiped = Self.ready()
        swiped.settle()
        for state in [.ended, .dismissed] as [InstanceRequest.State] {
            swiped.run { $0.see(Self.over("c", state), $1) }
        }
        var atOnce = Self.ready()
        atOnce.settle()
        _ = atOnce.run { $0.end("c", content: nil, .immediate, $1) }
        atOnce.run { $0.see(Self.over(), $1) }
        for bench in [swiped, atOnce] {
            var bench = bench
            bench.run { $0.see(PhoneBench.card("c", token: 1), $1) }
            guard case .end("c", nil, .immediate, nil)? = bench.cardActions.last else {
                return #expect(Bool(false), "\(bench.cardActions)")
            }
        }
    }

    // MARK: - Ownership

    @Test(arguments: [nil, "bob"])
    func `who leaves takes along what is over and still shown`(next: String?) {
        var pushed = Self.ready()
        pushed.settle()
        pushed.run { $0.see(Self.over(), $1) }
        pushed.settle()
        var own = Self.ready()
        own.settle(Self.wish, date: Self.noon)
        // The card was over before this process began.
        var old = PhoneBench.ready(cards: [Self.over()])
        old.settle()
        for bench in [pushed, own, old] {
            var bench = bench
            let asked = bench.cardActions.count
            let calls = bench.sent.count
            bench.run { machine, now in
                if let next { machine.signIn(next, now) } else { machine.signOut(now) }
            }
            let atOnce = ClientAction.end(localID: "c", content: nil, .immediate, timestamp: nil)
            #expect(bench.cardActions.dropFirst(asked) == [atOnce])
            if next == nil { #expect(bench.sent.count == calls, "first the card, then the word to the server") }
            for _ in 0..<2 { bench.run { $0.see(Self.over(), $1) } }
            if next == nil { #expect(bench.sent.last?.method == .delete) }
            #expect(bench.cardActions.count == asked + 1, "iOS may take its time")
            bench.run { $0.see(PhoneBench.card("c", token: 1), $1) }
            #expect(bench.cardActions.dropFirst(asked) == [atOnce, atOnce], "read before, heard after")
            bench.run { $0.see(Self.over(), $1) }
            bench.run { $0.setForeground(true, $1) }
            bench.run { $0.see(all: [Self.over()], $1) }
            #expect(bench.cardActions.count == asked + 3, "it is still there")

            // The process may end before iOS has carried it out.
            bench.kill()
            bench.launch(cards: [Self.over()], user: nil)
            #expect(bench.cardActions == [atOnce])
        }
    }

    @Test func `what the next person's card leaves behind is theirs`() {
        var bench = PhoneBench.ready()
        bench.run { $0.signIn("bob", $1) }
        bench.run { $0.see(PhoneBench.card("c", token: 1), $1) }
        bench.run { $0.see(Self.over(), $1) }
        bench.run { $0.setForeground(true, $1) }
        bench.run { $0.see(all: [Self.over()], $1) }
        #expect(bench.ended.isEmpty)
        bench.run { $0.see(Self.over("c", .dismissed), $1) }
        bench.run { $0.signOut($1) }
        #expect(bench.ended.isEmpty, "it has left by itself")
    }

    @Test func `a card that is over and not there holds nobody up, and is asked after once`() {
        var bench = Self.ready()
        bench.settle()
        bench.run { $0.see(Self.over(), $1) }
        bench.settle()
        bench.run { $0.signOut($1) }
        bench.run { $0.lost("c", $1) }
        #expect(bench.sent.last?.method == .delete && bench.ended == ["c"])
        bench.settle()
        bench.kill()
        bench.launch(user: "bob")
        #expect(bench.ended.isEmpty)
    }

    @Test func `of cards that are over and shown the newest are remembered`() {
        var bench = PhoneBench.ready()
        bench.settle()
        for number in 1...20 { bench.run { $0.see(Self.over("c\(number)"), $1) } }
        bench.run { $0.signOut($1) }
        #expect(bench.ended == (5...20).map { "c\($0)" })
    }
}
