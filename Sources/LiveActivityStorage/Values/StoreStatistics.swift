package import APNSModel
package import LiveActivityCore

/// Activity of a store since it was opened: totals that only grow, and the work that waits now.
package struct StoreStatistics: Sendable, Equatable {
    package var commits = 0
    /// Number of commands in committed transactions, by rank.
    package var commands: [CommandRank: Int] = [:]
    package var groupSizes = BucketCounts(bounds: Metric.storeGroupSize.bounds)
    package var commitSeconds = BucketCounts(bounds: Metric.storeCommitSeconds.bounds)
    /// Number of commands that are not in a transaction yet.
    package var waiting = 0
    package var statements = 0
    package var rowsWritten = 0
    package var bytesWritten = 0
    /// Number of times that a row of due work could not be read, or a token could not be opened.
    package var damagedRows = 0
    /// Number of rows that clean-up erased, by table.
    package var erased: [String: Int] = [:]
    /// Counts of committed commands.
    package var tally = Tally()
    /// Earliest time at which a lane needs a look. It may be in the future.
    package var earliestDue: UnixTime?

    package init() {}
}
