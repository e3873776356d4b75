/// How often the database did not do what it was asked, since it was opened, and whether it is at it still: a disk that
/// is full, broken or hangs, a file that is damaged, gone or held by another program. What a caller was refused for a
/// reason of its own does not count.
package struct StoreHealth: Sendable, Equatable {
    package var failedReads = 0
    /// Transactions, each with all its commands.
    package var failedWrites = 0
    /// For how long the transactions that are being written have been; zero when none is.
    package var writing = Duration.zero

    package init() {}
}
