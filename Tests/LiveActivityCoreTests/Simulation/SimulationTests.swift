import LiveActivityCore
import TestSupport
import Testing

struct SimulationTests {
    static let histories: UInt64 = 400

    @Test(arguments: [1, 2, LaneRecord.Limits().phones])
    func `the invariants hold in every history, however many phones share a lane`(lanePhones: Int) {
        var (pushes, splits, repeated) = (0, 0, 0)
        for seed in 1...Self.histories {
            var history = History(seed: seed, lanePhones: lanePhones)
            history.play(steps: 60)
            pushes += history.pushes
            splits += history.splits
            repeated += history.repeatedAlerts
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
        #expect(repeated > 0, "alerts that may be repeated are")
        #expect(lanePhones > 2 ? splits == 0 : splits > Int(Self.histories), "\(splits)")
    }
}
