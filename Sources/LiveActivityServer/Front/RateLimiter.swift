package import APNSModel
import Synchronization

/// A limiter of the calls of each label to a number per second, and to twice that number at once after a pause.
///
/// A fixed number of places is shared by all labels. A label's hash selects its place, so memory is bounded whoever
/// calls. Two labels at one place share one allowance, which is rare if there are many places. The hash differs between
/// processes.
package struct RateLimiter: Sendable {
    /// The state of all places: for each, the instant in nanoseconds at which its allowance is whole again.
    ///
    /// Nothing else is needed (generic cell rate algorithm).
    private final class Places: Sendable {
        let wholeAt: Mutex<[Int64]>

        init(_ count: Int) {
            wholeAt = Mutex(Array(repeating: .min, count: count))
        }
    }

    /// Calls that are allowed at once after a pause, in seconds of allowance.
    private static let burst: Int64 = 2
    private static let second: Int64 = 1_000_000_000

    package let perSecond: Int
    private let places: Places
    private let count: Int

    /// - Parameter perSecond: From 1 to 1,000,000. Other values are clamped.
    package init(perSecond: Int, places count: Int) {
        self.perSecond = min(max(perSecond, 1), 1_000_000)
        self.count = max(count, 1)
        places = Places(self.count)
    }

    /// Counts a call.
    ///
    /// - Returns: `nil` if the call is allowed, otherwise the time until the next call is allowed.
    package func take(_ label: String, at now: MonotonicTime) -> Duration? {
        var hasher = Hasher()
        hasher.combine(label)
        let index = Int(UInt(bitPattern: hasher.finalize()) % UInt(count))
        let cost = Self.second / Int64(perSecond)
        let allowance = cost * Int64(perSecond) * Self.burst
        let now = now.nanoseconds
        return places.wholeAt.withLock { wholeAt in
            let next = max(wholeAt[index], now) + cost
            guard next - now <= allowance else { return .nanoseconds(next - now - allowance) }
            wholeAt[index] = next
            return nil
        }
    }
}
