import JSONText
import LiveActivityAPI
import LiveActivityRegistration
import Testing

/// Edge cases of cards.
struct CardCareTests {
    private static func over(_ state: InstanceRequest.State, _ localID: String = "c") -> SeenCard {
        var card = PhoneBench.card(localID)
        card.state = state
        return card
    }

    private static func report(_ bench: PhoneBench, of localID: String = "c") -> JSONObject {
        PhoneBench.body(bench.sent.last { $0.path.hasSuffix("/\(localID)") })
    }

    @Test func `a card of an earlier process that this one saw running may be swiped away`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        bench.settle()
        bench.kill()
        bench.launch(cards: [PhoneBench.card("c", token: 1)])
        bench.settle()
        bench.run { $0.see(Self.over(.dismissed), $1) }
        #expect(Self.report(bench)["state"]?.string == "dismissed")
    }

    @Test func `so may one that does not say what it shows`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", nil, token: 1)])
        bench.settle()
        bench.run { $0.see(Self.over(.dismissed), $1) }
        #expect(Self.report(bench)["state"]?.string == "dismissed")
    }

    @Test func `a token, and what a card shows, stay known when iOS does not repeat them`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", nil, token: 1)])
        bench.settle()
        bench.run { $0.see(PhoneBench.card("c", "a", step: 2), $1) }
        #expect(Self.report(bench)["token"]?.string == PhoneBench.token(1).text)
        #expect(Self.report(bench)["activity"]?.string == "a")
        bench.settle()
        bench.run { $0.see(PhoneBench.card("c", nil, step: 3), $1) }
        #expect(Self.report(bench)["activity"]?.string == "a")
    }

    @Test(arguments: [InstanceRequest.State.pending, .active, .stale])
    func `updates still change a card that waits or looks outdated`(state: InstanceRequest.State) {
        var card = PhoneBench.card("c", token: 1)
        card.state = state
        var bench = PhoneBench.ready()
        bench.settle()
        bench.run { $0.see(card, $1) }
        #expect(Self.report(bench)["state"]?.string == state.rawValue)
        bench.settle()
        #expect(bench.run { $0.update("c", content: ["step": 2], $1) })
    }

    @Test func `the end of a card is said at once, in the middle of a pause, and before an inventory`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        bench.settle()
        bench.run { $0.see(PhoneBench.card("c", token: 2), $1) }
        bench.loseAnswer()
        let calls = bench.sent.count
        bench.run { $0.see(Self.over(.ended), $1) }
        #expect(bench.sent.count == calls + 1)
        bench.settle()

        var waking = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        waking.settle()
        waking.run { $0.wake($1) }
        waking.run { $0.see(Self.over(.ended), $1) }
        let said = waking.settle()
        #expect(said.map { $0.split(separator: "/").last ?? "" } == ["phone%2F1", "c", "instances"])
    }

    @Test func `a card that is over does not come back before its end was confirmed either`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        bench.settle()
        bench.run { $0.see(Self.over(.ended), $1) }
        let memory = (try? JSONValue(encoding: bench.disk).text) ?? ""
        #expect(memory.contains(#""c""#) && !memory.contains(PhoneBench.token(1).text), "its token is not kept")
        bench.run { $0.see(PhoneBench.card("c", token: 2), $1) }
        #expect(bench.ended == ["c"])
        bench.settle()
        #expect(Self.report(bench)["state"]?.string == "ended" && bench.machine.isSettled)
    }

    @Test func `of cards that are over the newest are remembered`() {
        var bench = PhoneBench.ready()
        bench.settle()
        for number in 1...130 { bench.run { $0.see(Self.over(.ended, "c\(number)"), $1) } }
        let over = (try? JSONValue(encoding: bench.disk))?.object?["over"]?.array ?? []
        #expect(over.count == 128 && over.last == "c130" && over.first == "c3")
    }

    // MARK: - Duplicates

    @Test func `cards of several types, unnamed ones and one that is over are no duplicates`() {
        var ride = PhoneBench.card("r")
        ride.type = "ride"
        let unnamed = [PhoneBench.card("c", nil), PhoneBench.card("d", nil)]
        #expect(PhoneBench.ready(cards: [PhoneBench.card("o"), ride] + unnamed).ended.isEmpty)

        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        bench.settle()
        bench.run { $0.see(Self.over(.ended), $1) }
        #expect(bench.run { $0.start(PhoneBench.order(), $1) } != nil, "nothing is shown any more")
        bench.run { $0.see(PhoneBench.card("d"), $1) }
        bench.settle()
        #expect(bench.ended.isEmpty && Self.report(bench)["state"]?.string == "ended")

        var nameless = PhoneBench.ready(cards: [PhoneBench.card("c", nil)])
        var order = PhoneBench.order()
        order.activity = nil
        let number = nameless.run { [order] in $0.start(order, $1) }
        #expect(number != nil)
    }

    @Test func `a duplicate goes at once`() {
        let bench = PhoneBench.ready(cards: [PhoneBench.card("old", token: 1), PhoneBench.card("new")])
        #expect(bench.cardActions == [.end(localID: "new", content: nil, .immediate, timestamp: nil)])
    }

    @Test func `cards are reported in the order in which they came, and tokens of tracked types alone`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("z", "1", token: 1), PhoneBench.card("b", "2", token: 2)])
        bench.settle()
        bench.run { $0.see(startToken: PhoneBench.token(8), for: "ride", $1) }
        #expect(bench.machine.isSettled)
        bench.run { $0.see(startToken: PhoneBench.token(9), for: "order", $1) }
        for (card, activity) in [("b", "2"), ("z", "1")] {
            bench.run { $0.see(PhoneBench.card(card, activity, token: 5), $1) }
        }
        #expect(bench.settle().map { $0.suffix(2) } == ["er", "/z", "/b"])
    }

    // MARK: - Conflicting changes

    @Test func `a push that lies over the app's own change takes its place`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        bench.settle(PhoneBench.wish(step: 1, revision: 3))
        _ = bench.run { $0.update("c", content: ["step": 50], $1) }
        bench.settle()
        bench.run { $0.see(PhoneBench.card("c", token: 1, step: 7), $1) }
        #expect(Self.report(bench)["basedOn"] == nil)
        // The revision of that state is unknown, so the server's desired state applies.
        bench.settle(PhoneBench.wish(step: 1, revision: 3))
        #expect(bench.updates.last == ["step": 1])

        var other = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        other.settle(PhoneBench.wish(step: 1, revision: 3))
        other.run { $0.see(PhoneBench.card("c", token: 1, step: 7), $1) }
        other.settle(PhoneBench.wish(step: 1, revision: 3))
        #expect(other.updates == [["step": 1]])
    }

    @Test func `what the server has taken over is not the app's own any more`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        bench.settle(PhoneBench.wish(step: 1, revision: 3))
        _ = bench.run { $0.update("c", content: ["step": 50], $1) }
        _ = bench.run { $0.update("c", content: ["step": 51], $1) }
        bench.settle()
        #expect(Self.report(bench)["basedOn"]?.int == 3, "both are based on what was there before the first")
        bench.run { $0.wake($1) }
        bench.settle(PhoneBench.wish(step: 51, revision: 4))
        bench.run { $0.see(PhoneBench.card("c", token: 2, step: 51), $1) }
        #expect(Self.report(bench)["basedOn"] == nil)
        _ = bench.run { $0.update("c", content: ["step": 52], $1) }
        bench.settle()
        #expect(Self.report(bench)["basedOn"]?.int == 4)
    }

    @Test func `what iOS wrote in other words is the revision that was asked for, what it ignored is not`() {
        for (written, basedOn): (JSONObject, Int?) in [(["step": 4, "note": "new"], 4), (["step": 9], nil)] {
            var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
            bench.writes = nil
            bench.settle(PhoneBench.wish(step: 4, revision: 4))
            if basedOn == nil { bench.run { $0.see(PhoneBench.card("c", token: 1, step: 9), $1) } }
            bench.comeBack(written)
            bench.settle()
            _ = bench.run { $0.update("c", content: ["step": 50], $1) }
            bench.comeBack(["step": 50])
            bench.settle()
            #expect(Self.report(bench)["basedOn"]?.int == basedOn)
        }
    }

    @Test func `a card that appeared while a call was under way is not changed by its answer`() {
        var bench = PhoneBench.ready()
        bench.run { $0.see(PhoneBench.card("c", token: 1), $1) }
        bench.answer(200, PhoneBench.wish(step: 5, revision: 5))
        #expect(bench.updates.isEmpty)
    }

    // MARK: - Starts

    @Test func `a start that iOS tells of before it comes back from it is reported as the app's own`() {
        var bench = PhoneBench.ready()
        bench.settle(date: 1_795_271_520)
        let order = bench.run { $0.start(PhoneBench.order(), $1) }
        bench.answer(200, date: 1_795_271_520)
        bench.run { $0.see(PhoneBench.card("mine"), $1) }
        bench.settle()
        bench.run { $0.started(order ?? 0, PhoneBench.card("mine"), $1) }
        #expect(Self.report(bench, of: "mine")["startedAt"] != nil)
    }

    @Test func `a word before a start that is lost is not repeated, and one that came too late is waited for`() {
        var bench = PhoneBench.ready()
        bench.settle()
        bench.run { _ = $0.start(PhoneBench.order(), $1) }
        let calls = bench.sent.count
        bench.loseAnswer()
        bench.wait(2_000)
        #expect(bench.sent.count == calls && bench.cardActions.isEmpty)

        var late = PhoneBench.ready()
        late.settle()
        late.run { _ = $0.start(PhoneBench.order(), $1) }
        late.now.steady += 90_000
        late.answer()
        late.wait(2_999)
        #expect(late.cardActions.isEmpty)
        late.wait(1)
        #expect(late.cardActions.count == 1)
    }

    @Test func `what the server has ended is not started, nor what the app may not start`() {
        var bench = PhoneBench.ready()
        bench.settle()
        bench.run { _ = $0.start(PhoneBench.order(), $1) }
        bench.answer(200, PhoneBench.wish(step: 1, revision: 1, phase: "ended", starts: true))
        #expect(bench.cardActions.isEmpty && bench.notes.last?.detail == "ended")

        let wish = PhoneBench.wish(step: 1, revision: 1, starts: true)
        var denied = PhoneBench()
        denied.launch(facts: PhoneBench.facts(enabled: false))
        for var bench in [denied, PhoneBench.ready(.init(startsCards: false))] {
            bench.run { $0.setForeground(true, $1) }
            bench.settle(wish)
            #expect(bench.cardActions.isEmpty)
        }
    }

    @Test func `whatever a device is called stands in the path as it is`() {
        var machine = RegistrationMachine(
            RegistrationMemory(device: "a/\u{1}é~"), types: PhoneBench.types, credentials: PhoneCredentials())
        let now = PhoneMoment(wall: 0, steady: 0)
        machine.signIn("ann", now)
        machine.see(PhoneBench.facts(), now)
        let paths = machine.takeActions().compactMap { action -> String? in
            if case .send(let call) = action { call.path } else { nil }
        }
        #expect(paths == ["/v1/devices/a%2F%01%C3%A9~"])
    }
}
