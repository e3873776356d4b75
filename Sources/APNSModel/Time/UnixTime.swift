import IsletBasics

/// An instant of the wall clock, in milliseconds since 1970-01-01T00:00:00Z: what Apple and people see.
///
/// Deadlines use `MonotonicTime`; the two cannot be mixed up.
public struct UnixTime: Sendable, Hashable, Comparable, Codable {
    /// Since 1970-01-01T00:00:00Z, leap seconds not counted; negative before. APNs's 410 carries this unit.
    public let milliseconds: Int64

    /// The instant of a 410's `timestamp`, or of any other count of milliseconds since 1970.
    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// The instant of a count of whole seconds since 1970, the unit of payload dates and `apns-expiration`.
    public init(seconds: Int64) {
        self.milliseconds = seconds * 1000
    }

    /// Whole seconds, rounded down: the unit of every date in a Live Activity payload (reference: LA page of Apple).
    public var seconds: Int64 {
        milliseconds >= 0 ? milliseconds / 1000 : -((999 - milliseconds) / 1000)
    }

    /// Whether `left` is earlier.
    public static func < (left: Self, right: Self) -> Bool {
        left.milliseconds < right.milliseconds
    }

    /// The instant that much later; what is under a millisecond is cut off.
    public static func + (time: Self, duration: Duration) -> Self {
        Self(milliseconds: time.milliseconds + duration.wholeMilliseconds)
    }

    /// The instant that much earlier; what is under a millisecond is cut off.
    public static func - (time: Self, duration: Duration) -> Self {
        Self(milliseconds: time.milliseconds - duration.wholeMilliseconds)
    }

    /// The time between the two, negative when `later` is not later: wall clocks step.
    public static func - (later: Self, earlier: Self) -> Duration {
        .milliseconds(later.milliseconds - earlier.milliseconds)
    }

    /// Reads a bare number of milliseconds.
    public init(from decoder: any Decoder) throws {
        milliseconds = try decoder.singleValueContainer().decode(Int64.self)
    }

    /// Writes a bare number of milliseconds.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(milliseconds)
    }
}

extension UnixTime: CustomStringConvertible {
    /// RFC 3339 in UTC with whole seconds, as logs and timelines print it: `2026-11-21T14:32:00Z`.
    public var description: String {
        let days = seconds >= 0 ? seconds / 86_400 : -((86_399 - seconds) / 86_400)
        return "\(CivilDate(daysSince1970: Int(days)))T\(Int(seconds - days * 86_400).clock)Z"
    }
}

extension Duration {
    /// Milliseconds, rounded down.
    package var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}
