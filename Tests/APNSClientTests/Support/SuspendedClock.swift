import APNSClient
import APNSModel
import Synchronization

/// The clocks of a suspended machine: they go on while the timers of event loops stand still.
final class SuspendedClock: Sendable {
    private let suspended = Mutex(Duration.zero)

    var time: TimeSource {
        TimeSource(
            wall: { APNSClient.liveTime.wall() + self.suspended.withLock(\.self) },
            monotonic: { APNSClient.liveTime.monotonic() + self.suspended.withLock(\.self) })
    }

    func suspend(for duration: Duration) { suspended.withLock { $0 += duration } }
}
