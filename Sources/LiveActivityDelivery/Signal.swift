import Synchronization

/// A flag that one task waits for and any task may raise. Raising it twice has the effect of once.
final class Signal: Sendable {
    private struct State {
        var isRaised = false
        var isStopped = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// Wakes the waiting task, or the next one that waits.
    func raise() {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            if let waiter = state.waiter {
                state.waiter = nil
                return waiter
            }
            state.isRaised = true
            return nil
        }
        waiter?.resume()
    }

    /// Ends all waiting, now and later.
    func stop() {
        state.withLock { $0.isStopped = true }
        raise()
    }

    var isStopped: Bool { state.withLock(\.isStopped) }

    /// Waits until the flag is raised, and lowers it. Returns at once after `stop` or when the task is canceled.
    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    if state.isRaised || state.isStopped || Task.isCancelled {
                        state.isRaised = false
                        return true
                    }
                    state.waiter = continuation
                    return false
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                defer { state.waiter = nil }
                return state.waiter
            }
            waiter?.resume()
        }
    }

    /// Waits for the flag, for `duration` at most; `nil` waits without a limit.
    func wait(for duration: Duration?, on clock: any Clock<Duration>) async {
        guard let duration else { return await wait() }
        guard duration > .zero else { return }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.wait() }
            group.addTask { try? await clock.sleep(for: duration) }
            await group.next()
            group.cancelAll()
        }
    }
}
