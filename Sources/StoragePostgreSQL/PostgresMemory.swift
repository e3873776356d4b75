import Synchronization

/// The changes of a database that this process knows to be there. The database itself may lose them in a failover.
package final class PostgresMemory: Sendable {
    /// A transaction: the epoch of the process that committed it, and its number within the epoch.
    struct Commit: Comparable, Sendable {
        var epoch: Int64
        var group: Int64

        static func < (one: Self, other: Self) -> Bool { (one.epoch, one.group) < (other.epoch, other.group) }
    }

    private struct Sighting {
        var lineage: PostgresLineage
        var at: ContinuousClock.Instant
    }

    private struct State {
        /// The last transaction that was seen.
        var commit: Commit?
        /// Last epoch in which this process itself wrote.
        var ownEpoch: Int64?
        /// The newest timeline that was seen of a database.
        var lineage: PostgresLineage?
        /// The last time that transactions were seen on each of the last lines of changes, the newest last.
        var sightings: [Sighting] = []
        /// Number of the host in the URL that was last used.
        var host: Int?
    }

    private static let maximumSightings = 4

    private let state = Mutex(State())

    package init() {}

    /// The newest timeline that was seen.
    var lineage: PostgresLineage? { state.withLock(\.lineage) }

    /// The last transaction that is known.
    var commit: Commit? { state.withLock(\.commit) }

    /// The last transaction that is known, if this process itself has written it.
    var ownCommit: Commit? { state.withLock { $0.commit?.epoch == $0.ownEpoch ? $0.commit : nil } }

    /// Number of the host in the URL that was last used.
    var host: Int? {
        get { state.withLock(\.host) }
        set { state.withLock { $0.host = newValue } }
    }

    /// Returns `true` if transactions were seen on a line of changes within a time.
    func hasSeen(_ lineage: PostgresLineage, within time: Duration, at now: ContinuousClock.Instant = .now) -> Bool {
        state.withLock { state in state.sightings.contains { $0.lineage == lineage && now - $0.at < time } }
    }

    /// Notes a transaction that was committed, and the line of changes that it was seen on.
    func saw(
        _ commit: Commit, on lineage: PostgresLineage?, isOwn: Bool, at now: ContinuousClock.Instant = .now
    ) {
        state.withLock { state in
            if isOwn { state.ownEpoch = max(state.ownEpoch ?? 0, commit.epoch) }
            state.commit = max(state.commit ?? commit, commit)
            guard let lineage else { return }
            state.sightings.removeAll { $0.lineage == lineage }
            state.sightings.append(Sighting(lineage: lineage, at: now))
            if state.sightings.count > Self.maximumSightings { state.sightings.removeFirst() }
        }
    }

    /// Notes the first transaction of an epoch of this process. Transactions that the rows lack are forgotten.
    func begin(_ epoch: Int64) {
        state.withLock { state in
            state.commit = Commit(epoch: epoch, group: 0)
            state.ownEpoch = epoch
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
