import JSONText
import LiveActivityAPI
import LiveActivityRegistration
import Testing

/// One person leaves, and another one arrives.
struct LeaveTests {
    private static let given = #"{"activities":[],"credential":"islet_device_1"}"#

    @Test func `cards that iOS is slow to end hold up the word to the server for ten seconds`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        bench.settle()
        let calls = bench.sent.count
        bench.run { $0.signOut($1) }
        #expect(bench.cardActions == [.end(localID: "c", content: nil, .immediate, timestamp: nil)])
        #expect(bench.machine.nextWake == bench.now.steady + 10_000)
        bench.wait(9_999)
        #expect(bench.sent.count == calls)
        bench.wait(1)
        #expect(bench.sent.last?.method == .delete)

        // A card that is already gone delays nothing.
        var lost = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        lost.settle()
        lost.run { $0.signOut($1) }
        lost.run { $0.lost("c", $1) }
        #expect(lost.sent.last?.method == .delete)
    }

    @Test func `a card of the person before is never the next one's, however long iOS shows it`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        bench.settle()
        bench.run { $0.signIn("bob", $1) }
        bench.settle()
        bench.run { $0.see(PhoneBench.card("c", token: 2), $1) }
        bench.run { $0.see(PhoneBench.card("c", token: 2), $1) }
        bench.run { $0.wake($1) }
        #expect(bench.settle().allSatisfy { !$0.hasSuffix("/c") })
        #expect(PhoneBench.body(bench.sent.last)["instances"]?.array == [])
        #expect(bench.ended == ["c"], "asked for once, until it is seen over or the app is back on the screen")
        bench.run { $0.setForeground(true, $1) }
        bench.run { $0.see(PhoneBench.card("c", token: 2), $1) }
        #expect(bench.ended == ["c", "c"])
    }

    /// The server regards the cards that ended here as gone, and makes no others for somebody who never left.
    @Test func `who comes back before the server knew that they left takes leave first`() {
        let returns: [([(inout RegistrationMachine, PhoneMoment) -> Void], String)] = [
            ([{ $0.signOut($1) }, { $0.signIn("ann", $1) }], "at once"),
            ([{ $0.signIn("bob", $1) }, { $0.signIn("ann", $1) }], "after another"),
            ([{ $0.signIn("bob", $1) }, { $0.signOut($1) }, { $0.signIn("ann", $1) }], "after both"),
        ]
        for (steps, name) in returns {
            var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
            bench.answer(200, Self.given)
            bench.settle()
            let calls = bench.sent.count
            for step in steps { bench.run { step(&$0, $1) } }
            bench.kill()
            bench.launch()
            #expect(bench.sent.map(\.method) == [.delete] && calls > 0, "\(name)")
            bench.answer()
            #expect(bench.sent.last?.method == .put && PhoneBench.body(bench.sent.last)["user"] == "ann", "\(name)")
            bench.settle()
            #expect(bench.machine.isSettled && bench.sent.count { $0.method == .delete } == 1, "\(name)")
        }
        // The server has Bob by now, and has ended Ann's cards.
        var known = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        for person in ["bob", "ann"] {
            known.answer(200, Self.given)
            known.settle()
            known.run { $0.signIn(person, $1) }
        }
        #expect(known.sent.last?.method == .put)
    }

    @Test func `nor is one that came while nobody was signed in`() {
        var bench = PhoneBench.ready()
        bench.settle()
        bench.run { $0.signOut($1) }
        bench.settle()
        bench.run { $0.see(PhoneBench.card("late", token: 4), $1) }
        bench.run { $0.signIn("bob", $1) }
        bench.run { $0.see(PhoneBench.card("late", token: 4), $1) }
        bench.settle()
        #expect(bench.sent.allSatisfy { !$0.path.hasSuffix("/late") && !"\(PhoneBench.body($0))".contains("late") })
        #expect(bench.ended == ["late"])
    }

    @Test func `the next person comes before the last one's leave was confirmed`() {
        var bench = PhoneBench.ready()
        bench.answer(200, Self.given)
        bench.settle()
        bench.run { $0.signOut($1) }
        bench.loseAnswer()
        bench.run { $0.signIn("bob", $1) }
        #expect(bench.sent.last?.method == .put && bench.sent.last?.showsProof == true, "the proof says as much")
        #expect(!bench.disk.isLeaving)
        bench.settle()
        #expect(bench.sent.count { $0.method == .delete } == 1 && bench.machine.isSettled)
    }

    @Test func `after a leave that the server confirmed nobody has to leave again`() {
        var bench = PhoneBench.ready()
        bench.settle()
        bench.run { $0.signOut($1) }
        bench.answer()
        bench.run { $0.signIn("bob", $1) }
        #expect(bench.sent.last?.method == .put && PhoneBench.body(bench.sent.last)["user"] == "bob")
    }

    @Test func `what the Keychain has and the memory does not say proves the phone all the same`() {
        var bench = PhoneBench.ready()
        let before = bench.disk
        bench.answer(200, Self.given)
        // The process ended after the credential was kept and before the memory was written.
        bench.disk = before
        bench.kill()
        bench.launch()
        bench.run { $0.signIn("bob", $1) }
        bench.answer()
        #expect(bench.sent.last?.method == .put && bench.sent.last?.showsProof == true)

        // The credential of a person who is leaving proves nothing, because Bob may be registered as well.
        var leaving = PhoneBench.ready()
        leaving.answer(200, Self.given)
        leaving.settle()
        leaving.run { $0.signIn("bob", $1) }
        leaving.loseAnswer()
        leaving.run { $0.signOut($1) }
        leaving.loseAnswer()
        leaving.kill()
        leaving.launch(user: "cleo")
        #expect(leaving.sent.last?.method == .delete)
    }

    @Test func `of a switch that took the cards nobody is said to have swiped`() {
        for change: @Sendable (inout DeviceRequest) -> Void in [
            { $0.activitiesEnabled = false }, { $0.frequentPushesEnabled = false },
        ] {
            for wait in [59_999, 60_000] {
                var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
                bench.settle()
                bench.run { $0.see(PhoneBench.facts(change), $1) }
                bench.wait(wait)
                var over = PhoneBench.card("c")
                over.state = .dismissed
                bench.run { $0.see(over, $1) }
                bench.settle()
                let state = PhoneBench.body(bench.sent.last { $0.path.hasSuffix("/c") })["state"]?.string
                #expect(state == (wait < 60_000 ? "gone" : "dismissed"))
            }
        }
    }

    @Test func `a card that is over when it is first seen was never there`() {
        var bench = PhoneBench.ready()
        bench.settle()
        let calls = bench.sent.count
        var over = PhoneBench.card("c", token: 1)
        over.state = .ended
        bench.run { $0.see(over, $1) }
        #expect(bench.sent.count == calls && bench.machine.isSettled && bench.ended.isEmpty)
        bench.run { $0.see(PhoneBench.card("c", token: 1), $1) }
        #expect(bench.sent.count == calls && bench.ended == ["c"])
    }
}
