import APNSClient
import APNSModel
import Synchronization

/// The clocks of a machine that is suspended: they go on meanwhile, and the timers of event loops stand.
final class SuspendedClock: Sendable {
    private let suspended = Mutex(Duration.zero)

    var time: TimeSource {
        TimeSource(
            wall: { APNSClient.liveTime.wall() + self.suspended.withLock(\.self) },
            monotonic: { APNSClient.liveTime.monotonic() + self.suspended.withLock(\.self) })
    }

    func suspend(for duration: Duration) { suspended.withLock { $0 += duration } }
}
