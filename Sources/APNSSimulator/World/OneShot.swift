internal import Synchronization

/// A value that is set once. Any number of tasks may wait for it, before or after.
final class OneShot<Value: Sendable>: Sendable {
    private enum State {
        case open(next: Int, waiting: [Int: CheckedContinuation<Value, any Error>])
        case settled(Result<Value, any Error>)
    }

    private let state = Mutex(State.open(next: 0, waiting: [:]))

    /// Sets the value. Only the first result counts.
    func settle(_ result: Result<Value, any Error>) {
        let waiting = state.withLock { state -> [CheckedContinuation<Value, any Error>] in
            guard case .open(_, let waiting) = state else { return [] }
            state = .settled(result)
            return Array(waiting.values)
        }
        for continuation in waiting { continuation.resume(with: result) }
    }

    var value: Value {
        get async throws {
            let number = state.withLock { state -> Int in
                guard case .open(let next, let waiting) = state else { return 0 }
                state = .open(next: next + 1, waiting: waiting)
                return next
            }
            return try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in wait(number, continuation) }
            } onCancel: {
                cancel(number)
            }
        }
    }

    private func wait(_ number: Int, _ continuation: CheckedContinuation<Value, any Error>) {
        let result = state.withLock { state -> Result<Value, any Error>? in
            switch state {
            case .settled(let result): return result
            case .open(let next, var waiting):
                // The check is under the lock: a cancellation is either seen here or finds the continuation.
                if Task.isCancelled { return .failure(CancellationError()) }
                waiting[number] = continuation
                state = .open(next: next, waiting: waiting)
                return nil
            }
        }
        if let result { continuation.resume(with: result) }
    }

    private func cancel(_ number: Int) {
        let continuation = state.withLock { state -> CheckedContinuation<Value, any Error>? in
            guard case .open(let next, var waiting) = state else { return nil }
            let continuation = waiting.removeValue(forKey: number)
            state = .open(next: next, waiting: waiting)
            return continuation
        }
        continuation?.resume(throwing: CancellationError())
    }
}
