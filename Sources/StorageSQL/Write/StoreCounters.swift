import LiveActivityCore
import LiveActivityStorage
import Synchronization

/// Counts the store's operations. The cost is an addition per statement and some reads per transaction, so the counters
/// are always on.
package final class StoreCounters: Sendable {
    private let statements = Atomic<Int>(0)
    private let totals = Mutex(StoreStatistics())
    private let failed = Mutex(StoreHealth())
    /// Begin of the transaction that runs; `nil` if none does. Tests set it back.
    let writingSince = Mutex<ContinuousClock.Instant?>(nil)

    package init() {}

    /// Counts a statement. The database calls it for each, whatever transaction runs it.
    package func ran() { statements.wrappingAdd(1, ordering: .relaxed) }

    /// Counts a transaction after its commit.
    func committed(
        _ written: SQLWritten, since beganAt: ContinuousClock.Instant, ranks: some Sequence<CommandRank>, _ tally: Tally
    ) {
        let seconds = (ContinuousClock.now - beganAt) / .seconds(1)
        totals.withLock { totals in
            var group = 0
            for rank in ranks {
                totals.commands[rank, default: 0] += 1
                group += 1
            }
            totals.commits += 1
            totals.groupSizes.observe(Double(group))
            totals.commitSeconds.observe(seconds)
            totals.rowsWritten += written.rows
            totals.bytesWritten += written.bytes
            if !tally.isEmpty { totals.tally.add(tally) }
        }
    }

    /// Counts rows that pruning erased.
    func erased(_ rows: [String: Int]) { totals.withLock { $0.erased.merge(rows, uniquingKeysWith: +) } }

    /// Counts rows that could not be read.
    func met(damagedRows count: Int) { totals.withLock { $0.damagedRows += count } }

    /// Counts a transaction that failed for a reason other than its commands.
    func failedToWrite() { failed.withLock { $0.failedWrites += 1 } }

    /// Counts a failed read, unless it was interrupted.
    func failedToRead(_ error: any Error) {
        guard let error = error as? SQLError, error.kind != .interrupted else { return }
        failed.withLock { $0.failedReads += 1 }
    }

    /// Measures how long a transaction takes, because the disk may hang.
    func whileWriting(_ write: () throws -> Void) rethrows {
        writingSince.withLock { $0 = .now }
        defer { writingSince.withLock { $0 = nil } }
        try write()
    }

    var health: StoreHealth {
        var health = failed.withLock(\.self)
        if let writing { health.writing = writing }
        return health
    }

    /// Time that the transaction has taken that runs; `nil` if none runs.
    var writing: Duration? { writingSince.withLock(\.self).map { ContinuousClock.now - $0 } }

    /// The counts, without the number of waiting commands.
    var statistics: StoreStatistics {
        var statistics = totals.withLock { $0 }
        statistics.statements = statements.load(ordering: .relaxed)
        return statistics
    }
}
