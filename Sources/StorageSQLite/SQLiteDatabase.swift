import Foundation
import GRDB
import GRDBSQLite
package import LiveActivityStorage
package import StorageSQL

/// A SQLite database: one file and one serving process. A commit is durable when it returns (WAL, `synchronous =
/// FULL`).
package final class SQLiteDatabase: SQLDatabase {
    package let name = "sqlite"
    package let path: String
    let pool: DatabasePool
    private let serving: ProcessLock?

    /// The way in which a process uses the database.
    package enum Access: Sendable {
        /// The process serves the database. No other process may do so.
        case exclusive
        /// The process manages API keys, beside a running server or without one.
        case administration
        /// The process uses a disposable file. Nothing waits for the disk, and a crash may lose data.
        case trial
    }

    /// Opens or creates the file, and migrates its tables. See `SQLStore.init(path:)`.
    ///
    /// - Parameter takesMoved: `true` to open the file although its rows have moved to another database.
    init(
        path: String, access: Access, takesMoved: Bool = false, patience: Duration, counters: StoreCounters
    ) throws(StorageError) {
        self.path = path
        let isAlone = access != .administration
        let lock = try ProcessLock(path: path, patience: isAlone ? patience : .zero)
        if lock == nil, isAlone { throw .inUse(path: path) }
        serving = isAlone ? lock : nil
        try DatabaseFile.makeIfMissing(path)
        do {
            // Beside a server, the tables stay as the server made them. Without one, the lock is held during migration.
            pool = try withExtendedLifetime(lock) { try Self.open(path, counters, access, migrates: lock != nil) }
            if !takesMoved, let mark = try pool.read(MoveMark.of) {
                try pool.close()
                throw StorageError.cannotOpen("\(path): \(mark)")
            }
        } catch let error as StorageError {
            throw error
        } catch let error as DatabaseError where error.resultCode == .SQLITE_NOTADB {
            throw .cannotOpen("\(path) is not a SQLite database, or is damaged: restore a backup, or name another file")
        } catch {
            throw .cannotOpen("\(path): \(SQLError.of(error))")
        }
    }

    /// Creates a database on open connections, without a lock.
    init(path: String, pool: DatabasePool) {
        self.path = path
        self.pool = pool
        serving = nil
    }

    private static let writerCacheKiB = 16 * 1024
    /// Size to which the file of the write-ahead log shrinks when the log begins anew.
    static let logBytes = 16 * 1024 * 1024

    private static func open(
        _ path: String, _ counters: StoreCounters, _ access: Access, migrates: Bool
    ) throws -> DatabasePool {
        var configuration = Configuration()
        configuration.label = "islet"
        configuration.maximumReaderCount = 4
        // SQLite's lock is not fair. A command beside a busy server may get it late, and has time to wait. A caller of
        // the server has not.
        configuration.busyMode = .timeout(access == .administration ? 60 : 5)
        configuration.prepareDatabase { db in watch(db, counters) }
        let pool = try DatabasePool(path: path, configuration: configuration)
        // GRDB sets NORMAL for a pool, which may lose commits on power loss. The pragma only works outside a
        // transaction.
        try pool.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA synchronous = \(access == .trial ? "OFF" : "FULL")")
            // Large enough that the pages read by a claim are still cached when its flight is settled.
            try db.execute(sql: "PRAGMA cache_size = -\(writerCacheKiB)")
            // A long read, such as a backup, makes the log grow. Without a limit, its file would never shrink again.
            try db.execute(sql: "PRAGMA journal_size_limit = \(logBytes)")
        }
        let migrator = Schema.migrator
        let isNewer = try pool.read { db in try migrator.hasBeenSuperseded(db) }
        guard !isNewer else {
            throw DatabaseError(
                message: "it was written by a newer version of islet: run that version, or restore a backup of this one"
            )
        }
        if migrates { try migrator.migrate(pool) }
        return pool
    }

    /// Counts the statements of a connection from its opening on.
    ///
    /// The counters live as long as the connection, because its configuration holds the closure that calls this.
    /// Another trace on the same connection, as in tests, replaces this one.
    private static func watch(_ db: Database, _ counters: StoreCounters) {
        sqlite3_trace_v2(
            db.sqliteConnection, UInt32(SQLITE_TRACE_STMT),
            { _, context, _, _ in
                guard let context else { return 0 }
                Unmanaged<StoreCounters>.fromOpaque(context).takeUnretainedValue().ran()
                return 0
            }, Unmanaged.passUnretained(counters).toOpaque())
    }

    // MARK: - Transactions

    package func write(_ body: (any SQLTransaction) throws -> Void) throws -> SQLWritten {
        do {
            return try pool.writeWithoutTransaction { db in
                let transaction = SQLiteTransaction(db)
                try db.inTransaction(.immediate) {
                    try body(transaction)
                    return .commit
                }
                return transaction.written
            }
        } catch let error as DatabaseError {
            throw SQLError.of(error)
        }
    }

    package func read<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLTransaction) throws -> Value
    ) async throws -> Value {
        do {
            return try await pool.read { db in try body(SQLiteTransaction(db)) }
        } catch let error as DatabaseError {
            throw SQLError.of(error)
        }
    }

    package func beginRead(_ body: @escaping @Sendable (Result<any SQLTransaction, any Error>) -> Void) {
        pool.asyncRead { database in
            body(database.map { SQLiteTransaction($0) as any SQLTransaction }.mapError { SQLError.of($0) })
        }
    }

    package func readNow<Value>(_ body: (any SQLTransaction) throws -> Value) throws -> Value {
        try pool.read { db in try body(SQLiteTransaction(db)) }
    }

    package func lock(_ purpose: SQLLockPurpose) throws(StorageError) -> (any SQLLock)? {
        switch purpose {
        case .serving: try ProcessLock(path: path)
        case .rotation: try ProcessLock(path: path + ".rotation")
        }
    }

    package func close() {
        try? pool.close()
        serving?.unlock()
    }
}

extension ProcessLock: SQLLock {}

extension SQLError {
    /// Returns an error of SQLite without the arguments of its statement, which may contain tokens.
    static func of(_ error: any Error) -> SQLError {
        guard let error = error as? DatabaseError else { return SQLError(.other, String(describing: error)) }
        let kind: Kind =
            switch error.resultCode {
            case .SQLITE_CONSTRAINT: .conflict
            case .SQLITE_CORRUPT: .corrupt
            case .SQLITE_INTERRUPT: .interrupted
            // The last frame of the WAL is incomplete, so no reader and no recovery uses it.
            case .SQLITE_FULL: .rolledBack
            default: .other
            }
        return SQLError(kind, "SQLite error \(error.resultCode.rawValue): \(error.message ?? "no message")")
    }
}

extension SQLStore {
    /// Opens or creates a store in a SQLite file, and migrates its tables.
    ///
    /// - Parameters:
    ///   - path: The path of the database file.
    ///   - access: The way in which this process uses the database.
    ///   - tokenKeys: The source of the keys that seal tokens. The default is the ring beside the database. For
    ///     `.administration` it is no ring, which suffices for work without tokens.
    ///   - patience: Time to wait while another process holds the database. A command without a server holds it for a
    ///     moment, and a restarted server waits for its predecessor.
    ///   - faultPoints: The points at which tests inject faults.
    /// - Throws: `StorageError.inUse` if another process serves the database. `.cannotOpen` if it is not a database of
    ///   this version, or cannot be written. `.tokenKeys` if its keys are missing.
    package convenience init(
        path: String, access: SQLiteDatabase.Access = .exclusive, tokenKeys: TokenKeySource? = nil,
        patience: Duration = .seconds(5), faultPoints: FaultPoints = FaultPoints()
    ) throws(StorageError) {
        let counters = StoreCounters()
        let isAlone = access != .administration
        try self.init(
            SQLiteDatabase(path: path, access: access, patience: patience, counters: counters), counters: counters,
            tokenKeys: tokenKeys ?? (isAlone ? .beside(path) : nil), adoptsKeys: isAlone, faultPoints: faultPoints)
    }
}
