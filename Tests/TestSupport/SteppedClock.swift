package import APNSModel
import Synchronization

/// A clock that sleeps until a test moves it on: `Clock` and `TimeSource` of one and the same time.
package final class SteppedClock: Clock {
    package struct Instant: InstantProtocol {
        package let offset: Duration
        package func advanced(by duration: Duration) -> Self { Self(offset: offset + duration) }
        package func duration(to other: Self) -> Duration { other.offset - offset }
        package static func < (left: Self, right: Self) -> Bool { left.offset < right.offset }
    }

    private struct State {
        var now = Instant(offset: .zero)
        var nextID = 0
        var sleepers: [Int: (until: Instant, continuation: CheckedContinuation<Void, any Error>)] = [:]
        var cancelled: Set<Int> = []
        var watchers: [(until: Instant, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    package init() {}

    package var now: Instant { state.withLock(\.now) }
    package var minimumResolution: Duration { .nanoseconds(1) }
    /// When the earliest of those who sleep wakes, from the beginning; `nil` when nobody sleeps.
    package var nextWake: Duration? { state.withLock { $0.sleepers.values.map(\.until.offset).min() } }

    package var wall: UnixTime { Sample.now + now.offset }
    package var timeSource: TimeSource {
        TimeSource(
            wall: { self.wall },
            monotonic: { MonotonicTime(nanoseconds: 1_000_000_000) + self.now.offset })
    }

    package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (isOver, watchers) = state.withLock { state -> (Bool?, [CheckedContinuation<Void, Never>]) in
                    if state.cancelled.remove(id) != nil || Task.isCancelled { return (nil, []) }
                    if deadline <= state.now { return (true, []) }
                    state.sleepers[id] = (deadline, continuation)
                    let told = state.watchers.filter { deadline <= $0.until }
                    state.watchers.removeAll { deadline <= $0.until }
                    return (false, told.map(\.continuation))
                }
                for watcher in watchers { watcher.resume() }
                switch isOver {
                case nil: continuation.resume(throwing: CancellationError())
                case .some(true): continuation.resume()
                case .some(false): break
                }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                let sleeper = state.sleepers.removeValue(forKey: id)
                if sleeper == nil { state.cancelled.insert(id) }
                return sleeper
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Returns once somebody sleeps who wakes within that time from now.
    package func someoneSleeps(within duration: Duration) async {
        await withCheckedContinuation { continuation in
            let isTrue = state.withLock { state in
                let until = state.now.advanced(by: duration)
                if state.sleepers.values.contains(where: { $0.until <= until }) { return true }
                state.watchers.append((until, continuation))
                return false
            }
            if isTrue { continuation.resume() }
        }
    }

    /// Moves on, and wakes whose time has come.
    package func advance(by duration: Duration) {
        let due = state.withLock { state in
            let now = state.now.advanced(by: duration)
            state.now = now
            let due = state.sleepers.filter { $0.value.until <= now }
            for id in due.keys { state.sleepers[id] = nil }
            return due.values.sorted { $0.until < $1.until }
        }
        for sleeper in due { sleeper.continuation.resume() }
    }
}
