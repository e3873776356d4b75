import Exploration
import LiveActivityCore
import TestSupport
import Testing

/// Tests every order of events on one card, as far as time allows. `script/explore` goes further.
struct ExplorationTests {
    private func report(situations: Int, trap: Explorer.Trap? = nil) async -> Explorer.Report {
        var limits = Explorer.Limits()
        limits.situations = situations
        limits.workers = 2
        var explorer = Explorer(limits: limits, trap: trap)
        return await explorer.search()
    }

    @Test func `every promise holds in every situation that some events lead to`() async {
        let report = await report(situations: 60_000)
        for failure in report.failures.prefix(1) { Issue.record("\(failure.lines.joined(separator: "\n"))") }
        #expect(report.situations >= 60_000 && report.rests > 8000)
        // A search that reaches little would keep every promise.
        #expect(report.cells.states == Set(CardState.allCases))
        for fate in Event.Fate.allCases {
            #expect(report.cells.deeds[.settled(.update, .card, fate)] != nil, "\(fate)")
            #expect(report.cells.deeds[.settled(.start, .card, fate)] != nil || fate == .tokenDead, "\(fate)")
        }
        #expect(report.cells.strays.isEmpty, "the table of a card's life says otherwise")
        #expect(report.cells.missing.isEmpty)
    }

    @Test func `the first history to break a promise is a shortest, and says what happened`() async throws {
        let report = await report(situations: 60_000) { situation in
            situation.instance?.state == .ended ? Violation(rule: .newestArrives, text: "on purpose") : nil
        }
        let failure = try #require(report.failures.min { $0.events.count < $1.events.count })
        // One of the beginnings has a card that should end and is gone. The app's report completes the failure.
        #expect(failure.events.count == 1, "\(failure.events)")
        #expect(failure.lines.last == "VIOLATED 1 The newest state arrives: on purpose")
        #expect(failure.lines.count == 2 + failure.root.events.count + failure.events.count)
        #expect(failure.lines.dropLast().last?.contains("→ ended, sent r") == true)
    }

    @Test func `a beginning that cannot be reached is a failure, and not searched from`() async {
        let root = Situation.Root(
            name: "wrong", kind: .order, focus: .delivery, events: [.put(withAlert: false), .settle(0)])
        var explorer = Explorer(roots: [root])
        let report = await explorer.search()
        #expect(report.failures.count == 1 && report.situations == 0)
        #expect(
            report.failures.first?.lines.last?.contains("cannot come next: an answer is settled; this can: ") == true)
    }

    @Test func `one search is as good as another`() async {
        let (first, second) = (await report(situations: 5000), await report(situations: 5000))
        #expect(first.layers == second.layers && first.cells.counts == second.cells.counts)
    }
}
