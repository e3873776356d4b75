import APNSModel
import LiveActivityCore
import Synchronization

/// A reading shared by all callers that ask while it runs or soon after, so the store is read only once.
final class SharedReading<Value: Sendable, Failure: Error>: Sendable {
    private struct State {
        var last: (at: MonotonicTime, value: Value)?
        var isReading = false
        var waiting: [CheckedContinuation<Result<Value, Failure>?, Never>] = []
    }

    /// Time for which a reading stays valid.
    let freshness: Duration
    private let state = Mutex(State())

    init(freshness: Duration) {
        self.freshness = freshness
    }

    /// Returns the value. Callers that ask while a reading runs share its result, even a failure. A failure is not
    /// kept.
    func value(
        at now: MonotonicTime, _ read: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let shared: Result<Value, Failure>? = await withCheckedContinuation { continuation in
            state.withLock { state in
                if let last = state.last, now - last.at < freshness {
                    continuation.resume(returning: .success(last.value))
                } else if state.isReading {
                    state.waiting.append(continuation)
                } else {
                    state.isReading = true
                    continuation.resume(returning: nil)
                }
            }
        }
        if let shared { return try shared.get() }
        let result: Result<Value, Failure>
        do throws(Failure) { result = .success(try await read()) } catch { result = .failure(error) }
        let waiting = state.withLock { state in
            if case .success(let value) = result { state.last = (now, value) }
            state.isReading = false
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume(returning: result) }
        return try result.get()
    }
}
