import APNSClient
import Synchronization
import Testing

/// An event that happens once. Its waiters are released when the test's time limit cancels them, so that a fault fails
/// the test and does not hang it.
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

    /// Waits for the event. Returns `false` if the task was canceled before.
    func wait() async -> Bool {
        let number = state.withLock { state in
            state.next += 1
            return state.next
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mayWait = state.withLock { state in
                    // Cancellation looks for the waiter under this lock as well, so it cannot miss the waiter.
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
    /// Calls `shutdown(within:)` and waits no longer than the test's time limit.
    func end(within grace: Duration = .seconds(5)) async {
        let ended = Latch()
        // Not a child task: one that never ends would also keep the test from ending.
        Task {
            await shutdown(within: grace)
            ended.open()
        }
        if await !ended.wait() { Issue.record("the client does not end") }
    }
}
