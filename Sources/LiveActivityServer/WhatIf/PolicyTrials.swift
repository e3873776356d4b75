package import JSONText
package import LiveActivityCore
import Synchronization

/// The functions of a policy trial: parsing a policy of the configuration, and replaying a recorded day under it.
package struct PolicyTrials: Sendable {
    /// An error in a policy: its place and the problem.
    package struct Fault: Error, Sendable, Equatable {
        /// A JSON Pointer into the policy.
        package var pointer: String
        package var problem: String

        package init(pointer: String, problem: String) {
            self.pointer = pointer
            self.problem = problem
        }
    }

    /// All errors in a policy.
    package struct Faults: Error, Sendable, Equatable {
        package var all: [Fault]

        package init(_ all: [Fault]) { self.all = all }
    }

    /// The input of one replay.
    package struct Trial: Sendable {
        package var day: RecordedDay
        package var app: AppSettings
        /// The type, with the policy to use.
        package var type: ActivityType
        /// Returns `true` if the time for the replay is over. Called at each step; the replay then throws ``Stopped``.
        package var isOver: @Sendable () -> Bool

        package init(day: RecordedDay, app: AppSettings, type: ActivityType, isOver: @escaping @Sendable () -> Bool) {
            self.day = day
            self.app = app
            self.type = type
            self.isOver = isOver
        }
    }

    /// An error that occurs if the time for a replay was over before its end.
    package struct Stopped: Error, Sendable, Equatable {
        package init() {}
    }

    /// Merges members of the configuration's policy into the present policy. `null` removes a member.
    package let policy: @Sendable (_ present: JSONObject, _ change: JSONObject) throws(Faults) -> TypePolicy
    /// Replays a day. It stores nothing, and ends with the task that called it.
    package let play: @Sendable (Trial) async throws -> DayFigures

    package init(
        policy: @escaping @Sendable (_ present: JSONObject, _ change: JSONObject) throws(Faults) -> TypePolicy,
        play: @escaping @Sendable (Trial) async throws -> DayFigures
    ) {
        self.policy = policy
        self.play = play
    }
}

/// The single place for a policy trial. A trial uses a processor for seconds, and delivery to phones comes first.
final class TrialPlace: Sendable {
    private let isTaken = Mutex(false)

    /// - Returns: `true` if the place was free. The caller must then call `leave`.
    func enter() -> Bool {
        isTaken.withLock { isTaken in
            guard !isTaken else { return false }
            isTaken = true
            return true
        }
    }

    func leave() { isTaken.withLock { $0 = false } }
}
