import APNSClient
import APNSModel
import LiveActivityCore
import Synchronization

/// The time that a server decides and writes by: the machine's, corrected by what APNs's answers say.
final class ReferenceClock: Sendable {
    private let machine: TimeSource
    private let elapsed: @Sendable () -> MonotonicTime
    private let correction = Mutex(ClockCorrection())

    /// - Parameter elapsed: What has gone by, that of a machine that slept included: the clock of deadlines does not
    ///   count that.
    init(_ machine: TimeSource, elapsed: @escaping @Sendable () -> MonotonicTime) {
        self.machine = machine
        self.elapsed = elapsed
    }

    /// An answer of APNs had this date.
    func learn(_ date: UnixTime) {
        let (local, now) = (machine.wall(), elapsed())
        correction.withLock { $0.learn(date, local: local, at: now) }
    }

    /// Whether APNs is to be asked what time it is.
    func doubts() -> Bool {
        let (local, now) = (machine.wall(), elapsed())
        return correction.withLock { $0.doubts(local: local, at: now) }
    }

    /// APNs has said what time it is.
    var hasHeard: Bool { correction.withLock(\.hasHeard) }

    var time: TimeSource {
        TimeSource(
            wall: { [self] in
                let (local, now) = (machine.wall(), elapsed())
                return correction.withLock { $0.time(local: local, at: now) }
            }, monotonic: machine.monotonic)
    }
}
