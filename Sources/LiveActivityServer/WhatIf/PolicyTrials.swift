package import JSONText
package import LiveActivityCore
import Synchronization

/// Whoever knows the configuration's words, and can play a recorded day under a policy.
package struct PolicyTrials: Sendable {
    /// What is wrong with a policy: where in it, and what.
    package struct Fault: Error, Sendable, Equatable {
        /// A JSON Pointer into the policy.
        package var pointer: String
        package var problem: String

        package init(pointer: String, problem: String) {
            self.pointer = pointer
            self.problem = problem
        }
    }

    /// All that is wrong with it.
    package struct Faults: Error, Sendable, Equatable {
        package var all: [Fault]

        package init(_ all: [Fault]) { self.all = all }
    }

    /// What one run plays.
    package struct Trial: Sendable {
        package var day: RecordedDay
        package var app: AppSettings
        /// With the policy that it is played under.
        package var type: ActivityType
        /// The time for it is over: the run ends with `Stopped`. It is asked at each step.
        package var isOver: @Sendable () -> Bool

        package init(day: RecordedDay, app: AppSettings, type: ActivityType, isOver: @escaping @Sendable () -> Bool) {
            self.day = day
            self.app = app
            self.type = type
            self.isOver = isOver
        }
    }

    /// The time for a run was over before it was.
    package struct Stopped: Error, Sendable, Equatable {
        package init() {}
    }

    /// What words of the configuration mean, laid over those of the present policy; null takes a word away.
    package let policy: @Sendable (_ present: JSONObject, _ change: JSONObject) throws(Faults) -> TypePolicy
    /// Plays a day. It keeps nothing, and ends with the task that called it.
    package let play: @Sendable (Trial) async throws -> DayFigures

    package init(
        policy: @escaping @Sendable (_ present: JSONObject, _ change: JSONObject) throws(Faults) -> TypePolicy,
        play: @escaping @Sendable (Trial) async throws -> DayFigures
    ) {
        self.policy = policy
        self.play = play
    }
}

/// The one place for a trial: it takes a processor for seconds, and the phones come first.
final class TrialPlace: Sendable {
    private let isTaken = Mutex(false)

    /// - Returns: Whether it was free; then it is given back with `leave`.
    func enter() -> Bool {
        isTaken.withLock { isTaken in
            guard !isTaken else { return false }
            isTaken = true
            return true
        }
    }

    func leave() { isTaken.withLock { $0 = false } }
}
