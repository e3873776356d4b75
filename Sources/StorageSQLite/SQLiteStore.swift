package import APNSModel
import Foundation
import GRDB
package import LiveActivityCore
package import LiveActivityStorage
import Synchronization

/// The store on SQLite: one file, one process, durable when `commit` returns (WAL, `synchronous = FULL`).
package final class SQLiteStore: WorkStore, RefreshStore, Sendable {
    package let path: String
    package let wakeUps: AsyncStream<Void>
    package let refreshWakeUps: AsyncStream<Void>
    let pool: DatabasePool
    let queue: WriterQueue
    let counters: StoreCounters
    private let lock: ProcessLock?
    private let wakeContinuation: AsyncStream<Void>.Continuation
    private let refreshContinuation: AsyncStream<Void>.Continuation

    /// What a process wants of the database.
    package enum Access: Sendable {
        /// To serve: no other process may.
        case exclusive
        /// To manage keys, beside a server that runs or without one.
        case administration
    }

    /// Opens or makes the database, and brings its tables up to date.
    ///
    /// - Throws: `StorageError.inUse` when another process serves it, `.cannotOpen` when it is not a database of this
    ///   version or cannot be written.
    package init(
        path: String, access: Access = .exclusive, faultPoints: FaultPoints = FaultPoints()
    ) throws(StorageError) {
        self.path = path
        let lock = try ProcessLock(path: path)
        if lock == nil, access == .exclusive { throw .inUse(path: path) }
        self.lock = access == .exclusive ? lock : nil
        try DatabaseFile.makeIfMissing(path)
        let counters = StoreCounters()
        self.counters = counters
        do {
            // Beside a server the tables are as it made them; without one the lock is held while they are made.
            pool = try withExtendedLifetime(lock) { try Self.open(path, counters, migrates: lock != nil) }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_NOTADB {
            throw .cannotOpen("\(path) is not a SQLite database, or is damaged: restore a backup, or name another file")
        } catch {
            throw .cannotOpen("\(path): \(WriterQueue.words(error))")
        }
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        wakeUps = stream
        wakeContinuation = continuation
        let (refreshes, refreshDue) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        refreshWakeUps = refreshes
        refreshContinuation = refreshDue
        queue = WriterQueue(
            pool, counters, faultPoints: faultPoints, onWorkDue: { continuation.yield() },
            onRefreshDue: { refreshDue.yield() })
    }

    private static let writerCacheKiB = 16 * 1024

    private static func open(_ path: String, _ counters: StoreCounters, migrates: Bool) throws -> DatabasePool {
        var configuration = Configuration()
        configuration.label = "islet"
        configuration.maximumReaderCount = 4
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { db in counters.watch(db) }
        let pool = try DatabasePool(path: path, configuration: configuration)
        // GRDB sets NORMAL when it opens a pool, which power loss undoes; outside a transaction, or it has no effect.
        try pool.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA synchronous = FULL")
            // What a claim reads is still there when its flight is settled.
            try db.execute(sql: "PRAGMA cache_size = -\(writerCacheKiB)")
        }
        let migrator = Schema.migrator
        let isNewer = try pool.read { db in try migrator.hasBeenSuperseded(db) }
        guard !isNewer else { throw DatabaseError(message: "it was written by a newer version of islet") }
        if migrates { try migrator.migrate(pool) }
        return pool
    }

    /// Writes what waits and gives the file free.
    package func close() {
        queue.close()
        wakeContinuation.finish()
        refreshContinuation.finish()
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

    package func nextWakeAt() async throws(StorageError) -> UnixTime? {
        try await query { sql in
            let lane = try sql.number("SELECT min(next_at) FROM lane WHERE next_at IS NOT NULL")
            let activity = try sql.number("SELECT min(wake_at) FROM activity WHERE wake_at IS NOT NULL")
            return [lane, activity].compactMap { $0 }.min().map(UnixTime.init(milliseconds:))
        }
    }

    package func nextNotificationAt() async throws(StorageError) -> UnixTime? {
        try await query { sql in
            try sql.number("SELECT min(next_at) FROM notification").map(UnixTime.init(milliseconds:))
        }
    }

    /// The same, by statements of ours.
    func query<Value: Sendable>(
        _ body: @escaping @Sendable (Statements) throws -> Value
    ) async throws(StorageError) -> Value {
        try await read { db in try body(Statements(db: db)) }
    }

    /// Reads one consistent state of the database.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(StorageError) -> Value {
        do {
            return try await pool.read(body)
        } catch {
            throw .failed(WriterQueue.words(error))
        }
    }

    /// Writes outside the commands: keys, and what is pruned.
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
