import APNSModel
import JSONText
import LiveActivityAPI
import LiveActivityCore
import LiveActivityRegistration
import TestSupport
import Testing

/// Parts of an inventory that the server refused.
struct RefusedInventoryTests {
    /// Answers the calls, and refuses every inventory and every report of one card.
    private static func settle(_ bench: inout PhoneBench, refusing localID: String = "b") {
        var answered = 0
        for _ in 0..<50 {
            guard let call = bench.sent.last, call.number > answered else { return }
            answered = call.number
            let isRefused = call.path.hasSuffix("/instances") || call.path.hasSuffix("/\(localID)")
            if isRefused { bench.answer(422, #"{"code":"unknown_type"}"#) } else { bench.answer() }
        }
    }

    private static func tokens(_ bench: PhoneBench) -> [String?] {
        bench.sent.filter { $0.path.hasSuffix("/instances/c") }.map { PhoneBench.body($0)["token"]?.string }
    }

    @Test func `a card that the server refuses keeps no other card's token from it`() {
        let cards = [PhoneBench.card("b", "z", token: 7), PhoneBench.card("c", token: 1)]
        var bench = PhoneBench.ready(cards: cards)
        Self.settle(&bench)
        #expect(Self.tokens(bench) == [PhoneBench.token(1).text])
        #expect(bench.machine.isSettled, "and nothing is said again and again")
        #expect(bench.sent.count < 8, "\(bench.sent)")

        // The server may have lost the card meanwhile. The report that an inventory would have repeated is sent alone.
        bench.kill()
        bench.launch(cards: cards)
        Self.settle(&bench)
        #expect(Self.tokens(bench) == [PhoneBench.token(1).text])
        bench.run { $0.see(PhoneBench.card("c", token: 2), $1) }
        Self.settle(&bench)
        #expect(Self.tokens(bench) == [1, 2].map { PhoneBench.token($0).text })
    }

    @Test func `an inventory that the server takes for an old one confirms nothing, and the next one is newer`() throws
    {
        let type = Sample.type("order", activityIDAttribute: "/id")
        var door = ServerDoor(app: Sample.app(type, environments: [.sandbox]))
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        bench.settle(with: &door)
        bench.losesSaves = true
        for _ in 0..<3 {
            bench.run { $0.wake($1) }
            bench.settle(with: &door)
        }
        bench.kill()
        bench.losesSaves = false
        bench.launch(cards: [PhoneBench.card("c", token: 2)])
        bench.settle(with: &door)
        #expect(bench.machine.isSettled)
        let token = try #require(door.store.rows.updateTokens.values.first)
        #expect(token.value == TokenValue(try UpdateToken(hex: PhoneBench.token(2).text)))
        let sequences = bench.sent.filter { $0.path.hasSuffix("/instances") }.map {
            PhoneBench.body($0)["sequence"]?.int
        }
        #expect(sequences == [2, 5])
        #expect(bench.disk == bench.machine.memory)
    }

    @Test func `what a server says of a newer inventory breaks nothing, however often it says so`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        for _ in 0..<6 {
            bench.answer(200, #"{"activities":[],"supersededBy":9223372036854775807}"#)
            bench.wait(max(0, (bench.machine.nextWake ?? 0) - bench.now.steady))
        }
        #expect(!bench.machine.isSettled)
        #expect(bench.now.steady > 6_000, "with growing pauses")
        let tokens = bench.notes.filter { $0.code == .tokenConfirmed }
        #expect(tokens.isEmpty)
    }
}
