import APNSClient
import APNSModel
import LiveActivityCore
import Synchronization

/// The time that a server decides and writes by: the machine's, corrected by what APNs's answers say.
final class ReferenceClock: Sendable {
    private let wall: @Sendable () -> UnixTime
    private let elapsed: @Sendable () -> MonotonicTime
    private let correction = Mutex(ClockCorrection())

    /// - Parameter elapsed: What has gone by, that of a machine that slept included.
    init(wall: @escaping @Sendable () -> UnixTime, elapsed: @escaping @Sendable () -> MonotonicTime) {
        self.wall = wall
        self.elapsed = elapsed
    }

    /// An answer of APNs had this date.
    func learn(_ date: UnixTime) {
        let (local, now) = (wall(), elapsed())
        correction.withLock { $0.learn(date, local: local, at: now) }
    }

    /// Whether APNs is to be asked what time it is.
    func doubts() -> Bool {
        let (local, now) = (wall(), elapsed())
        return correction.withLock { $0.doubts(local: local, at: now) }
    }

    /// APNs has said what time it is.
    var hasHeard: Bool { correction.withLock(\.hasHeard) }

    /// Its clock that nobody sets counts what a machine slept, too: what is kept for a while is then as old as it is.
    var time: TimeSource {
        TimeSource(
            wall: { [self] in
                let (local, now) = (wall(), elapsed())
                return correction.withLock { $0.time(local: local, at: now) }
            }, monotonic: elapsed)
    }
}
