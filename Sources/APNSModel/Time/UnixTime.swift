import IsletBasics

/// An instant of the wall clock, in milliseconds since 1970-01-01T00:00:00Z, for Apple and people.
///
/// Deadlines use `MonotonicTime`. The two types cannot be mixed.
public struct UnixTime: Sendable, Hashable, Comparable, Codable {
    /// Milliseconds since 1970-01-01T00:00:00Z without leap seconds, negative before. The 410 of APNs uses this unit.
    public let milliseconds: Int64

    /// A time before every other.
    package static let distantPast = UnixTime(milliseconds: .min)
    /// A time after every other.
    package static let distantFuture = UnixTime(milliseconds: .max)

    /// Creates an instant from milliseconds since 1970, such as the `timestamp` of a 410.
    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// Creates an instant from whole seconds since 1970, the unit of payload dates and `apns-expiration`.
    public init(seconds: Int64) {
        self.milliseconds = seconds * 1000
    }

    /// Whole seconds since 1970, rounded down: the unit of every date in a Live Activity payload. Source: Apple,
    /// "Starting and updating Live Activities with ActivityKit push notifications".
    public var seconds: Int64 {
        milliseconds >= 0 ? milliseconds / 1000 : -((999 - milliseconds) / 1000)
    }

    /// Returns `true` if `left` is earlier.
    public static func < (left: Self, right: Self) -> Bool {
        left.milliseconds < right.milliseconds
    }

    /// Returns the instant that is `duration` later. Fractions of a millisecond are discarded.
    public static func + (time: Self, duration: Duration) -> Self {
        Self(milliseconds: time.milliseconds + duration.wholeMilliseconds)
    }

    /// Returns the instant that is `duration` earlier. Fractions of a millisecond are discarded.
    public static func - (time: Self, duration: Duration) -> Self {
        Self(milliseconds: time.milliseconds - duration.wholeMilliseconds)
    }

    /// Returns the time from `earlier` to `later`, which is negative if `later` is earlier. Wall clocks may step.
    public static func - (later: Self, earlier: Self) -> Duration {
        .milliseconds(later.milliseconds - earlier.milliseconds)
    }

    /// Decodes a number of milliseconds.
    public init(from decoder: any Decoder) throws {
        milliseconds = try decoder.singleValueContainer().decode(Int64.self)
    }

    /// Encodes the instant as a number of milliseconds.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(milliseconds)
    }
}

extension UnixTime: CustomStringConvertible {
    /// The instant in RFC 3339 format, in UTC with whole seconds, for logs and timelines: `2026-11-21T14:32:00Z`.
    public var description: String {
        let days = seconds >= 0 ? seconds / 86_400 : -((86_399 - seconds) / 86_400)
        return "\(CivilDate(daysSince1970: Int(days)))T\(Int(seconds - days * 86_400).clock)Z"
    }
}

extension Duration {
    /// Whole milliseconds, rounded toward zero.
    package var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}
