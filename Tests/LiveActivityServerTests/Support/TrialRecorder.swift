import JSONText
import LiveActivityCore
import LiveActivityServer
import Synchronization

/// A stand-in for the code that knows the configuration's words. It accepts every policy, plays nothing, and records
/// its input.
final class TrialRecorder: Sendable {
    private struct State {
        var changes: [JSONObject] = []
        var played: [PolicyTrials.Trial] = []
    }

    private let state = Mutex(State())
    var changes: [JSONObject] { state.withLock(\.changes) }
    var played: [PolicyTrials.Trial] { state.withLock(\.played) }

    /// - Parameters: - faults: The faults of each policy. - during: Called while a day is played.
    func trials(
        _ faults: [PolicyTrials.Fault] = [], during: @escaping @Sendable () async throws -> Void = {}
    ) -> PolicyTrials {
        PolicyTrials(
            policy: { _, change throws(PolicyTrials.Faults) in
                self.state.withLock { $0.changes.append(change) }
                guard faults.isEmpty else { throw PolicyTrials.Faults(faults) }
                var policy = TypePolicy()
                policy.coalescingWindow = .seconds(30)
                return policy
            },
            play: { trial in
                let number = self.state.withLock { state in
                    state.played.append(trial)
                    return state.played.count
                }
                try await during()
                var figures = DayFigures()
                figures.updates = number
                figures.held = [.quietHours: number]
                return figures
            })
    }
}
