import Foundation
import LiveActivityStorage
import Simulation
import TestSupport
import Testing

struct HistoryTests {
    /// Takes a minute or two on two cores. `script/test` compiles the simulation with optimization.
    static let histories: UInt64 =
        ProcessInfo.processInfo.environment["ISLET_DEVELOPMENT"] == "1" ? 10_000 : 500

    /// First seed. `script/test` derives it from the commit's id, so that each commit plays other histories.
    ///
    /// Fixed seeds would only ever test themselves.
    static let first = FreshSeeds.first

    @Test func `every rule holds in every history`() async {
        print("histories \(Self.histories), from seed \(Self.first)")
        let report = await Campaign.run(seeds: Self.first..<(Self.first + Self.histories), workers: 2)
        if let plan = report.failing {
            let history = Shrinking.shrink(History(plan))
            Issue.record(
                """
                \(history.plan.command)
                \(history.violations.map { "\($0.rule.title): \($0.text)" }.joined(separator: "\n"))
                \(history.timeline.joined(separator: "\n"))
                """)
            return
        }
        // Histories in which nothing happens would satisfy every rule.
        let (counts, each) = (report.counts, Int(Self.histories))
        #expect(report.histories == each)
        #expect(counts.pushes > 5 * each && counts.starts > 2 * each && counts.applied > each / 2)
        #expect(counts.alerts > each / 2 && counts.notifications > each)
        #expect(counts.crashes > each && counts.rescued > each / 4 && counts.overlaps > each / 10)
        #expect(counts.refusedTokens > each && counts.fallbacks > each / 20 && counts.openCircuits > 0)
        #expect(counts.renewals > 0)
        // Each fault point and each happening must occur.
        for point in FaultPoint.allCases where !point.rawValue.hasPrefix("prune") {
            #expect(counts.deaths[point, default: 0] >= each / 100, "\(point.rawValue)")
        }
        for what in Happening.allCases {
            #expect(counts.happenings[what, default: 0] >= each / 100, "\(what.rawValue)")
        }
        #expect(counts.leaked == 0, "a process outlives its history")
    }

    @Test func `one seed is one history, however often and in whatever order it is played`() {
        let seeds = Array(1...12 as ClosedRange<UInt64>)
        func play(_ seeds: [UInt64]) -> [UInt64: [String]] {
            Dictionary(
                uniqueKeysWithValues: seeds.map { ($0, History(Plan(seed: $0), keepsTimeline: true).timeline) })
        }
        let first = play(seeds)
        #expect(first == play(seeds.reversed()))
        #expect(first.values.allSatisfy { $0.count > 10 })
        #expect(Set(first.values).count == seeds.count)
    }

    @Test func `a history without its timeline is the same history`() {
        for seed in 1...20 as ClosedRange<UInt64> {
            #expect(History(Plan(seed: seed)).counts == History(Plan(seed: seed), keepsTimeline: true).counts)
        }
    }

    @Test func `a step that is left out leaves the dice of the others as they are`() {
        var plan = Plan(seed: 7)
        let whole = History(plan, keepsTimeline: true)
        plan.steps = Array(plan.steps.prefix(10))
        let part = History(plan, keepsTimeline: true)
        let cut = whole.timeline.firstIndex { $0.hasSuffix("step 10") } ?? 0
        #expect(cut > 0 && Array(part.timeline.prefix(cut)) == Array(whole.timeline.prefix(cut)))
    }

    @Test func `the command of a plan names what differs from the whole`() {
        var plan = Plan(seed: 5)
        #expect(plan.command == "script/simulate --seed 5")
        plan.steps = [3, 8]
        plan.calm = [8]
        #expect(plan.command == "script/simulate --seed 5 --steps 3,8 --calm 8")
        plan.steps = []
        #expect(plan.command == "script/simulate --seed 5 --steps none --calm 8")
    }
}
