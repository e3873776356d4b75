import JSONText
import LiveActivityRegistration
import Testing

/// Cards that the app starts on a channel of the server's, beside other cards of their activity.
struct ChannelCardTests {
    private static let channel = "dHN0LXNyY2gtY2hubA=="
    private static let other = "b3RoZXI="

    /// Returns an answer that lets the app start the card, and names a channel for it.
    private static func offer(on channel: String) -> String {
        PhoneBench.wish(step: 1, revision: 1, starts: true)
            .replacing(#""state":"#, with: #""channel":"\#(channel)","state":"#)
    }

    /// Returns a bench whose app has started the card `mine`, after the server had named a channel.
    ///
    /// - Parameter own: The channel that the app itself asks for, or `nil` for none.
    private static func started(own: String? = nil) -> PhoneBench {
        var bench = PhoneBench.ready()
        bench.settle()
        var order = PhoneBench.order()
        order.channel = own
        let number = bench.run { $0.start(order, $1) }
        bench.answer(200, offer(on: channel))
        var mine = PhoneBench.card("mine")
        mine.channel = own ?? channel
        bench.run { $0.started(number ?? 0, mine, $1) }
        bench.settle()
        return bench
    }

    /// Returns the channel of each card that iOS was asked for.
    private static func channels(of bench: PhoneBench) -> [String?] {
        let orders = bench.cardActions.compactMap { action -> CardOrder? in
            if case .start(_, let order) = action { order } else { nil }
        }
        return orders.map(\.channel)
    }

    @Test func `a card on the server's channel goes when one with a token is there`() {
        var bench = Self.started()
        #expect(Self.channels(of: bench) == [Self.channel])
        bench.run { $0.see(PhoneBench.card("pushed", token: 1), $1) }
        #expect(bench.ended == ["mine"], "both would get each state")
        bench.settle()
        let end = bench.sent.last { $0.path.hasSuffix("/mine") }
        #expect(PhoneBench.body(end)["state"]?.string == "duplicate")
        #expect(bench.notes.contains { $0.code == .duplicateEnded && $0.localID == "mine" })
    }

    @Test func `a card that is pushed long after the app's own is of another run, and stays`() {
        var bench = Self.started()
        bench.wait(121_000)
        bench.run { $0.see(PhoneBench.card("pushed"), $1) }
        #expect(bench.ended == ["mine"])
    }

    @Test func `a pushed card without a token goes when the app's own is on the server's channel`() {
        // The pushed card is on the channel as well, or its token has not come yet. iOS does not tell which.
        var bench = Self.started()
        let before = bench.sent.count
        bench.run { $0.see(PhoneBench.card("pushed"), $1) }
        #expect(bench.ended == ["pushed"])
        bench.settle()
        let inventory = bench.sent.dropFirst(before).last { $0.path.hasSuffix("/instances") }
        let listed = PhoneBench.body(inventory)["instances"]?.array?.compactMap(\.object) ?? []
        #expect(listed.map { $0["localID"]?.string } == ["mine"], "the server may have followed the other")
        #expect(listed.first?["channel"]?.string == Self.channel)
    }

    @Test func `the next launch knows who named the channel`() throws {
        var bench = Self.started()
        let kept = try JSONValue(encoding: bench.disk)
        bench.disk = try #require(RegistrationMemory(kept: kept))
        bench.kill()
        bench.launch(cards: [PhoneBench.card("mine"), PhoneBench.card("pushed", token: 1)])
        #expect(bench.ended == ["mine"])
    }

    @Test(arguments: [(other, [String]()), (channel, ["mine"])])
    func `a channel of the app's own is apart, unless the server names the same`(own: String, ended: [String]) {
        var bench = Self.started(own: own)
        #expect(Self.channels(of: bench) == [own])
        bench.run { $0.see(PhoneBench.card("pushed", token: 1), $1) }
        #expect(bench.ended == ended)
    }

    @Test func `a postponed start takes the channel of the newer answer`() {
        var bench = PhoneBench.ready()
        bench.settle()
        let number = bench.run { $0.start(PhoneBench.order(), $1) }
        bench.answer(200, Self.offer(on: Self.channel))
        bench.run { $0.notStarted(number ?? 0, "hidden", isHidden: true, $1) }
        bench.settle()
        bench.run { $0.setForeground(true, $1) }
        bench.settle(Self.offer(on: Self.other))
        #expect(Self.channels(of: bench) == [Self.channel, Self.other])
    }
}
