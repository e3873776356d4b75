import APNSModel
import LiveActivityCore
import Synchronization

/// One reading for all who ask while it is made, and for those who ask soon after: however many ask at once, the store
/// is read once.
final class SharedReading<Value: Sendable, Failure: Error>: Sendable {
    private struct State {
        var last: (at: MonotonicTime, value: Value)?
        var isReading = false
        var waiting: [CheckedContinuation<Result<Value, Failure>?, Never>] = []
    }

    /// How long a reading counts.
    let freshness: Duration
    private let state = Mutex(State())

    init(freshness: Duration) {
        self.freshness = freshness
    }

    /// Who asks while another reads gets what that one reads, be it a failure. A failure is not kept.
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
