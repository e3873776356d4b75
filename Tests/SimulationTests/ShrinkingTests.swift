import Simulation
import TestSupport
import Testing

/// Tests of shortening a failing history. No rule of the server fails, so one is made to fail on purpose.
struct ShrinkingTests {
    /// Fails once a process has died at a fault point and a phone has shown an alert.
    private static let trap = Trap(.alertsOnce) { $0.alerts > 0 && !$0.deaths.isEmpty }

    private func failing() throws -> History {
        let failing = (1...200 as ClosedRange<UInt64>).lazy.map { History(Plan(seed: $0), trap: Self.trap) }
            .first { !$0.isGood }
        return try #require(failing)
    }

    @Test func `a failing history is made as short as it goes, and fails by the same rule`() throws {
        let failing = try failing()
        let short = Shrinking.shrink(failing)
        #expect(short.violations.map(\.rule) == [.alertsOnce])
        #expect(short.plan.seed == failing.plan.seed)
        #expect(!short.plan.steps.isEmpty && short.plan.steps.count <= 6)
        // No remaining step can be removed.
        for step in short.plan.steps {
            var plan = short.plan
            plan.steps.removeAll { $0 == step }
            #expect(History(plan, trap: Self.trap).isGood, "without step \(step)")
        }
        // The process dies in a step that is not calm.
        #expect(short.plan.calm.count < short.plan.steps.count)
    }

    @Test func `what need not go wrong in a failing history is made calm`() {
        let failing = (1...200 as ClosedRange<UInt64>).lazy.map { History(Plan(seed: $0), trap: Self.trap) }
            .filter { !$0.isGood }.prefix(5).map { Shrinking.shrink($0).plan }
        #expect(failing.contains { !$0.calm.isEmpty })
        #expect(failing.allSatisfy { $0.calm.isSubset(of: Set($0.steps)) })
    }

    @Test func `its timeline tells what happened, and ends with what did not hold`() throws {
        let short = Shrinking.shrink(try failing())
        let lines = short.timeline
        for step in short.plan.steps { #expect(lines.contains { $0.hasSuffix("------    step \(step)") }) }
        #expect(lines.contains { $0.contains("DIES at ") })
        #expect(lines.contains { $0.contains("backend") && $0.contains(" ALERT") })
        #expect(lines.contains { $0.hasSuffix("VIOLATED 6 Alerts once: a trap is shut") })
    }

    @Test func `its command plays it again`() throws {
        let short = Shrinking.shrink(try failing())
        let words = short.plan.command.split(separator: " ").map(String.init)
        func list(_ option: String) -> [Int] {
            guard let index = words.firstIndex(of: option) else { return [] }
            return words[index + 1].split(separator: ",").compactMap { Int($0) }
        }
        var plan = Plan(seed: short.plan.seed)
        plan.steps = list("--steps")
        plan.calm = Set(list("--calm"))
        let again = History(plan, keepsTimeline: true, trap: Self.trap)
        #expect(again.timeline == short.timeline && again.violations == short.violations)
    }

    @Test func `a good history is left as it is`() {
        let good = History(Plan(seed: 1))
        #expect(Shrinking.shrink(good).plan == good.plan)
    }
}
