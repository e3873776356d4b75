import APNSModel
import GRDB
import GRDBSQLite
import LiveActivityCore
import LiveActivityStorage
import Synchronization

/// Counts the store's operations. The cost is an addition per statement and some reads per transaction, so the counters
/// are always on.
final class StoreCounters: Sendable {
    /// The connection's own counters and the time, at the begin of a transaction.
    struct Transaction {
        fileprivate let beganAt: ContinuousClock.Instant
        // SQLite's own counters have 32 bits and wrap.
        fileprivate let rows: Int32
        fileprivate let pages: Int32
    }

    /// Size in bytes of the frame header before each page of the WAL
    /// (https://www.sqlite.org/fileformat2.html#walformat).
    private static let frameHeaderBytes = 24

    private let statements = Atomic<Int>(0)
    private let pageBytes = Atomic<Int>(4096)
    private let totals = Mutex(StoreStatistics())
    private let failed = Mutex(StoreHealth())
    private let writingSince = Mutex<ContinuousClock.Instant?>(nil)

    /// Counts the statements of a connection from its opening on.
    ///
    /// The counters live as long as the connection, because its configuration holds the closure that calls this method.
    /// Another trace on the same connection, as in tests, replaces this one.
    func watch(_ db: Database) {
        let this = Unmanaged.passUnretained(self).toOpaque()
        sqlite3_trace_v2(
            db.sqliteConnection, UInt32(SQLITE_TRACE_STMT),
            { _, context, _, _ in
                guard let context else { return 0 }
                let counters = Unmanaged<StoreCounters>.fromOpaque(context).takeUnretainedValue()
                counters.statements.wrappingAdd(1, ordering: .relaxed)
                return 0
            }, this)
        if let bytes = try? Int.fetchOne(db, sql: "PRAGMA page_size") { pageBytes.store(bytes, ordering: .relaxed) }
    }

    func begin(_ db: Database) -> Transaction {
        Transaction(beganAt: .now, rows: Self.rowsChanged(db), pages: Self.pagesWritten(db))
    }

    /// Returns `true` if the transaction has changed rows so far.
    func hasChanged(_ transaction: Transaction, _ db: Database) -> Bool { Self.rowsChanged(db) != transaction.rows }

    /// Counts a transaction. Call it after the commit, on the same connection.
    func committed(
        _ transaction: Transaction, _ db: Database, ranks: some Sequence<CommandRank>, _ tally: Tally = Tally()
    ) {
        let seconds = (ContinuousClock.now - transaction.beganAt) / .seconds(1)
        let rows = Int(Self.rowsChanged(db) &- transaction.rows)
        let pages = Int(Self.pagesWritten(db) &- transaction.pages)
        let bytes = pages * (pageBytes.load(ordering: .relaxed) + Self.frameHeaderBytes)
        totals.withLock { totals in
            var group = 0
            for rank in ranks {
                totals.commands[rank, default: 0] += 1
                group += 1
            }
            totals.commits += 1
            totals.groupSizes.observe(Double(group))
            totals.commitSeconds.observe(seconds)
            totals.rowsWritten += rows
            totals.bytesWritten += bytes
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
        guard let error = error as? DatabaseError, error.resultCode != .SQLITE_INTERRUPT else { return }
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
        if let since = writingSince.withLock(\.self) { health.writing = ContinuousClock.now - since }
        return health
    }

    /// The counts, without the number of waiting commands.
    var statistics: StoreStatistics {
        var statistics = totals.withLock { $0 }
        statistics.statements = statements.load(ordering: .relaxed)
        return statistics
    }

    private static func rowsChanged(_ db: Database) -> Int32 { sqlite3_total_changes(db.sqliteConnection) }

    /// Returns the number of pages that this connection wrote to the WAL
    /// (https://www.sqlite.org/c3ref/c_dbstatus_options.html).
    private static func pagesWritten(_ db: Database) -> Int32 {
        var now: Int32 = 0
        var highest: Int32 = 0
        sqlite3_db_status(db.sqliteConnection, SQLITE_DBSTATUS_CACHE_WRITE, &now, &highest, 0)
        return now
    }
}
