public import APNSModel

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

extension APNSClient {
    /// The machine's clocks. The monotonic clock includes the time for which the machine was suspended.
    ///
    /// A push that waits through a suspension becomes late by all of it, so the clock of its deadline must include that
    /// time. `NIODeadline` does not, so its instants cannot serve as deadlines here.
    public static let liveTime = TimeSource(
        wall: {
            let now = reading(CLOCK_REALTIME)
            return UnixTime(milliseconds: Int64(now.tv_sec) * 1_000 + Int64(now.tv_nsec) / 1_000_000)
        },
        monotonic: {
            #if canImport(Darwin)
                let now = reading(CLOCK_MONOTONIC_RAW)
            #else
                let now = reading(CLOCK_BOOTTIME)
            #endif
            return MonotonicTime(nanoseconds: Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec))
        }
    )

    private static func reading(_ clock: clockid_t) -> timespec {
        var now = timespec()
        clock_gettime(clock, &now)
        return now
    }
}
