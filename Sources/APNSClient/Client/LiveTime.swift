public import APNSModel
import NIOCore

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

extension APNSClient {
    /// The machine's clocks. The monotonic one has the origin of `NIODeadline`.
    public static let liveTime = TimeSource(
        wall: {
            var now = timespec()
            clock_gettime(CLOCK_REALTIME, &now)
            return UnixTime(milliseconds: Int64(now.tv_sec) * 1_000 + Int64(now.tv_nsec) / 1_000_000)
        },
        monotonic: { MonotonicTime(nanoseconds: Int64(NIODeadline.now().uptimeNanoseconds)) }
    )

    /// What has gone by on this machine, that in which it was suspended included: `liveTime.monotonic` does not count
    /// that. With an origin of its own.
    package static let elapsedTime: @Sendable () -> MonotonicTime = {
        var now = timespec()
        #if canImport(Darwin)
            clock_gettime(CLOCK_MONOTONIC_RAW, &now)
        #else
            clock_gettime(CLOCK_BOOTTIME, &now)
        #endif
        return MonotonicTime(nanoseconds: Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec))
    }
}
