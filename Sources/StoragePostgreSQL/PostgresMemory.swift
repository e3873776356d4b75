import Synchronization

/// The changes of a database that this process knows to be there. The database itself may lose them in a failover.
package final class PostgresMemory: Sendable {
    /// A transaction: the epoch of the process that committed it, and its number within the epoch.
    struct Commit: Comparable, Sendable {
        var epoch: Int64
        var group: Int64

        static func < (one: Self, other: Self) -> Bool { (one.epoch, one.group) < (other.epoch, other.group) }
    }

    private struct State {
        /// The last transaction that was seen.
        var commit: Commit?
        /// Last epoch in which this process itself wrote.
        var ownEpoch: Int64?
        /// The newest timeline that was seen of a database.
        var lineage: PostgresLineage?
    }

    private let state = Mutex(State())

    package init() {}

    /// The newest timeline that was seen.
    var lineage: PostgresLineage? { state.withLock(\.lineage) }

    /// The last transaction that is known.
    var commit: Commit? { state.withLock(\.commit) }

    /// The last transaction that is known, if this process itself has written it. Then there was no later one before
    /// another process took the database over.
    var ownCommit: Commit? { state.withLock { $0.commit?.epoch == $0.ownEpoch ? $0.commit : nil } }

    /// Notes a transaction that was committed.
    func saw(_ commit: Commit, isOwn: Bool) {
        state.withLock { state in
            if isOwn { state.ownEpoch = max(state.ownEpoch ?? 0, commit.epoch) }
            state.commit = max(state.commit ?? commit, commit)
        }
    }

    /// Forgets what rows that were restored do not have.
    func restart(at commit: Commit) {
        state.withLock { state in
            state.commit = commit
            state.ownEpoch = commit.epoch
        }
    }

    /// Notes the line of changes of a server.
    ///
    /// - Returns: `false` if a later timeline of the same database was seen before. Then this server is one that a
    ///   standby has replaced.
    func accepts(_ lineage: PostgresLineage) -> Bool {
        state.withLock { state in
            if let known = state.lineage, known.database == lineage.database, known.timeline > lineage.timeline {
                return false
            }
            state.lineage = lineage
            return true
        }
    }
}
