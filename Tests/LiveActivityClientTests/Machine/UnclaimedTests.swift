import JSONText
import LiveActivityAPI
import LiveActivityRegistration
import Testing

/// Cards that exist before the app has named the person.
struct UnclaimedTests {
    private static let cards = [PhoneBench.card("c", token: 1), PhoneBench.card("d", "b", token: 2)]

    /// Returns the app's first launch with this library, in which a session is restored a while later.
    private static func launched() -> PhoneBench {
        var bench = PhoneBench()
        bench.launch(cards: cards, user: nil)
        bench.run { $0.see(PhoneBench.card("c", token: 3, step: 2), $1) }
        bench.run { $0.setForeground(true, $1) }
        return bench
    }

    @Test func `they are left alone until somebody is named, and are theirs then`() throws {
        var bench = Self.launched()
        #expect(bench.cardActions.isEmpty && bench.sent.isEmpty)
        bench.run { $0.signIn("ann", $1) }
        bench.settle()
        #expect(bench.cardActions.isEmpty)
        let inventory = try #require(bench.sent.last { $0.path.hasSuffix("/instances") })
        let tokens = PhoneBench.body(inventory)["instances"]?.array?.map { $0.object?["token"]?.string }
        #expect(tokens == [3, 2].map { PhoneBench.token($0).text })
        bench.run { $0.signIn("bob", $1) }
        #expect(Set(bench.ended) == ["c", "d"], "the next one sees nothing of them")
    }

    @Test func `where the app says that nobody is signed in they go, and nobody is told`() {
        var bench = Self.launched()
        bench.run { $0.signOut($1) }
        #expect(Set(bench.ended) == ["c", "d"])
        #expect(bench.settle().isEmpty)
        // Holds also after the next launch, and for a card that a push starts.
        bench.kill()
        bench.launch(cards: [PhoneBench.card("e", token: 4)], user: nil)
        #expect(bench.ended == ["e"])
    }

    @Test func `what went before anybody was named is nobody's`() {
        var bench = Self.launched()
        var swiped = PhoneBench.card("c")
        swiped.state = .dismissed
        bench.run { $0.see(swiped, $1) }
        bench.run { $0.signIn("ann", $1) }
        bench.settle()
        let inventory = bench.sent.last { $0.path.hasSuffix("/instances") }
        #expect(PhoneBench.body(inventory)["instances"]?.array?.count == 1)
        #expect(bench.sent.allSatisfy { !$0.path.hasSuffix("/c") })
    }
}
