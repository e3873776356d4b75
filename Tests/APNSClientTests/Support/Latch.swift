import APNSClient
import Synchronization
import Testing

/// Something that happens once. Who waits for it is let go when the test's time is over: a fault fails the test then,
/// and does not hang it.
final class Latch: Sendable {
    private struct State {
        var isOpen = false
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var next = 0
    }

    private let state = Mutex(State())

    func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [:] }
            return state.waiters.values
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Whether it happened; `false` when the task was cancelled before.
    func wait() async -> Bool {
        let number = state.withLock { state in
            state.next += 1
            return state.next
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mayWait = state.withLock { state in
                    // What cancels looks for the waiter under this lock as well: it is not missed.
                    if state.isOpen || Task.isCancelled { return false }
                    state.waiters[number] = continuation
                    return true
                }
                if !mayWait { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
        }
        return state.withLock { $0.isOpen }
    }
}

extension APNSClient {
    /// `shutdown(within:)`, awaited no longer than the test's limit of time allows.
    func end(within grace: Duration = .seconds(5)) async {
        let ended = Latch()
        // Not a child: one that never ends would keep the test from ending, too.
        Task {
            await shutdown(within: grace)
            ended.open()
        }
        if await !ended.wait() { Issue.record("the client does not end") }
    }
}
