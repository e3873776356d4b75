package import APNSModel
import Synchronization

/// A clock that stands still until a test advances it. It is a `Clock` and a `TimeSource` of the same time.
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
    }

    private let state = Mutex(State())

    package init() {}

    package var now: Instant { state.withLock(\.now) }
    package var minimumResolution: Duration { .nanoseconds(1) }
    /// The instant at which the earliest sleeper wakes, from the beginning; `nil` if nobody sleeps.
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
                let isOver = state.withLock { state -> Bool? in
                    if state.cancelled.remove(id) != nil || Task.isCancelled { return nil }
                    if deadline <= state.now { return true }
                    state.sleepers[id] = (deadline, continuation)
                    return false
                }
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

    /// Waits for sleepers whose remaining time is in this range, and advances to the instant that wakes the first.
    /// Gives up when the test's time is over.
    ///
    /// - Parameter count: The number of sleepers. One that comes after the advance sleeps from then on.
    package func advanceToSleeper(_ range: ClosedRange<Duration>, of count: Int = 1) async {
        while !Task.isCancelled {
            let waits = state.withLock { state in
                state.sleepers.values.map { state.now.duration(to: $0.until) }.filter(range.contains)
            }
            if waits.count >= count, let wait = waits.min() { return advance(by: wait) }
            await Task.yield()
        }
    }

    package func advanceToSleeper(_ duration: Duration, of count: Int = 1) async {
        await advanceToSleeper(duration...duration, of: count)
    }

    /// Advances the clock and wakes the sleepers that are due.
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
