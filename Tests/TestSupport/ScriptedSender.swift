package import APNSModel
import Synchronization

/// A scripted APNs: it records every push and answers at once, on request, or never.
package final class ScriptedSender: PushSender {
    package enum Line: Sendable {
        case answer(PushAnswer)
        case fail(PushFailure.Code)
        /// Held until `release`, or forever.
        case hold
    }

    private struct State {
        var pushes: [Push] = []
        var held: [(push: Push, answer: @Sendable (Result<PushAnswer, PushFailure>) -> Void)] = []
    }

    private let state = Mutex(State())
    private let script: @Sendable (Push, Int) -> Line

    /// - Parameter script: Returns the result of a push, given the push and its position, from 0.
    package init(_ script: @escaping @Sendable (Push, Int) -> Line = { _, _ in .answer(PushAnswer(status: 200)) }) {
        self.script = script
    }

    /// All pushes so far, in order.
    package var pushes: [Push] { state.withLock(\.pushes) }
    /// Number of pushes without an answer so far.
    package var held: Int { state.withLock(\.held.count) }

    package func submit(
        _ pushes: [Push], completion: @escaping @Sendable (Int, Result<PushAnswer, PushFailure>) -> Void
    ) {
        for (index, push) in pushes.enumerated() {
            let number = state.withLock { state in
                state.pushes.append(push)
                return state.pushes.count - 1
            }
            switch script(push, number) {
            case .answer(let answer): completion(index, .success(answer))
            case .fail(let code): completion(index, .failure(PushFailure(code, "as the script says")))
            case .hold: state.withLock { $0.held.append((push, { completion(index, $0) })) }
            }
        }
    }

    package func send(_ push: Push) async throws(PushFailure) -> PushAnswer {
        let result: Result<PushAnswer, PushFailure> = await withCheckedContinuation { continuation in
            submit([push]) { _, result in continuation.resume(returning: result) }
        }
        return try result.get()
    }

    /// Answers every held push.
    package func release(_ result: Result<PushAnswer, PushFailure> = .success(PushAnswer(status: 200))) {
        let held = state.withLock { state in
            defer { state.held = [] }
            return state.held
        }
        for one in held { one.answer(result) }
    }

    /// Returns once this many pushes have come, counted from the beginning, or when the test's time is over.
    package func received(_ count: Int) async {
        while pushes.count < count, !Task.isCancelled { await Task.yield() }
    }
}
