package import APNSModel

/// When a key set is fetched, and how long what was fetched holds. It fetches nothing itself.
///
/// By the clock that nobody sets: a set that was fetched while the other was ahead is not new for hours.
package struct KeySetSchedule: Sendable, Equatable {
    package struct Limits: Sendable, Hashable {
        /// What holds where the answer does not say how long it is fresh.
        package var refresh = Duration.seconds(600)
        package var shortestRefresh = Duration.seconds(60)
        package var longestRefresh = Duration.seconds(86_400)
        /// A token with a `kid` that nobody knows has the set fetched, this often at most.
        package var unknownKeyInterval = Duration.seconds(60)
        package var firstRetry = Duration.seconds(1)
        package var longestRetry = Duration.seconds(300)
        /// How long the last good set holds after the last time that it was fetched, while fetching fails.
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

    /// Whether to fetch now; whoever asks then does, and says what came of it.
    package mutating func begin(at now: MonotonicTime) -> Bool {
        guard !isFetching, nextFetchAt.map({ $0 <= now }) ?? true else { return false }
        isFetching = true
        lastFetchAt = now
        return true
    }

    /// - Parameter freshness: For how long the answer said that it is fresh; `nil`: it did not.
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

    /// A token names a key that is not there. - Returns: Whether it may be in a set that is fetched now or soon.
    package mutating func missed(at now: MonotonicTime) -> Bool {
        if isFetching { return true }
        guard failures == 0 else { return false }
        guard let last = lastFetchAt, now < last + limits.unknownKeyInterval else {
            nextFetchAt = now
            return true
        }
        return nextFetchAt.map { $0 <= now } ?? true
    }

    /// Whether what was fetched last still holds.
    package func holds(at now: MonotonicTime) -> Bool { fetchedAt.map { now < $0 + limits.outage } ?? false }
}
