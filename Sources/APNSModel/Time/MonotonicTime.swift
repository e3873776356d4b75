/// An instant of a clock that never steps, for deadlines and leases. It has no meaning outside this process.
public struct MonotonicTime: Sendable, Hashable, Comparable {
    /// Nanoseconds since the clock's own origin. Two instants compare only if they come from one clock.
    public let nanoseconds: Int64

    /// Creates an instant from a reading of the clock. Tests may begin with any number.
    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// Returns `true` if `left` is earlier.
    public static func < (left: Self, right: Self) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// Returns the instant that is `duration` later. Fractions of a nanosecond are discarded.
    public static func + (time: Self, duration: Duration) -> Self {
        Self(nanoseconds: time.nanoseconds + duration.wholeNanoseconds)
    }

    /// Returns the time from `earlier` to `later`, which is negative if `later` is earlier.
    public static func - (later: Self, earlier: Self) -> Duration {
        .nanoseconds(later.nanoseconds - earlier.nanoseconds)
    }
}

extension Duration {
    package var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
