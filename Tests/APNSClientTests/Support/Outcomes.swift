import APNSModel
import Synchronization

/// Collects completions, and fails the test that completes one push twice.
final class Outcomes: Sendable {
    private struct State {
        var results: [Int: [Result<PushAnswer, PushFailure>]] = [:]
        var waiter: (count: Int, continuation: CheckedContinuation<Void, Never>)?
    }

    private let state = Mutex(State())

    func record(_ index: Int, _ result: Result<PushAnswer, PushFailure>) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.results[index, default: []].append(result)
            guard let waiter = state.waiter, state.results.count >= waiter.count else { return nil }
            state.waiter = nil
            return waiter.continuation
        }
        waiter?.resume()
    }

    /// Returns when that many pushes are complete.
    func wait(for count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.results.count >= count { return true }
                state.waiter = (count, continuation)
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    var all: [Int: [Result<PushAnswer, PushFailure>]] { state.withLock { $0.results } }

    var each: [Result<PushAnswer, PushFailure>] { all.values.flatMap { $0 } }

    var accepted: Int { each.count { (try? $0.get().status) == 200 } }

    var failures: [PushFailure] {
        each.compactMap { result in
            if case .failure(let failure) = result { failure } else { nil }
        }
    }

    var failureCodes: [PushFailure.Code] { failures.map(\.code) }

    var areCompleteOnce: Bool { all.values.allSatisfy { $0.count == 1 } }
}
