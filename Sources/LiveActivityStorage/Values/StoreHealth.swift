/// Failures of the database since it was opened, and the duration of the running transactions.
///
/// Causes are a disk that is full, broken or hangs, and a file that is damaged, missing or locked by another program. A
/// call that was refused for a reason of its own does not count.
package struct StoreHealth: Sendable, Equatable {
    package var failedReads = 0
    /// Number of failed transactions. Each one counts once for all of its commands.
    package var failedWrites = 0
    /// Time for which the transactions that are being written have been running; zero if there are none.
    package var writing = Duration.zero

    package init() {}
}
