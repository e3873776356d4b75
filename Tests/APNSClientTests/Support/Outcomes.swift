import APNSModel
import Synchronization
import Testing

/// Collects completions and fails the test if a push completes twice.
final class Outcomes: Sendable {
    private struct State {
        var results: [Int: [Result<PushAnswer, PushFailure>]] = [:]
        var waiter: (count: Int, latch: Latch)?
    }

    private let state = Mutex(State())

    func record(_ index: Int, _ result: Result<PushAnswer, PushFailure>) {
        let waiter = state.withLock { state -> Latch? in
            state.results[index, default: []].append(result)
            guard let waiter = state.waiter, state.results.count >= waiter.count else { return nil }
            state.waiter = nil
            return waiter.latch
        }
        waiter?.open()
    }

    /// Returns when this many pushes are complete, or when the test's time is over.
    func wait(for count: Int) async {
        let latch = state.withLock { state in
            let latch = Latch()
            if state.results.count >= count { latch.open() } else { state.waiter = (count, latch) }
            return latch
        }
        guard await !latch.wait() else { return }
        Issue.record("\(all.count) of \(count) pushes have an outcome")
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
