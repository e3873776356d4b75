import JSONText
import LiveActivityAPI
import LiveActivityRegistration
import TestSupport
import Testing

struct RegistrationTests {
    @Test func `P5: a token that is null, or not permitted, is not registered`() {
        var bench = PhoneBench()
        bench.run { $0.see(startToken: nil, for: "order", $1) }
        bench.launch(facts: PhoneBench.facts(enabled: false))
        bench.run { $0.see(startToken: PhoneBench.token(1), for: "order", $1) }
        #expect(bench.settle().allSatisfy { !$0.contains("push-to-start") })
        bench.run { $0.see(PhoneBench.facts(enabled: true), $1) }
        #expect(bench.settle().contains("PUT /v1/devices/phone%2F1/push-to-start-tokens/order"))
    }

    @Test func `P6: a registration is repeated until it is confirmed, with growing pauses`() {
        var bench = PhoneBench.ready()
        var pauses: [Int] = []
        for _ in 0..<12 {
            let before = bench.sent.count
            bench.loseAnswer()
            #expect(bench.sent.count == before)
            let due = bench.machine.nextWake ?? 0
            pauses.append(due - bench.now.steady)
            bench.wait(due - bench.now.steady)
            #expect(bench.sent.count == before + 1)
        }
        #expect(pauses.first == 750 && pauses.last == 225_000)
        #expect(pauses == pauses.sorted())
        bench.settle()
        #expect(bench.machine.isSettled)
    }

    @Test func `P6: what was not confirmed is said after a kill, and again on the screen`() {
        var bench = PhoneBench.ready()
        bench.run { $0.see(startToken: PhoneBench.token(1), for: "order", $1) }
        bench.loseAnswer()
        bench.kill()
        // The sequence does not repeat the token, and the property is `nil` at first, so the token is remembered.
        bench.launch()
        #expect(bench.settle().contains { $0.contains("push-to-start-tokens/order") })
        #expect(bench.machine.isSettled)
        let calls = bench.sent.count
        bench.run { $0.setForeground(true, $1) }
        bench.run { $0.see(startToken: PhoneBench.token(1), for: "order", $1) }
        #expect(bench.settle().contains { $0.contains("push-to-start-tokens/order") })
        #expect(bench.sent.count > calls)
    }

    @Test func `P6: a first token that takes minutes is registered when it comes`() {
        var bench = PhoneBench.ready()
        bench.settle()
        bench.wait(600_000)
        bench.run { $0.see(startToken: PhoneBench.token(1), for: "order", $1) }
        #expect(PhoneBench.body(bench.sent.last)["token"]?.string == PhoneBench.token(1).text)
    }

    @Test func `what answers with a redirect is not the server: it confirms nothing, and is asked again`() {
        var bench = PhoneBench.ready()
        bench.run { $0.see(startToken: PhoneBench.token(1), for: "order", $1) }
        for leaves in [false, true] {
            if leaves { bench.run { $0.signOut($1) } }
            bench.answer(302, "")
            #expect(bench.notes.last?.code == .serverUnreachable && !bench.machine.isSettled)
            bench.wait((bench.machine.nextWake ?? 0) - bench.now.steady)
            bench.settle()
            #expect(bench.notes.contains { $0.code == (leaves ? .signedOut : .tokenConfirmed) })
        }
    }

    @Test func `P9: the notes show a token obtained, sent and confirmed, and mask it`() {
        var bench = PhoneBench.ready()
        bench.settle()
        bench.run { $0.see(startToken: PhoneBench.token(7), for: "order", $1) }
        bench.settle()
        let flow = bench.notes.filter { $0.detail?.hasPrefix("push-to-start") == true }
        #expect(flow.map(\.code) == [.tokenObtained, .tokenSent, .tokenConfirmed])
        #expect(flow.allSatisfy { $0.detail == "push-to-start 00000000…" })
        var text = ""
        for call in bench.sent { dump(call, to: &text) }
        #expect(!text.contains(PhoneBench.token(7).text) && !"\(bench.notes)".contains(PhoneBench.token(7).text))
    }

    @Test func `the newest token wins, also over one under way`() {
        var bench = PhoneBench.ready()
        bench.settle()
        bench.run { $0.see(startToken: PhoneBench.token(1), for: "order", $1) }
        bench.run { $0.see(startToken: PhoneBench.token(2), for: "order", $1) }
        bench.settle()
        #expect(PhoneBench.body(bench.sent.last)["token"]?.string == PhoneBench.token(2).text)
        #expect(bench.machine.isSettled)
    }

    @Test func `a dead token is not said again, the next one is`() {
        var bench = PhoneBench.ready()
        bench.settle()
        bench.run { $0.see(startToken: PhoneBench.token(1), for: "order", $1) }
        bench.answer(409, #"{"code":"dead_token"}"#)
        #expect(bench.machine.isSettled)
        bench.run { $0.setForeground(true, $1) }
        #expect(bench.settle().allSatisfy { !$0.contains("push-to-start") })
        bench.run { $0.see(startToken: PhoneBench.token(2), for: "order", $1) }
        #expect(PhoneBench.body(bench.sent.last)["token"]?.string == PhoneBench.token(2).text)
    }

    @Test func `a device that the server forgot registers anew`() {
        var bench = PhoneBench.ready()
        bench.settle()
        bench.run { $0.see(PhoneBench.card("c", token: 3), $1) }
        bench.answer(404, #"{"code":"unknown_device"}"#)
        bench.wait(60_000)
        #expect(bench.settle().first == "PUT /v1/devices/phone%2F1")
        #expect(bench.machine.isSettled)
    }

    @Test func `W5: the switch for frequent updates is reported with every registration`() {
        var bench = PhoneBench.ready()
        #expect(PhoneBench.body(bench.sent.first)["frequentPushesEnabled"]?.bool == true)
        bench.settle()
        bench.run { $0.see(PhoneBench.facts { $0.frequentPushesEnabled = false }, $1) }
        #expect(PhoneBench.body(bench.sent.last)["frequentPushesEnabled"]?.bool == false)
    }

    @Test func `nothing is said while nobody is signed in`() {
        var bench = PhoneBench()
        bench.launch(user: nil)
        bench.run { $0.see(startToken: PhoneBench.token(1), for: "order", $1) }
        bench.wait(60_000)
        #expect(bench.sent.isEmpty)
    }

    @Test func `signing out ends every card before the server hears of it, and is repeated after a kill`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 3)])
        bench.settle()
        let calls = bench.sent.count
        bench.run { $0.signOut($1) }
        #expect(bench.ended == ["c"])
        #expect(bench.sent.count == calls, "not before the card is off the screen")
        var over = PhoneBench.card("c")
        over.state = .dismissed
        bench.run { $0.see(over, $1) }
        #expect(bench.sent.last?.method == .delete)
        bench.loseAnswer()
        bench.kill()
        bench.launch(user: nil)
        #expect(bench.sent.last?.method == .delete)
        bench.answer(404, #"{"code":"unknown_device"}"#)
        #expect(bench.machine.isSettled && !bench.disk.isLeaving)
    }

    @Test func `a card that appears where nobody is signed in ends at once`() {
        var bench = PhoneBench.ready()
        bench.settle()
        bench.run { $0.signOut($1) }
        bench.settle()
        bench.run { $0.see(PhoneBench.card("late", token: 4), $1) }
        #expect(bench.ended == ["late"])
        #expect(bench.machine.isSettled)
    }

    @Test func `another person ends what the one before saw, and gets an inventory of their own`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 3)])
        bench.settle()
        bench.run { $0.signIn("bob", $1) }
        #expect(bench.ended == ["c"])
        // The server gave nothing that proves whose phone it is, so the previous person is signed out first.
        #expect(bench.sent.last?.method == .delete)
        bench.answer()
        #expect(PhoneBench.body(bench.sent.last)["user"]?.string == "bob")
        #expect(bench.settle().contains("PUT /v1/devices/phone%2F1/instances"))
        #expect(PhoneBench.body(bench.sent.last)["instances"]?.array == [])
    }

    @Test func `an answer to a person who has left brings nothing back`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 3)])
        bench.run { $0.signOut($1) }
        bench.answer(200, PhoneBench.wish(step: 9, revision: 9))
        #expect(!bench.cardActions.contains { if case .update = $0 { true } else { false } })
    }

    @Test func `P8: in any life only tokens there are, and only with permission, are registered`() {
        for seed: UInt64 in 1...200 {
            var dice = SeededDice(seed: seed)
            var bench = PhoneBench()
            var enabled: Bool? = dice.chance(50) ? nil : dice.chance(50)
            var tokens: Set<String> = []
            bench.launch(user: dice.chance(80) ? "ann" : nil, facts: PhoneBench.facts(enabled: enabled))
            for _ in 0..<40 {
                let before = bench.sent.count
                switch dice.roll(8) {
                case 0:
                    enabled = dice.chance(50)
                    bench.run { $0.see(PhoneBench.facts(enabled: enabled), $1) }
                case 1:
                    let token = PhoneBench.token(dice.roll(1_000))
                    tokens.insert(token.text)
                    bench.run { $0.see(startToken: token, for: "order", $1) }
                case 2: bench.run { $0.see(startToken: nil, for: "order", $1) }
                case 3: bench.run { $0.setForeground(dice.chance(50), $1) }
                case 4: bench.answer(dice.pick([200, 200, 200, 401, 409, 429, 503]))
                case 5: bench.loseAnswer()
                case 6:
                    bench.kill()
                    bench.launch(user: dice.chance(80) ? "ann" : nil, facts: PhoneBench.facts(enabled: enabled))
                default: bench.wait(dice.roll(100_000))
                }
                for call in bench.sent.dropFirst(min(before, bench.sent.count))
                where call.path.contains("push-to-start-tokens") {
                    #expect(enabled == true, "seed \(seed): not permitted")
                    let token = PhoneBench.body(call)["token"]?.string
                    #expect(token.map(tokens.contains) == true, "seed \(seed): no such token")
                }
            }
        }
    }

    @Test func `a start token that changed before the call was made is not said any more`() throws {
        var bench = PhoneBench.ready()
        bench.settle()
        bench.run { $0.see(startToken: PhoneBench.token(1), for: "order", $1) }
        let old = try #require(bench.sent.last)
        #expect(bench.run { $0.isDue(old.number, $1) })
        bench.run { $0.see(startToken: PhoneBench.token(2), for: "order", $1) }
        #expect(!bench.run { $0.isDue(old.number, $1) })
        let new = try #require(bench.sent.last)
        #expect(new.number != old.number && PhoneBench.body(new)["token"]?.string == PhoneBench.token(2).text)
        #expect(bench.run { $0.isDue(new.number, $1) })
    }
}
