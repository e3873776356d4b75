import JSONText
import LiveActivityAPI
import LiveActivityRegistration
import Testing

/// Updates from the desired state to the card's actual content. iOS may refuse, and the process may end, at any moment
/// in between.
struct UpdateTests {
    private static func content(_ step: Int) -> JSONObject { ["step": .number(JSONNumber(step))] }

    /// Returns a card that holds step 1, with an update to step 4 that iOS has not confirmed.
    private static func underWay() -> PhoneBench {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        bench.writes = nil
        bench.settle(PhoneBench.wish(step: 4, revision: 4), date: 1_795_271_520)
        return bench
    }

    private static func shown(_ bench: PhoneBench) -> JSONObject? {
        let call = bench.sent.last { $0.path.hasSuffix("/c") || $0.path.hasSuffix("/instances") }
        let body = PhoneBench.body(call)
        return (body["instances"]?.array?.first?.object ?? body)["contentState"]?.object
    }

    @Test func `until iOS has come back the card counts as holding what it held`() {
        var bench = Self.underWay()
        #expect(bench.updates == [Self.content(4)])
        bench.run { $0.wake($1) }
        bench.settle(PhoneBench.wish(step: 4, revision: 4))
        #expect(Self.shown(bench) == Self.content(1))
        #expect(bench.updates.count == 1, "it is on its way already")
        bench.comeBack(Self.content(4))
        bench.settle(PhoneBench.wish(step: 4, revision: 4))
        #expect(Self.shown(bench) == Self.content(4) && bench.updates.count == 1)
    }

    @Test func `a wish that came while another was on its way is seen through after it`() {
        var bench = Self.underWay()
        bench.run { $0.wake($1) }
        bench.settle(PhoneBench.wish(step: 5, revision: 5))
        #expect(bench.updates.count == 1)
        bench.comeBack(Self.content(4))
        bench.settle(PhoneBench.wish(step: 5, revision: 5))
        #expect(bench.updates == [Self.content(4), Self.content(5)])
    }

    @Test(arguments: [1, 4, 7])
    func `killed in between, the next launch reports what the card holds and goes on from there`(held: Int) {
        var bench = Self.underWay()
        bench.kill()
        bench.writes = { $0 }
        bench.launch(cards: [PhoneBench.card("c", token: 1, step: held)])
        // Nothing is reported about the desired state before the card was read.
        bench.settle()
        #expect(Self.shown(bench) == Self.content(held))
        bench.run { $0.wake($1) }
        bench.settle(PhoneBench.wish(step: 4, revision: 4))
        #expect(bench.updates == (held == 4 ? [] : [Self.content(4)]))
        #expect(Self.shown(bench) == Self.content(4))
    }

    @Test func `an update of the app's own that was cut off is still the app's own, if iOS had done it`() {
        for isDone in [true, false] {
            var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
            bench.settle(PhoneBench.wish(step: 1, revision: 3))
            bench.writes = nil
            #expect(bench.run { $0.update("c", content: Self.content(50), $1) })
            bench.kill()
            bench.launch(cards: [PhoneBench.card("c", token: 1, step: isDone ? 50 : 1)])
            bench.settle(PhoneBench.wish(step: 1, revision: 3))
            let inventory = bench.sent.last { $0.path.hasSuffix("/instances") }
            let item = PhoneBench.body(inventory)["instances"]?.array?.first?.object ?? [:]
            #expect(item["contentState"]?.object == Self.content(isDone ? 50 : 1))
            #expect(item["basedOn"]?.int == (isDone ? 3 : nil))
        }
    }

    @Test func `the app's updates in a row are based on what was there before the first, and their seconds grow`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        bench.settle(PhoneBench.wish(step: 1, revision: 3), date: 1_795_271_520)
        bench.writes = nil
        for step in 50..<53 { #expect(bench.run { $0.update("c", content: Self.content(step), $1) }) }
        let seconds = bench.cardActions.compactMap { action -> Int? in
            if case .update(_, _, _, _, let timestamp) = action { timestamp } else { nil }
        }
        #expect(seconds.count == 3 && seconds == Array(Set(seconds)).sorted())
        for step in 50..<53 { bench.comeBack(Self.content(step)) }
        bench.settle(PhoneBench.wish(step: 1, revision: 3))
        let report = PhoneBench.body(bench.sent.last { $0.path.hasSuffix("/c") })
        #expect(report["basedOn"]?.int == 3 && report["contentState"]?.object == Self.content(52))
        #expect(
            report["lastTimestamp"]?.string == seconds.last.flatMap { Instant(milliseconds: $0 * 1_000) }?.description)
    }

    @Test func `iOS may tell of the change before it comes back from it: it is the app's own all the same`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        bench.settle(PhoneBench.wish(step: 1, revision: 3))
        bench.writes = nil
        _ = bench.run { $0.update("c", content: Self.content(50), $1) }
        bench.run { $0.see(PhoneBench.card("c", token: 1, step: 50), $1) }
        let report = PhoneBench.body(bench.sent.last)
        #expect(report["basedOn"]?.int == 3 && report["contentState"]?.object == Self.content(50))
        bench.comeBack(Self.content(50))
        bench.settle(PhoneBench.wish(step: 1, revision: 3))
        #expect(bench.updates.count == 1 && bench.machine.isSettled)
    }

    @Test func `the app's update on top of the server's that is on its way is based on that one`() {
        var bench = Self.underWay()
        _ = bench.run { $0.update("c", content: Self.content(50), $1) }
        bench.comeBack(Self.content(4))
        bench.comeBack(Self.content(50))
        bench.settle(PhoneBench.wish(step: 4, revision: 4))
        #expect(PhoneBench.body(bench.sent.last { $0.path.hasSuffix("/c") })["basedOn"]?.int == 4)
    }

    @Test func `a push that comes in between is what the card holds, and what was asked for is not claimed`() {
        var bench = Self.underWay()
        bench.run { $0.see(PhoneBench.card("c", token: 1, step: 9), $1) }
        // Older than the push, so iOS ignored it.
        bench.comeBack(Self.content(9))
        bench.writes = { $0 }
        bench.settle(PhoneBench.wish(step: 9, revision: 9))
        #expect(Self.shown(bench) == Self.content(9) && bench.updates.count == 1)
    }

    @Test func `a card that is gone when the update comes is reported as gone`() {
        var bench = Self.underWay()
        bench.run { $0.lost("c", $1) }
        bench.listNothing()
        #expect(PhoneBench.body(bench.sent.last)["state"]?.string == "gone")
        bench.settle()
        #expect(bench.machine.isSettled)
    }

    @Test func `a local change is newer than the newest push, whatever the phone's clock and the server's Date say`() {
        // A card without a token. With a token, a state so far ahead would be left to a push.
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c")])
        let wish = PhoneBench.wish(step: 1, revision: 3, localID: "c", lastTimestamp: "2026-11-21T15:00:00Z")
        bench.settle(wish, date: 1_795_271_520)
        _ = bench.run { $0.update("c", content: Self.content(50), $1) }
        bench.settle(PhoneBench.wish(step: 6, revision: 6, localID: "c"), date: 1_795_271_520)
        bench.run { $0.wake($1) }
        bench.settle(PhoneBench.wish(step: 6, revision: 6, phase: "ended", localID: "c"), date: 1_795_271_520)
        let seconds = bench.cardActions.compactMap { action -> Int? in
            switch action {
            case .update(_, _, _, _, let timestamp), .end(_, _, _, let timestamp): timestamp
            default: nil
            }
        }
        let pushed = 1_795_273_200
        #expect(seconds == [pushed + 1, pushed + 2, pushed + 3], "2026-11-21T15:00:00Z is \(pushed)")
    }
}
