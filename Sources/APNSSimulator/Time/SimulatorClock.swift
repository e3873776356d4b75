package import APNSModel
internal import Foundation
internal import IsletBasics
internal import NIOCore
internal import Synchronization

/// The clock of a simulator: the source of time, moved ahead on demand.
///
/// APNs's checks of `date` and `iat` and all phones follow this clock, so hours pass at once and for all of them.
package final class SimulatorClock: Sendable {
    private let base: TimeSource
    private let lead = Mutex<Duration>(.zero)

    package init(_ base: TimeSource) {
        self.base = base
    }

    package var now: UnixTime { base.wall() + lead.withLock { $0 } }

    package var ahead: Duration { lead.withLock { $0 } }

    /// Advances the clock. A negative duration changes nothing, because a phone's history cannot be undone.
    package func advance(by duration: Duration) {
        lead.withLock { $0 += max(.zero, duration) }
    }
}

extension TimeSource {
    /// The clocks of this machine.
    static let machine = TimeSource(
        wall: { UnixTime(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down))) },
        monotonic: { MonotonicTime(nanoseconds: Int64(truncatingIfNeeded: NIODeadline.now().uptimeNanoseconds)) })
}

extension UnixTime {
    /// The value of an HTTP `date` header (RFC 9110 section 5.6.7): `Sat, 21 Nov 2026 14:32:00 GMT`.
    var httpDate: String { HTTPDate.write(Int(seconds)) }
}
