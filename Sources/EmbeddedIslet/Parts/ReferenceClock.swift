import APNSClient
import APNSModel
import LiveActivityCore
import Synchronization

/// The clock that the server decides and writes by: the machine's clock, corrected by the dates in APNs's answers.
final class ReferenceClock: Sendable {
    private let wall: @Sendable () -> UnixTime
    private let elapsed: @Sendable () -> MonotonicTime
    private let correction = Mutex(ClockCorrection())

    /// Creates a clock.
    ///
    /// - Parameters:
    ///   - wall: Wall clock of the machine.
    ///   - elapsed: Monotonic clock that also counts the time during which the machine sleeps.
    init(wall: @escaping @Sendable () -> UnixTime, elapsed: @escaping @Sendable () -> MonotonicTime) {
        self.wall = wall
        self.elapsed = elapsed
    }

    /// Takes note of the date in an answer of APNs.
    func learn(_ date: UnixTime) {
        let (local, now) = (wall(), elapsed())
        correction.withLock { $0.learn(date, local: local, at: now) }
    }

    /// Returns `true` if the server should ask APNs for the time, because one of the clocks seems to have jumped.
    func doubts() -> Bool {
        let (local, now) = (wall(), elapsed())
        return correction.withLock { $0.doubts(local: local, at: now) }
    }

    /// `true` if `doubts` would return `true`.
    var isInDoubt: Bool {
        let (local, now) = (wall(), elapsed())
        return correction.withLock { $0.isInDoubt(local: local, at: now) }
    }

    /// `true` once an answer of APNs has brought a date.
    var hasHeard: Bool { correction.withLock(\.hasHeard) }

    /// The corrected time, with the monotonic clock beside it.
    ///
    /// The monotonic clock also counts while the machine sleeps, so the age of kept data is right after a sleep.
    var time: TimeSource {
        TimeSource(
            wall: { [self] in
                let (local, now) = (wall(), elapsed())
                return correction.withLock { $0.time(local: local, at: now) }
            }, monotonic: elapsed)
    }
}
