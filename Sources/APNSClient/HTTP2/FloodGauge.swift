import APNSModel

/// Counts frames that carry nothing for us (RFC 9113 section 10.5): SETTINGS, PING, WINDOW_UPDATE, RST_STREAM, empty
/// DATA, frames on closed streams, unknown frames.
///
/// Each costs 1. Every stream that we open, and every second that passes, gives some back: a healthy peer sends a few
/// of them for each push, and a WINDOW_UPDATE that lets a body go on costs nothing, so that no rate of pushes makes it
/// look like an attacker, and an idle one never runs dry.
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
