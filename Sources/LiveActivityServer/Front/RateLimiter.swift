package import APNSModel
import Synchronization

/// How often somebody may call: so many times a second, and twice as many at once after a pause.
///
/// Whoever calls is a label. A fixed number of places is shared by all labels, each at the place that its hash says:
/// the memory is bounded whoever calls. Two at one place have one allowance together, which is rare where places are
/// many, and their hash differs from process to process.
package struct RateLimiter: Sendable {
    /// A place keeps the instant at which its allowance is whole again, in nanoseconds: nothing else is needed (the
    /// generic cell rate algorithm).
    private final class Places: Sendable {
        let wholeAt: Mutex<[Int64]>

        init(_ count: Int) {
            wholeAt = Mutex(Array(repeating: .min, count: count))
        }
    }

    /// Calls that may come at once after a pause, by how many a second.
    private static let burst: Int64 = 2
    private static let second: Int64 = 1_000_000_000

    package let perSecond: Int
    private let places: Places
    private let count: Int

    /// - Parameter perSecond: From 1 to 1,000,000.
    package init(perSecond: Int, places count: Int) {
        self.perSecond = min(max(perSecond, 1), 1_000_000)
        self.count = max(count, 1)
        places = Places(self.count)
    }

    /// Counts a call.
    ///
    /// - Returns: `nil` when it may be made, else after how long one may.
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
