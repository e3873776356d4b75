package import APNSModel

/// The store's own health, and what it clears away.
package protocol AdminStore: Sendable {
    /// Reads a row, so that readiness says something.
    func check() async throws(StorageError)
    /// Erases one page of what is older than it is kept, what was written first before what came later.
    ///
    /// - Returns: `true` when there may be more.
    func prune(_ limits: PruneLimits, at now: UnixTime) async throws(StorageError) -> Bool
    /// Active activities whose run began before that, in the order in which they began, at most `limit`.
    func running(
        since time: UnixTime, after: RunningActivity?, limit: Int
    ) async throws(StorageError) -> [RunningActivity]
    /// What the store has done since it was opened, and what waits.
    func statistics() async throws(StorageError) -> StoreStatistics
    /// Told without the database, which may be what fails.
    var health: StoreHealth { get }
    /// What is due, and what waits for phones.
    func backlog(at now: UnixTime) async throws(StorageError) -> Backlog
    /// How many devices there are of each app, signed out ones included: takes longer the more there are.
    func deviceCounts() async throws(StorageError) -> [BundleID: Int]
}

/// What is due and not claimed, and starts that no phone has reported. Counted up to `most`.
package struct Backlog: Sendable, Equatable {
    package static let most = 100_000

    /// Activities' lanes with something to do.
    package var lanes = 0
    package var notifications = 0
    /// Starts that APNs took, or may have, whose cards no phone has reported.
    package var openStarts = 0

    package init() {}
}
