package import APNSModel

/// Health, statistics and clean-up of the store.
package protocol AdminStore: Sendable {
    /// Reads one row. Readiness fails if this fails.
    func check() async throws(StorageError)
    /// Erases one page of the data that is past its retention limit, oldest first.
    ///
    /// - Returns: `true` if there may be more.
    func prune(_ limits: PruneLimits, at now: UnixTime) async throws(StorageError) -> Bool
    /// Returns at most `limit` active activities whose run began before `time`, ordered by that beginning.
    func running(
        since time: UnixTime, after: RunningActivity?, limit: Int
    ) async throws(StorageError) -> [RunningActivity]
    /// Returns the activity of the store since it was opened, and the work that waits.
    func statistics() async throws(StorageError) -> StoreStatistics
    /// Health of the store. It does not query the database, so it works while the database is down.
    var health: StoreHealth { get }
    /// Returns the amount of due work, and of work that waits for phones.
    func backlog(at now: UnixTime) async throws(StorageError) -> Backlog
    /// Returns the number of devices of each app, including signed-out ones. The time grows with their number.
    func deviceCounts() async throws(StorageError) -> [BundleID: Int]
}

/// Work that is due and not claimed, and starts that no phone has reported. Each is counted up to `most`.
package struct Backlog: Sendable, Equatable {
    package static let most = 100_000

    /// Lanes with work.
    package var lanes = 0
    package var notifications = 0
    /// Starts that APNs accepted or may have accepted, whose cards no phone has reported.
    package var openStarts = 0

    package init() {}
}
