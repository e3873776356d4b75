import APNSClient
import APNSModel
import LiveActivityAPI

extension Instant {
    /// Current time by this machine's clock.
    static var current: Instant { Instant(clampingMilliseconds: Int(APNSClient.liveTime.wall().milliseconds)) }
}
