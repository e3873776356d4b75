import APNSModel

/// Limits the number of frames that carry nothing useful (RFC 9113 section 10.5).
///
/// These are SETTINGS, PING, WINDOW_UPDATE, RST_STREAM, empty DATA, frames on closed streams, and unknown frames. Each
/// costs 1 unit. Every opened stream gives 4 units back, and every second that passes gives 10.
///
/// A healthy peer sends a few such frames for each push. So it never looks like an attacker at any rate of pushes, and
/// an idle peer never runs out of units. A WINDOW_UPDATE that lets a body continue costs nothing.
struct FloodGauge {
    static let initial = 1_000
    static let ceiling = 10_000
    static let perStream = 4
    static let perSecond = 10

    private(set) var left = initial
    private var refilled: MonotonicTime

    init(now: MonotonicTime) {
        refilled = now
    }

    mutating func streamOpened() {
        left = min(Self.ceiling, left + Self.perStream)
    }

    mutating func refund() {
        left = min(Self.ceiling, left + 1)
    }

    mutating func charge(now: MonotonicTime) throws(ProtocolViolation) {
        if left == 0 { refill(now) }
        guard left > 0 else { throw .flood }
        left -= 1
    }

    private mutating func refill(_ now: MonotonicTime) {
        let seconds = (now - refilled).components.seconds
        guard seconds > 0 else { return }
        refilled = now
        left = min(
            Self.initial,
            left + Int(clamping: seconds.multipliedReportingOverflow(by: Int64(Self.perSecond)).partialValue))
    }
}
