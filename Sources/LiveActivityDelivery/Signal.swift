import APNSModel
import Synchronization

/// A flag that one task waits for and any task may raise. Raising it twice has the effect of once.
///
/// It may be raised for a time. A task that looks at that time or earlier anyway is not woken.
final class Signal: Sendable {
    private struct State {
        /// The earliest time for which the flag was raised since the last wait.
        var raisedFor: UnixTime?
        var isStopped = false
        var waiter: (continuation: CheckedContinuation<Void, Never>, until: UnixTime)?

        mutating func takeWaiter(before time: UnixTime = .distantPast) -> CheckedContinuation<Void, Never>? {
            guard let waiter, time < waiter.until else { return nil }
            self.waiter = nil
            return waiter.continuation
        }
    }

    private let state = Mutex(State())

    /// Wakes the task that waits until a later time, or the next one that does.
    func raise(for time: UnixTime = .distantPast) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            if state.waiter != nil { return state.takeWaiter(before: time) }
            state.raisedFor = min(time, state.raisedFor ?? time)
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
    ///
    /// - Parameter time: The time at which the task looks by itself.
    func wait(until time: UnixTime = .distantFuture) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    let isRaised = state.raisedFor.map { $0 < time } ?? false
                    state.raisedFor = nil
                    if isRaised || state.isStopped || Task.isCancelled { return true }
                    state.waiter = (continuation, time)
                    return false
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.takeWaiter() }?.resume()
        }
    }

    /// Waits for the flag, for `duration` at most; `nil` waits without a limit.
    func wait(
        for duration: Duration?, on clock: any Clock<Duration>, until time: UnixTime = .distantFuture
    ) async {
        guard let duration else { return await wait(until: time) }
        guard duration > .zero else { return }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.wait(until: time) }
            group.addTask { try? await clock.sleep(for: duration) }
            await group.next()
            group.cancelAll()
        }
    }
}
