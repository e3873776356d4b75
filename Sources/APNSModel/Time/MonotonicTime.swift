/// An instant of a clock that never steps: for deadlines and leases, meaningless outside this process.
public struct MonotonicTime: Sendable, Hashable, Comparable {
    /// Since the clock's own origin: two instants compare only if they come from one clock.
    public let nanoseconds: Int64

    /// The instant at a reading of the clock; tests count from any number they like.
    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// Whether `left` is earlier.
    public static func < (left: Self, right: Self) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// The instant that much later; what is under a nanosecond is cut off.
    public static func + (time: Self, duration: Duration) -> Self {
        Self(nanoseconds: time.nanoseconds + duration.wholeNanoseconds)
    }

    /// The time between the two, negative when `later` is not later.
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
