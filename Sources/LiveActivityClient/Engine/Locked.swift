internal import Foundation

/// A value behind a lock, because `Synchronization.Mutex` needs iOS 18.
final class Locked<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) { self.value = value }

    func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}

/// A bell that wakes one waiting task. It keeps a ring that nobody waits for until the next wait.
final class Bell: Sendable {
    private struct State: Sendable {
        var isRung = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Locked(State())

    func ring() {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            defer { state.waiter = nil }
            state.isRung = state.waiter == nil
            return state.waiter
        }
        waiter?.resume()
    }

    /// Returns at the next ring, or when the task is canceled.
    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let goesOn = state.withLock { state -> Bool in
                    guard !state.isRung, !Task.isCancelled else {
                        state.isRung = false
                        return true
                    }
                    state.waiter = continuation
                    return false
                }
                if goesOn { continuation.resume() }
            }
        } onCancel: {
            ring()
        }
    }
}
