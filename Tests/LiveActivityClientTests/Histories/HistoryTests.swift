import Foundation
import Testing

struct HistoryTests {
    static let histories: UInt64 = 1_000

    @Test(arguments: 0..<4)
    func `in every history phone and server agree in the end, and nobody's token or second card is left`(
        part: UInt64
    ) async {
        var (pushes, calls) = (0, 0)
        var events: [PhoneHistory.Event: Int] = [:]
        for seed in stride(from: part, to: Self.histories, by: 4) {
            var history = PhoneHistory(seed: seed + 1)
            history.play(steps: 30)
            // The other tests of the target have deadlines, and there may be two threads for all.
            await Task.yield()
            pushes += history.pushes
            calls += history.calls
            events.merge(history.events, uniquingKeysWith: +)
            guard history.violations.isEmpty else {
                Issue.record(
                    """
                    seed \(seed + 1): \(history.violations.joined(separator: "\n"))
                    \(history.timeline.joined(separator: "\n"))
                    """)
                return
            }
        }
        // A history without events would end well whatever the code does.
        #expect(pushes > 5 * Int(Self.histories / 4) && calls > 30 * Int(Self.histories / 4), "\(pushes) \(calls)")
        let counts = events.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.key) \($0.value)" }
        for event in PhoneHistory.Event.allCases {
            #expect(events[event, default: 0] >= 3, "\(event) happened too rarely: \(counts)")
        }
    }
}
