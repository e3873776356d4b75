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

        mutating func takeWaiter() -> CheckedContinuation<Void, Never>? {
            defer { waiter = nil }
            return waiter?.continuation
        }
    }

    private let state = Mutex(State())

    /// Wakes the task that waits, or the next one.
    func raise() { raise(for: .distantPast, at: .distantPast) }

    /// Wakes the task that waits until a later time, or the next one that does.
    ///
    /// - Parameter now: The current time. A task that should have looked by now is woken too: its wait is measured by
    ///   another clock, and this one was set forward.
    func raise(for time: UnixTime, at now: UnixTime) {
        // What is due now is due before every other time, also if the clock was set back.
        let time = time <= now ? .distantPast : time
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            if let waiter = state.waiter {
                return time < waiter.until || waiter.until <= now ? state.takeWaiter() : nil
            }
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
    /// `true` while a task waits.
    var isAwaited: Bool { state.withLock { $0.waiter != nil } }

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
