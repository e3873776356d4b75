import JSONText
import LiveActivityAPI
import LiveActivityRegistration
import Testing

/// Calls that are repeated, the times of repetition, and calls that are not repeated.
struct RepetitionTests {
    private static func failing(_ times: Int) -> PhoneBench {
        var bench = PhoneBench.ready()
        for _ in 0..<times {
            bench.loseAnswer()
            bench.wait(max(0, (bench.machine.nextWake ?? 0) - bench.now.steady))
        }
        bench.loseAnswer()
        return bench
    }

    private static func pause(_ bench: PhoneBench) -> Int { (bench.machine.nextWake ?? 0) - bench.now.steady }

    @Test func `a wake, a turned switch and the app's own change end a pause`() {
        let ends: [(inout RegistrationMachine, PhoneMoment) -> Void] = [
            { $0.wake($1) }, { $0.setForeground(true, $1) }, { $0.signIn("bob", $1) }, { $0.signOut($1) },
            { $0.see(PhoneBench.facts { $0.frequentPushesEnabled = false }, $1) },
            { $0.see(PhoneBench.card("c", token: 1), $1) }, { _ = $0.start(PhoneBench.order(), $1) },
        ]
        for end in ends {
            var bench = Self.failing(6)
            #expect(Self.pause(bench) > 10_000)
            let calls = bench.sent.count
            bench.run { end(&$0, $1) }
            #expect(bench.sent.count == calls + 1)
        }
        for isEnd in [false, true] {
            var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
            bench.settle()
            bench.run { $0.see(PhoneBench.card("c", token: 2), $1) }
            bench.loseAnswer()
            let calls = bench.sent.count
            _ = bench.run {
                isEnd
                    ? $0.end("c", content: nil, .systemDefault, $1) : $0.update("c", content: ["step": 2], $1)
            }
            #expect(bench.sent.count == calls + 1)
        }
    }

    /// The token may be stale. A repetition would pass for one that the app has just read.
    @Test func `a start token that iOS does not name any more is not said again`() {
        func said(_ bench: PhoneBench) -> Int { bench.sent.count { $0.path.contains("/push-to-start-tokens/") } }
        var bench = PhoneBench.ready()
        bench.run { $0.see(startToken: PhoneBench.token(9), for: "order", $1) }
        bench.settle()
        #expect(said(bench) == 1)
        bench.run { $0.wake($1) }
        bench.settle()
        #expect(said(bench) == 1)
        for _ in 0..<2 { bench.run { $0.see(startToken: PhoneBench.token(9), for: "order", $1) } }
        bench.settle()
        #expect(said(bench) == 2, "once for each time that everything is read")
        bench.kill()
        bench.launch()
        bench.settle()
        #expect(said(bench) == 0 && bench.machine.isSettled)
        // A server without data gets the current state, and so does the next person's registration.
        bench.run { $0.wake($1) }
        bench.answer(404, #"{"code":"unknown_device"}"#)
        bench.wait(1_000)
        bench.settle()
        #expect(said(bench) == 1)
        bench.run { $0.signIn("bob", $1) }
        bench.settle()
        #expect(said(bench) == 2)
    }

    @Test func `an answer ends the growing of pauses, and they grow to five minutes at most`() {
        #expect(Self.pause(Self.failing(0)) == 750)
        #expect(Self.pause(Self.failing(3)) == 6_000)
        #expect(Self.pause(Self.failing(20)) == 225_000)
        var bench = Self.failing(6)
        bench.run { $0.retryNow($1) }
        bench.answer()
        bench.loseAnswer()
        #expect(Self.pause(bench) == 750)
    }

    @Test(arguments: [408, 425, 429, 500, 503]) func `a server in trouble is told again`(status: Int) {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        bench.settle()
        bench.run { $0.see(PhoneBench.card("c", token: 2), $1) }
        bench.answer(status)
        #expect(!bench.machine.isSettled && Self.pause(bench) > 0)
        bench.wait(1_000)
        #expect(PhoneBench.body(bench.sent.last)["token"]?.string == PhoneBench.token(2).text)
    }

    @Test func `a report that is refused as it is would be refused again: it is not repeated`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        bench.settle()
        bench.run { $0.see(PhoneBench.card("c", token: 2), $1) }
        bench.answer(422, #"{"code":"invalid_body"}"#)
        #expect(bench.machine.isSettled && bench.notes.last?.code == .callRefused)
        bench.run { $0.see(startToken: PhoneBench.token(3), for: "order", $1) }
        bench.answer(404, #"{"code":"unknown_type"}"#)
        #expect(
            bench.machine.isSettled && bench.notes.last?.code == .callRefused, "and nothing is said to be confirmed")
    }

    @Test func `a dead token of the device is left out, and the registration goes on without it`() {
        var bench = PhoneBench.ready()
        bench.settle()
        let facts = PhoneBench.facts {
            $0.deviceToken = PhoneBench.token(9)
            $0.timeZone = "Europe/Rome"
        }
        bench.run { $0.see(facts, $1) }
        bench.answer(409, #"{"code":"dead_token"}"#)
        #expect(bench.notes.contains { $0.code == .tokenDead && $0.detail?.hasPrefix("device ") == true })
        #expect(bench.sent.last?.path == "/v1/devices/phone%2F1")
        #expect(PhoneBench.body(bench.sent.last)["deviceToken"] == nil)
        #expect(PhoneBench.body(bench.sent.last)["timeZone"] == "Europe/Rome", "nothing of the call was taken")
        bench.settle()
        bench.run { $0.wake($1) }
        #expect(PhoneBench.body(bench.sent.last)["deviceToken"] == nil, "nor after a wake")
        bench.settle()
        bench.run { $0.see(PhoneBench.facts { $0.deviceToken = PhoneBench.token(10) }, $1) }
        #expect(PhoneBench.body(bench.sent.last)["deviceToken"]?.string == PhoneBench.token(10).text)
    }

    @Test(arguments: [nil, false]) func `P8: no token is registered before the person is known to allow it`(
        isAllowed: Bool?
    ) {
        var bench = PhoneBench()
        bench.launch(facts: PhoneBench.facts(enabled: isAllowed))
        bench.run { $0.see(startToken: PhoneBench.token(1), for: "order", $1) }
        #expect(bench.settle().allSatisfy { !$0.contains("push-to-start") } && bench.machine.isSettled)
        bench.run { $0.see(PhoneBench.facts(enabled: true), $1) }
        #expect(bench.settle().contains { $0.contains("push-to-start") })
    }

    @Test func `of dead tokens the newest are remembered`() {
        var bench = PhoneBench.ready()
        bench.settle()
        for number in 1...20 {
            bench.run { $0.see(startToken: PhoneBench.token(number), for: "order", $1) }
            bench.answer(409, #"{"code":"dead_token"}"#)
        }
        let calls = bench.sent.count
        bench.run { $0.see(startToken: PhoneBench.token(19), for: "order", $1) }
        #expect(bench.sent.count == calls, "known to be dead")
        let dead = (try? JSONValue(encoding: bench.disk))?.object?["deadTokens"]?.array ?? []
        #expect(dead.count == 16 && dead.last?.string == PhoneBench.token(20).text)
    }

    @Test func `what was answered before a wake is said again after it`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        bench.settle()
        bench.run { $0.see(startToken: PhoneBench.token(7), for: "order", $1) }
        bench.settle()
        for path in ["/phone%2F1", "/instances", "/push-to-start-tokens/order"] {
            for _ in 0..<2 {
                bench.run { $0.wake($1) }
                bench.run { $0.see(startToken: PhoneBench.token(7), for: "order", $1) }
                for _ in 0..<5 where bench.sent.last?.path.hasSuffix(path) != true { bench.answer() }
            }
            // This answer belongs to the time before the second wake.
            #expect(bench.settle().filter { $0.hasSuffix(path) }.count == 2, "\(path)")
        }
    }

    @Test func `what changed while a registration was under way is said after it`() {
        var bench = PhoneBench.ready()
        bench.run { $0.see(PhoneBench.facts { $0.timeZone = "Europe/Rome" }, $1) }
        bench.answer()
        #expect(bench.sent.last?.path == "/v1/devices/phone%2F1")
        #expect(PhoneBench.body(bench.sent.last)["timeZone"]?.string == "Europe/Rome")
        bench.settle()
        bench.run { $0.see(startToken: PhoneBench.token(1), for: "order", $1) }
        bench.run { $0.see(startToken: PhoneBench.token(2), for: "order", $1) }
        bench.answer()
        #expect(PhoneBench.body(bench.sent.last)["token"]?.string == PhoneBench.token(2).text)
    }

    @Test func `an inventory says of its cards all there is to say`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1), PhoneBench.card("d", "b", token: 2)])
        #expect(bench.settle().allSatisfy { !$0.contains("/instances/") })
        #expect(bench.machine.isSettled)
        bench.run { $0.wake($1) }
        bench.answer()
        let listed = PhoneBench.body(bench.sent.last)["instances"]?.array?.compactMap { $0.object?["localID"]?.string }
        #expect(listed == ["c", "d"], "in the order in which they were seen")
        // A card that changes while the inventory is under way is reported after it.
        bench.run { $0.see(PhoneBench.card("d", "b", token: 3), $1) }
        #expect(bench.settle().last == "PUT /v1/devices/phone%2F1/instances/d")
    }

    @Test func `coming to the screen twice in a row says everything once, and a null token takes none away`() {
        var bench = PhoneBench.ready()
        bench.settle()
        bench.run { $0.see(startToken: PhoneBench.token(1), for: "order", $1) }
        bench.settle()
        bench.run { $0.setForeground(true, $1) }
        bench.settle()
        let calls = bench.sent.count
        bench.run { $0.setForeground(true, $1) }
        #expect(bench.sent.count == calls)
        bench.run { $0.wake($1) }
        bench.run { $0.see(startToken: PhoneBench.token(1), for: "order", $1) }
        bench.run { $0.see(startToken: nil, for: "order", $1) }
        #expect(bench.settle().contains { $0.hasSuffix("/push-to-start-tokens/order") })
    }

    @Test func `an answer to another call than the one under way means nothing`() throws {
        var bench = PhoneBench.ready()
        let call = try #require(bench.sent.last)
        bench.run { $0.answered(call.number + 1, PhoneAnswer(status: 200), dice: 0, $1) }
        #expect(bench.sent.count == 1 && !bench.machine.isSettled)
        #expect(!bench.run { $0.isDue(call.number + 1, $1) })
        bench.answer()
        #expect(bench.sent.count == 2)
        bench.run { $0.answered(call.number, PhoneAnswer(status: 503), dice: 0, $1) }
        #expect(bench.sent.count == 2 && bench.machine.nextWake == 30_000)
    }

    @Test func `a card that is over and confirmed is forgotten, and one that changed meanwhile is not`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        bench.settle()
        // Its report is under way when the card ends.
        bench.run { $0.see(PhoneBench.card("c", token: 2), $1) }
        var over = PhoneBench.card("c")
        over.state = .ended
        bench.run { $0.see(over, $1) }
        bench.answer()
        #expect(PhoneBench.body(bench.sent.last)["state"]?.string == "ended")
        let report = PhoneBench.body(bench.sent.last)
        #expect(report["token"] == nil && report["contentState"] == nil, "a card that is over has none")
        bench.settle()
        let memory = (try? JSONValue(encoding: bench.disk))?.object
        #expect(memory?["cards"] == [:] && memory?["over"] == ["c"])
        bench.run { $0.wake($1) }
        #expect(bench.settle().allSatisfy { !$0.hasSuffix("/c") })
    }
}
