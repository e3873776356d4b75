import JSONText
import LiveActivityAPI
import LiveActivityRegistration
import Testing

/// Edge cases of the client.
struct CareTests {
    @Test func `the device token stays known when something else of the phone changes`() throws {
        var bench = PhoneBench.ready()
        bench.run { $0.see(PhoneBench.facts { $0.deviceToken = PhoneBench.token(9) }, $1) }
        bench.settle()
        bench.run { $0.see(PhoneBench.facts { $0.timeZone = "Europe/Rome" }, $1) }
        #expect(PhoneBench.body(bench.sent.last)["deviceToken"]?.string == PhoneBench.token(9).text)
    }

    @Test func `a network that is back, and a new token, end a pause`() {
        for news in [true, false] {
            var bench = PhoneBench.ready()
            for _ in 0..<6 {
                bench.loseAnswer()
                bench.wait(max(0, (bench.machine.nextWake ?? 0) - bench.now.steady))
            }
            bench.loseAnswer()
            let calls = bench.sent.count
            if news {
                bench.run { $0.see(startToken: PhoneBench.token(1), for: "order", $1) }
            } else {
                bench.run { $0.retryNow($1) }
            }
            #expect(bench.sent.count == calls + 1)
        }
    }

    @Test func `whoever sets the phone's clock, changes are dated by the server's seconds`() {
        for hours in [-2, 2] {
            var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
            bench.settle(date: 1_795_271_520)
            bench.now.wall += hours * 3_600_000
            _ = bench.run { $0.update("c", content: ["step": 2], $1) }
            guard case .update(_, _, _, _, 1_795_271_521)? = bench.cardActions.last else {
                Issue.record("\(bench.cardActions)")
                continue
            }
            // The minute for which the app's own state stays has the same length.
            bench.settle(PhoneBench.wish(step: 1, revision: 3), date: 1_795_271_521)
            #expect(bench.updates == [["step": 2]])
            bench.wait(61_000)
            bench.run { $0.wake($1) }
            bench.settle(PhoneBench.wish(step: 1, revision: 3), date: 1_795_271_582)
            #expect(bench.updates == [["step": 2], ["step": 1]])
        }
    }

    @Test func `the minute of the app's own state begins anew with a process that cannot know how long it was`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        bench.settle(PhoneBench.wish(step: 1, revision: 3))
        _ = bench.run { $0.update("c", content: ["step": 2], $1) }
        bench.settle(PhoneBench.wish(step: 1, revision: 3))
        bench.wait(600_000)
        bench.kill()
        bench.launch(cards: [PhoneBench.card("c", token: 1, step: 2)])
        bench.settle(PhoneBench.wish(step: 1, revision: 3))
        #expect(bench.updates.isEmpty)
        bench.wait(61_000)
        bench.run { $0.wake($1) }
        bench.settle(PhoneBench.wish(step: 1, revision: 3))
        #expect(bench.updates == [["step": 1]])
    }

    @Test func `what iOS tells some time after the launch is not taken for changed until then`() {
        var bench = PhoneBench()
        let known = PhoneBench.facts {
            $0.notificationAuthorization = .authorized
            $0.deviceToken = PhoneBench.token(9)
        }
        bench.launch(facts: known)
        bench.settle()
        bench.kill()
        bench.launch()
        bench.settle()
        bench.run { $0.see(known, $1) }
        bench.settle()
        let registrations = bench.sent.filter { $0.path.hasSuffix("phone%2F1") }
        #expect(registrations.count == 1)
        #expect(PhoneBench.body(registrations.first)["notificationAuthorization"] == "authorized")
    }

    @Test func `a card of the app's own was started by the server's clock`() {
        var bench = PhoneBench.ready()
        bench.now.wall += 3_600_000
        bench.settle(date: 1_795_271_520)
        let order = bench.run { $0.start(PhoneBench.order(), $1) }
        bench.answer(200, date: 1_795_271_520)
        bench.run { $0.started(order ?? 0, PhoneBench.card("mine", token: 1), $1) }
        #expect(PhoneBench.body(bench.sent.last)["startedAt"]?.string?.hasPrefix("2026-11-21T14:32:00") == true)
    }

    @Test func `the stale date of a card that no push reaches is moved by the answer`() {
        for token in [nil, 1] {
            var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: token)])
            let wish = PhoneBench.wish(step: 1, revision: 1).replacing(
                #""revision""#, with: #""staleAt":"2026-11-21T15:00:00Z","revision""#)
            bench.settle(wish)
            let dates = bench.cardActions.compactMap { action -> Instant? in
                if case .update(_, "c", _, let presentation, _) = action { presentation.staleAt } else { nil }
            }
            #expect(dates.map(\.description) == (token == nil ? ["2026-11-21T15:00:00Z"] : []))
        }
    }

    @Test func `a state that an answer brings comes with its place among the cards`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        for (step, words, relevance) in [(2, #""relevance":0.75,"#, 0.75), (3, "", nil)] as [(Int, String, Double?)] {
            bench.run { $0.wake($1) }
            bench.settle(
                PhoneBench.wish(step: step, revision: step).replacing(#""revision""#, with: words + #""revision""#))
            guard case .update(_, "c", _, let presentation, _)? = bench.cardActions.last else {
                Issue.record("not applied")
                continue
            }
            #expect(presentation.relevance == relevance)
        }
    }

    @Test func `who has no part in it any more sees the card go at once, others see its last state`() {
        for (state, isImmediate) in [(#"{}"#, true), (#"{"step":9}"#, false)] {
            var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
            bench.settle(
                """
                {"activities":[{"activity":"a","type":"order","state":\(state),"revision":2,"phase":"ended"}]}
                """)
            guard case .end("c", let content, let atOnce, _)? = bench.cardActions.last else {
                return #expect(Bool(false), "\(bench.cardActions)")
            }
            #expect(atOnce == (isImmediate ? .immediate : .systemDefault) && (content == nil) == isImmediate)
        }
    }

    @Test func `an ended card leaves the lock screen when the backend said, a date in the past at once`() throws {
        let cases: [(String, CardDismissal)] = [
            ("2026-11-21T14:59:59Z", .immediate),
            ("2026-11-21T15:30:00Z", .at(try #require(Instant("2026-11-21T15:30:00Z")))),
        ]
        for (date, expected) in cases {
            var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
            bench.settle(
                """
                {"activities":[{"activity":"a","type":"order","state":{"step":9},"revision":2,"phase":"ended",
                 "dismissAt":"\(date)"}]}
                """, date: 1_795_273_200)
            guard case .end("c", _, let dismissal, _)? = bench.cardActions.last else {
                return #expect(Bool(false), "\(bench.cardActions)")
            }
            #expect(dismissal == expected)
        }
    }
}
