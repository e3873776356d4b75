package import APNSModel

/// The schedule for fetching a key set, and for how long its keys stay valid. It fetches nothing itself.
///
/// It uses the monotonic clock. With the wall clock, a set that was fetched while that clock was ahead would not be
/// fetched again for hours.
package struct KeySetSchedule: Sendable, Equatable {
    package struct Limits: Sendable, Hashable {
        /// Time until the next fetch if the answer does not say how long it is fresh.
        package var refresh = Duration.seconds(600)
        package var shortestRefresh = Duration.seconds(60)
        package var longestRefresh = Duration.seconds(86_400)
        /// Minimum time between two fetches because of tokens with an unknown `kid`.
        package var unknownKeyInterval = Duration.seconds(60)
        package var firstRetry = Duration.seconds(1)
        package var longestRetry = Duration.seconds(300)
        /// Time for which the last fetched set stays valid while fetching fails.
        package var outage = Duration.seconds(86_400)

        package init() {}
    }

    private let limits: Limits
    private var nextFetchAt: MonotonicTime?
    private var lastFetchAt: MonotonicTime?
    private var fetchedAt: MonotonicTime?
    private var failures = 0
    private var isFetching = false

    package init(limits: Limits = Limits()) {
        self.limits = limits
    }

    /// Goes on where another schedule stands. A fetch that is under way there is made again.
    package mutating func goOn(from other: KeySetSchedule) {
        (fetchedAt, lastFetchAt, failures) = (other.fetchedAt, other.lastFetchAt, other.failures)
        nextFetchAt = other.isFetching ? nil : other.nextFetchAt
    }

    /// Returns `true` if the caller must fetch now, and then report the result.
    package mutating func begin(at now: MonotonicTime) -> Bool {
        guard !isFetching, nextFetchAt.map({ $0 <= now }) ?? true else { return false }
        isFetching = true
        lastFetchAt = now
        return true
    }

    /// - Parameter freshness: Time for which the answer says that it is fresh. `nil` if it does not say so.
    package mutating func succeeded(freshFor freshness: Duration?, at now: MonotonicTime) {
        isFetching = false
        failures = 0
        fetchedAt = now
        let wanted = freshness ?? limits.refresh
        nextFetchAt = now + min(max(wanted, limits.shortestRefresh), limits.longestRefresh)
    }

    package mutating func failed(at now: MonotonicTime) {
        isFetching = false
        let wait = limits.firstRetry * Double(1 << min(failures, 16))
        failures += 1
        nextFetchAt = now + min(wait, limits.longestRetry)
    }

    /// Handles a token that names an unknown key.
    ///
    /// - Returns: `true` if a fetch that is running or due soon may find the key.
    package mutating func missed(at now: MonotonicTime) -> Bool {
        if isFetching { return true }
        guard failures == 0 else { return false }
        guard let last = lastFetchAt, now < last + limits.unknownKeyInterval else {
            nextFetchAt = now
            return true
        }
        return nextFetchAt.map { $0 <= now } ?? true
    }

    /// Returns `true` if the last fetched set is still valid.
    package func holds(at now: MonotonicTime) -> Bool { fetchedAt.map { now < $0 + limits.outage } ?? false }
}
