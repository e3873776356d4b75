package import APNSModel
import Synchronization

/// A limiter of the calls of each label to a number per second or minute, and to twice that number at once after a
/// pause.
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

    /// Time in which a number of calls is allowed.
    package enum Period: String, Sendable {
        case second, minute

        fileprivate var nanoseconds: Int64 {
            switch self {
            case .second: 1_000_000_000
            case .minute: 60_000_000_000
            }
        }
    }

    /// Calls that are allowed at once after a pause, in periods of allowance.
    private static let burst: Int64 = 2

    /// Calls that are allowed in each period.
    package let calls: Int
    package let period: Period
    private let places: Places
    private let count: Int

    /// - Parameter perSecond: From 1 to 1,000,000. Other values are clamped.
    package init(perSecond: Int, places count: Int) { self.init(perSecond, .second, places: count) }

    /// - Parameter perMinute: From 1 to 1,000,000. Other values are clamped.
    package init(perMinute: Int, places count: Int) { self.init(perMinute, .minute, places: count) }

    private init(_ calls: Int, _ period: Period, places count: Int) {
        self.calls = min(max(calls, 1), 1_000_000)
        self.period = period
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
        let cost = period.nanoseconds / Int64(calls)
        let allowance = cost * Int64(calls) * Self.burst
        let now = now.nanoseconds
        return places.wholeAt.withLock { wholeAt in
            let next = max(wholeAt[index], now) + cost
            guard next - now <= allowance else { return .nanoseconds(next - now - allowance) }
            wholeAt[index] = next
            return nil
        }
    }
}
