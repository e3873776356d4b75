/// The two clocks a part of the system may read, given to it by whoever builds it: tests decide what time it is.
public struct TimeSource: Sendable {
    /// The wall clock: goes to Apple and to people.
    public let wall: @Sendable () -> UnixTime
    /// The clock for deadlines and leases.
    public let monotonic: @Sendable () -> MonotonicTime

    /// Both are called often and from any thread: they must be cheap and must not block.
    public init(
        wall: @escaping @Sendable () -> UnixTime,
        monotonic: @escaping @Sendable () -> MonotonicTime
    ) {
        self.wall = wall
        self.monotonic = monotonic
    }
}
