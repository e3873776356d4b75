package import APNSModel
import Foundation
import GRDB
package import LiveActivityCore
package import LiveActivityStorage
import Synchronization

/// The store on SQLite: one file and one process. A commit is durable when `commit` returns (WAL, `synchronous =
/// FULL`).
package final class SQLiteStore: WorkStore, RefreshStore, Sendable {
    package let path: String
    package let wakeUps: AsyncStream<UnixTime>
    package let refreshWakeUps: AsyncStream<Void>
    let pool: DatabasePool
    let queue: WriterQueue
    let eventSubscribers = EventSubscribers()
    let counters: StoreCounters
    /// The sealer of tokens, or `nil` if this store does not handle tokens.
    let sealer: TokenSealer?
    /// Path of the key ring that was created for a new database, or `nil`.
    package let madeTokenKeys: String?
    private let readers: ReaderQueue
    private let lock: ProcessLock?
    /// Time of the newest future change that `pullBack` has handled, in milliseconds.
    let timesAhead = Mutex<Int64>(0)
    /// The positions of pruning in the rows of apps that exceed their share.
    let walks = Mutex(Pruning.Walks())
    let wakeContinuation: AsyncStream<UnixTime>.Continuation
    let refreshContinuation: AsyncStream<Void>.Continuation

    /// The way in which a process uses the database.
    package enum Access: Sendable {
        /// The process serves the database. No other process may do so.
        case exclusive
        /// The process manages API keys, beside a running server or without one.
        case administration
        /// The process uses a disposable file. Nothing waits for the disk, and a crash may lose data.
        case trial
    }

    /// Opens or creates the database, and migrates its tables.
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
    package init(
        path: String, access: Access = .exclusive, tokenKeys: TokenKeySource? = nil,
        patience: Duration = .seconds(5), faultPoints: FaultPoints = FaultPoints()
    ) throws(StorageError) {
        self.path = path
        let isAlone = access != .administration
        let lock = try ProcessLock(path: path, patience: isAlone ? patience : .zero)
        if lock == nil, isAlone { throw .inUse(path: path) }
        self.lock = isAlone ? lock : nil
        try DatabaseFile.makeIfMissing(path)
        let counters = StoreCounters()
        self.counters = counters
        do {
            // Beside a server, the tables stay as the server made them. Without one, the lock is held during migration.
            pool = try withExtendedLifetime(lock) { try Self.open(path, counters, access, migrates: lock != nil) }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_NOTADB {
            throw .cannotOpen("\(path) is not a SQLite database, or is damaged: restore a backup, or name another file")
        } catch {
            throw .cannotOpen("\(path): \(WriterQueue.words(error))")
        }
        do throws(StorageError) {
            let source = tokenKeys ?? (isAlone ? .beside(path) : nil)
            (sealer, madeTokenKeys) = try Self.sealer(source, pool, adopts: isAlone)
        } catch {
            try? pool.close()
            lock?.unlock()
            throw error
        }
        let (stream, continuation) = AsyncStream.wakeUps()
        wakeUps = stream
        wakeContinuation = continuation
        let (refreshes, refreshDue) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        refreshWakeUps = refreshes
        refreshContinuation = refreshDue
        let subscribers = eventSubscribers
        readers = ReaderQueue(pool)
        queue = WriterQueue(
            pool, counters, sealer, faultPoints: faultPoints, onWorkDue: { continuation.announce($0) },
            onRefreshDue: { refreshDue.yield() }, onEvents: { subscribers.wake() })
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
        configuration.prepareDatabase { db in counters.watch(db) }
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

    /// Loads the keys of the database and checks them against the ring. A serving process also adopts the ring's first
    /// keys.
    private static func sealer(
        _ source: TokenKeySource?, _ pool: DatabasePool, adopts: Bool
    ) throws(StorageError) -> (TokenSealer?, made: String?) {
        guard let source else { return (nil, nil) }
        do {
            let needed = try pool.read { db in
                try TokenKeyRegister.entries(Statements(db: db, sealing: TokenSealing(db, nil)))
            }
            let (sealer, isMade) = try TokenSealer.open(source, needed: needed)
            let ring = sealer.ring
            if adopts, !TokenKeyRegister.isAdopted(ring, needed) {
                try pool.write { db in
                    let sql = Statements(db: db, sealing: TokenSealing(db, nil))
                    try TokenKeyRegister.adopt(ring, place: source.place, sql)
                }
            }
            if isMade, case .file(let path, _) = source { return (sealer, path) }
            return (sealer, nil)
        } catch let problem as TokenKeyProblem {
            throw .tokenKeys(problem)
        } catch {
            throw .cannotOpen(WriterQueue.words(error))
        }
    }

    /// Writes the waiting commands and releases the file.
    package func close() {
        queue.close()
        wakeContinuation.finish()
        refreshContinuation.finish()
        eventSubscribers.finish()
        try? pool.close()
        lock?.unlock()
    }

    package func commit<C: Command>(_ command: C) async throws(StorageError) -> Result<C.Reply, Refusal> {
        let queue = self.queue
        let result: Result<Result<C.Reply, Refusal>, StorageError> = await withCheckedContinuation { continuation in
            queue.submit(
                WriterQueue.Job(
                    rank: command.rank, weight: command.weight, isAlone: command.isAlone,
                    work: .command(keys: command.keys) { draft in
                        let reply = draft.run(command)
                        return WriterQueue.Done { continuation.resume(returning: .success(reply)) }
                    },
                    fail: { error in continuation.resume(returning: .failure(error)) }))
        }
        return try result.get()
    }

    package func claimAtOnce(from source: ClaimAtOnce.Source?) { queue.claimAtOnce(from: source) }

    package func nextWork() async throws(StorageError) -> NextWork {
        try await briefQuery { sql in
            var next = NextWork(lane: nil, notification: nil)
            try sql.query(
                """
                SELECT (SELECT min(next_at) FROM lane WHERE next_at IS NOT NULL),
                    (SELECT min(wake_at) FROM activity WHERE wake_at IS NOT NULL),
                    (SELECT min(next_at) FROM notification)
                """
            ) { row in
                next.lane = [row.timeOrNil(), row.timeOrNil()].compactMap { $0 }.min()
                next.notification = row.timeOrNil()
            }
            next.conditions = try sql.laneConditions()
            return next
        }
    }

    /// Reads one consistent state of the database with prepared statements.
    func query<Value: Sendable>(
        _ body: @escaping @Sendable (Statements) throws -> Value
    ) async throws(StorageError) -> Value {
        let (sealer, counters) = (self.sealer, self.counters)
        return try await read { db in try Self.query(db, sealer, counters, body) }
    }

    /// Reads a few rows of one consistent state, in a transaction that other such reads share.
    func briefQuery<Value: Sendable>(
        _ body: @escaping @Sendable (Statements) throws -> Value
    ) async throws(StorageError) -> Value {
        let (sealer, counters) = (self.sealer, self.counters)
        let result: Result<Value, StorageError> = await withCheckedContinuation { continuation in
            readers.submit { database in
                do {
                    continuation.resume(returning: .success(try Self.query(database.get(), sealer, counters, body)))
                } catch {
                    counters.failedToRead(error)
                    continuation.resume(returning: .failure(.failed(WriterQueue.words(error))))
                }
            }
        }
        return try result.get()
    }

    private static func query<Value>(
        _ db: Database, _ sealer: TokenSealer?, _ counters: StoreCounters, _ body: (Statements) throws -> Value
    ) throws -> Value {
        let sealing = TokenSealing(db, sealer)
        defer { if sealing.damaged > 0 { counters.met(damagedRows: sealing.damaged) } }
        return try body(Statements(db: db, sealing: sealing))
    }

    /// Reads one consistent state of the database.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(StorageError) -> Value {
        do {
            return try await pool.read(body)
        } catch {
            counters.failedToRead(error)
            throw .failed(WriterQueue.words(error))
        }
    }

    /// Writes without a command, such as API keys and pruning.
    func write<Value: Sendable>(
        rank: CommandRank = .write, _ body: @escaping @Sendable (Statements) throws -> Value
    ) async throws(StorageError) -> Value {
        let queue = self.queue
        let result: Result<Value, StorageError> = await withCheckedContinuation { continuation in
            queue.submit(
                WriterQueue.Job(
                    rank: rank,
                    work: .statements { sql in
                        let value = try body(sql)
                        return WriterQueue.Done { continuation.resume(returning: .success(value)) }
                    },
                    fail: { error in continuation.resume(returning: .failure(error)) }))
        }
        return try result.get()
    }
}
