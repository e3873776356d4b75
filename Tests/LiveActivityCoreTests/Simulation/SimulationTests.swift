import TestSupport
import Testing

struct SimulationTests {
    static let histories: UInt64 = 300

    @Test func `the invariants hold in every history`() {
        var pushes = 0
        for seed in 1...Self.histories {
            var history = History(seed: seed)
            history.play(steps: 60)
            pushes += history.pushes
            guard history.violations.isEmpty else {
                Issue.record(
                    """
                    seed \(seed): \(history.violations.joined(separator: "\n"))
                    \(history.timeline.joined(separator: "\n"))
                    """)
                return
            }
        }
        // A simulation in which nothing happens would hold every invariant.
        #expect(pushes > 20 * Int(Self.histories))
    }
}
