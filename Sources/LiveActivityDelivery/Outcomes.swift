import APNSModel
import Synchronization

/// Collects the answers to one flight's pushes, in any order and from any thread.
final class Outcomes: Sendable {
    private struct State {
        var answers: [Result<PushAnswer, PushFailure>?]
        var missing: Int
    }

    private let state: Mutex<State>
    private let signal = Signal()

    init(count: Int) {
        state = Mutex(State(answers: Array(repeating: nil, count: count), missing: count))
    }

    /// Records an answer. A second answer to one push is dropped, because senders answer once.
    func record(_ index: Int, _ answer: Result<PushAnswer, PushFailure>) {
        let isComplete = state.withLock { state in
            guard state.answers.indices.contains(index), state.answers[index] == nil else { return false }
            state.answers[index] = answer
            state.missing -= 1
            return state.missing == 0
        }
        if isComplete { signal.raise() }
    }

    /// Waits until all answers have come or the time is over. Returns the answers so far.
    func collected(within duration: Duration, on clock: any Clock<Duration>) async -> [Result<PushAnswer, PushFailure>?]
    {
        if state.withLock({ $0.missing > 0 }) { await signal.wait(for: duration, on: clock) }
        return state.withLock(\.answers)
    }
}
