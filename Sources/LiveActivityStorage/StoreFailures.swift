/// How often the database did not do what it was asked, since it was opened: a disk that is full or broken, a file that
/// is damaged, gone or held by another program. What a caller was refused for a reason of its own does not count.
package struct StoreFailures: Sendable, Equatable {
    package var reads = 0
    /// Transactions, each with all its commands.
    package var writes = 0

    package init() {}
}
