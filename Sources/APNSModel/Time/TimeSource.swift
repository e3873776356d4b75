/// The two clocks of a component. Its creator provides them, so that tests control the time.
public struct TimeSource: Sendable {
    /// The wall clock, for times that Apple and people see.
    public let wall: @Sendable () -> UnixTime
    /// The monotonic clock, for deadlines and leases.
    public let monotonic: @Sendable () -> MonotonicTime

    /// Creates a time source. Both closures are called often and from any thread: they must be cheap and must not
    /// block.
    public init(
        wall: @escaping @Sendable () -> UnixTime,
        monotonic: @escaping @Sendable () -> MonotonicTime
    ) {
        self.wall = wall
        self.monotonic = monotonic
    }
}
