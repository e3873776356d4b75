import APNSClient
import APNSModel
import LiveActivityCore
import Synchronization

/// The time that a server decides and writes by: the machine's, corrected by what APNs's answers say.
final class ReferenceClock: Sendable {
    private let machine: TimeSource
    private let correction = Mutex(ClockCorrection())

    init(_ machine: TimeSource) {
        self.machine = machine
    }

    /// An answer of APNs had this date.
    func learn(_ date: UnixTime) {
        let now = machine.monotonic()
        correction.withLock { $0.learn(date, at: now) }
    }

    var time: TimeSource {
        TimeSource(
            wall: { [self] in
                let (local, now) = (machine.wall(), machine.monotonic())
                return correction.withLock { $0.time(local: local, at: now) }
            }, monotonic: machine.monotonic)
    }
}
