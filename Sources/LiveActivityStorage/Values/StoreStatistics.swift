package import APNSModel
package import LiveActivityCore

/// What a store has done since it was opened: totals that only grow, and what waits now.
package struct StoreStatistics: Sendable, Equatable {
    package var commits = 0
    /// Commands of committed transactions.
    package var commands: [CommandRank: Int] = [:]
    package var groupSizes = BucketCounts(bounds: Metric.storeGroupSize.bounds)
    package var commitSeconds = BucketCounts(bounds: Metric.storeCommitSeconds.bounds)
    /// Commands that are not in a transaction yet.
    package var waiting = 0
    package var statements = 0
    package var rowsWritten = 0
    package var bytesWritten = 0
    /// Rows of due work that could not be read, and tokens that did not open, each time that they were met.
    package var damagedRows = 0
    /// Rows that clean-up erased, by table.
    package var erased: [String: Int] = [:]
    /// What committed commands counted.
    package var tally = Tally()
    /// The earliest instant at which a lane is to be looked at; may lie ahead.
    package var earliestDue: UnixTime?

    package init() {}
}
