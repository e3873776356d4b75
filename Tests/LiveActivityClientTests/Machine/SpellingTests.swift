import JSONText
import LiveActivityAPI
import LiveActivityRegistration
import Testing

/// Ids in Swift's spelling: Swift writes a UUID in uppercase, whatever the backend wrote.
struct SpellingTests {
    private static let small = "0e984725-c51c-4bf4-9960-e1c80e27aba0"
    private static let capital = small.uppercased()

    private static func started(_ bench: PhoneBench) -> Int {
        bench.cardActions.count { if case .start = $0 { true } else { false } }
    }

    @Test func `an answer in the backend's letters is about the card in Swift's`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", Self.capital)])
        bench.settle(PhoneBench.wish(Self.small, step: 4, revision: 4))
        #expect(bench.updates == [["step": 4]])
        bench.run { $0.setForeground(true, $1) }
        bench.settle(PhoneBench.wish(Self.small, step: 4, revision: 4, starts: true))
        #expect(Self.started(bench) == 0, "it is there")
        bench.run { $0.wake($1) }
        bench.settle(PhoneBench.wish(Self.small, step: 5, revision: 5, phase: "ended"))
        #expect(bench.ended == ["c"])
    }

    @Test func `a card that leaves after its activity is over was not swiped away, in either spelling`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", Self.capital, token: 1)])
        bench.writes = nil
        bench.settle(PhoneBench.wish(Self.small, step: 2, revision: 2))
        bench.run { $0.wake($1) }
        bench.settle(PhoneBench.wish(Self.small, step: 3, revision: 3, phase: "ended"))
        var over = PhoneBench.card("c", Self.capital)
        over.state = .dismissed
        bench.run { $0.see(over, $1) }
        bench.settle()
        #expect(bench.sent.contains { PhoneBench.body($0)["state"]?.string == "gone" })
        #expect(!bench.sent.contains { PhoneBench.body($0)["state"]?.string == "dismissed" })
    }

    @Test func `where the server's start is under way the app makes none, in either spelling`() {
        var bench = PhoneBench.ready()
        bench.settle()
        bench.run { _ = $0.start(PhoneBench.order(Self.capital), $1) }
        bench.answer(200, PhoneBench.wish(Self.small, step: 1, revision: 1))
        #expect(Self.started(bench) == 0 && bench.notes.contains { $0.code == .activityLeftToServer })
        bench.run { $0.see(PhoneBench.card("pushed", Self.small, token: 1), $1) }
        #expect(bench.run { $0.start(PhoneBench.order(Self.capital), $1) } == nil, "it is shown")
    }

    @Test func `two cards of one UUID are one too many, and what iOS refused is one wish`() {
        let twice = PhoneBench.ready(cards: [
            PhoneBench.card("old", Self.small, token: 1), PhoneBench.card("new", Self.capital),
        ])
        #expect(twice.ended == ["new"])

        var refused = PhoneBench.ready()
        refused.run { $0.setForeground(true, $1) }
        refused.settle(PhoneBench.wish(Self.small, step: 1, revision: 1, starts: true))
        refused.run { $0.notStarted(1, "targetMaximumExceeded", $1) }
        refused.run { $0.wake($1) }
        refused.settle(PhoneBench.wish(Self.capital, step: 1, revision: 1, starts: true))
        #expect(Self.started(refused) == 1)
    }

    @Test(arguments: ["ORDER-1", "0E984725-C51C-4BF4-9960-E1C80E27ABAG", "0E984725+C51C-4BF4-9960-E1C80E27ABA0"])
    func `what is no UUID is what it is, letter by letter`(id: String) {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", id)])
        bench.settle(PhoneBench.wish(id.lowercased(), step: 4, revision: 4))
        #expect(bench.updates.isEmpty)
    }
}
