import APNSModel
import GRDB
import GRDBSQLite
import LiveActivityCore
import LiveActivityStorage
import Synchronization

/// Counts what the store does, cheaply enough to be always on: an addition per statement, some reads per transaction.
final class StoreCounters: Sendable {
    /// Where the connection's own counters stood, and when.
    struct Transaction {
        fileprivate let beganAt: ContinuousClock.Instant
        // SQLite's own counters have 32 bits and wrap.
        fileprivate let rows: Int32
        fileprivate let pages: Int32
    }

    /// SQLite writes this much before each page of the log (https://www.sqlite.org/fileformat2.html#walformat).
    private static let frameHeaderBytes = 24

    private let statements = Atomic<Int>(0)
    private let pageBytes = Atomic<Int>(4096)
    private let totals = Mutex(StoreStatistics())
    private let failed = Mutex(StoreHealth())
    private let writingSince = Mutex<ContinuousClock.Instant?>(nil)

    /// Counts the statements of a connection, from its begin on.
    ///
    /// The counters live as long as the connection, since its configuration holds what calls this. Another trace on
    /// the same connection, as tests have it, takes the place of this one.
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

    /// It changed something so far.
    func hasChanged(_ transaction: Transaction, _ db: Database) -> Bool { Self.rowsChanged(db) != transaction.rows }

    /// After the commit, on the same connection.
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

    /// Rows that clean-up erased.
    func erased(_ rows: [String: Int]) { totals.withLock { $0.erased.merge(rows, uniquingKeysWith: +) } }

    /// Rows that could not be read.
    func met(damagedRows count: Int) { totals.withLock { $0.damagedRows += count } }

    /// A transaction that failed for no reason of its commands.
    func failedToWrite() { failed.withLock { $0.failedWrites += 1 } }

    /// A read that failed, unless nobody wants it any more.
    func failedToRead(_ error: any Error) {
        guard let error = error as? DatabaseError, error.resultCode != .SQLITE_INTERRUPT else { return }
        failed.withLock { $0.failedReads += 1 }
    }

    /// Around what is written: the disk may hang meanwhile.
    func whileWriting(_ write: () -> Void) {
        writingSince.withLock { $0 = .now }
        defer { writingSince.withLock { $0 = nil } }
        write()
    }

    var health: StoreHealth {
        var health = failed.withLock(\.self)
        if let since = writingSince.withLock(\.self) { health.writing = ContinuousClock.now - since }
        return health
    }

    /// What was counted; what waits is not known here.
    var statistics: StoreStatistics {
        var statistics = totals.withLock { $0 }
        statistics.statements = statements.load(ordering: .relaxed)
        return statistics
    }

    private static func rowsChanged(_ db: Database) -> Int32 { sqlite3_total_changes(db.sqliteConnection) }

    /// Pages that this connection wrote to the log (https://www.sqlite.org/c3ref/c_dbstatus_options.html).
    private static func pagesWritten(_ db: Database) -> Int32 {
        var now: Int32 = 0
        var highest: Int32 = 0
        sqlite3_db_status(db.sqliteConnection, SQLITE_DBSTATUS_CACHE_WRITE, &now, &highest, 0)
        return now
    }
}
