package import APNSModel
import Synchronization

/// Both clocks of a test. They stand still until advanced.
package final class ManualClock: Sendable {
    private let milliseconds: Mutex<Int64>
    private let start: Int64

    package init(at time: UnixTime = Sample.now) {
        start = time.milliseconds
        milliseconds = Mutex(time.milliseconds)
    }

    package var now: UnixTime { UnixTime(milliseconds: milliseconds.withLock { $0 }) }

    package func advance(by duration: Duration) {
        milliseconds.withLock { $0 += duration.wholeMilliseconds }
    }

    /// Advances to that instant. An earlier instant leaves the clock unchanged.
    package func advance(to time: UnixTime) {
        milliseconds.withLock { $0 = max($0, time.milliseconds) }
    }

    /// A time source for parts that read the time themselves. The monotonic clock begins at one second.
    package var timeSource: TimeSource {
        TimeSource(
            wall: { self.now },
            monotonic: { MonotonicTime(nanoseconds: (self.now.milliseconds - self.start + 1000) * 1_000_000) })
    }
}
