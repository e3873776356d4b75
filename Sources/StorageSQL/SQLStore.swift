package import APNSModel
package import LiveActivityCore
package import LiveActivityStorage
import Synchronization

/// The store on a relational database, whichever it is.
///
/// One thread writes, and everything that waits becomes one transaction. A commit is as durable as the database makes
/// it when `commit` returns.
package final class SQLStore: WorkStore, RefreshStore, ChannelStore, Sendable {
    package let database: any SQLDatabase
    let queue: WriterQueue
    let workSubscribers = Subscribers<UnixTime>()
    let refreshSubscribers = Subscribers<Void>()
    private let channelSubscribers = Subscribers<Void>()
    let eventSubscribers = Subscribers<Void>()
    let counters: StoreCounters
    /// The sealer of tokens, or `nil` if this store does not handle tokens.
    let sealer: TokenSealer?
    /// Path of the key ring that was created for a new database, or `nil`.
    package let madeTokenKeys: String?
    private let readers: ReaderQueue
    /// Time of the newest future change that `pullBack` has handled, in milliseconds.
    let timesAhead = Mutex<Int64>(0)
    /// The positions of pruning in the rows of apps that exceed their share.
    let walks = Mutex(Pruning.Walks())

    /// Creates the store on a database whose tables are those of this version.
    ///
    /// - Parameters:
    ///   - database: The database. The store closes it, also if it throws.
    ///   - counters: The counters that the database counts its statements with.
    ///   - tokenKeys: The source of the keys that seal tokens; `nil` for work without tokens.
    ///   - adoptsKeys: `true` if the first keys of the source come into use. A command beside a server must not do
    ///     that.
    ///   - faultPoints: The points at which tests inject faults.
    /// - Throws: `StorageError.tokenKeys` if keys of the database are missing. `.cannotOpen` if it cannot be read.
    package init(
        _ database: any SQLDatabase, counters: StoreCounters, tokenKeys: TokenKeySource?, adoptsKeys: Bool,
        faultPoints: FaultPoints = FaultPoints()
    ) throws(StorageError) {
        self.database = database
        self.counters = counters
        do throws(StorageError) {
            (sealer, madeTokenKeys) = try Self.sealer(tokenKeys, database, adopts: adoptsKeys)
        } catch {
            database.close()
            throw error
        }
        readers = ReaderQueue(database)
        queue = WriterQueue(
            database, counters, sealer, faultPoints: faultPoints,
            onWorkDue: { [workSubscribers] time in workSubscribers.wake { $0.announce(time) } },
            onRefreshDue: { [refreshSubscribers] in refreshSubscribers.wake() },
            onChannelDue: { [channelSubscribers] in channelSubscribers.wake() },
            onEvents: { [eventSubscribers] in eventSubscribers.wake() })
    }

    /// Loads the keys of the database and checks them against the ring. A serving process also adopts the ring's first
    /// keys.
    private static func sealer(
        _ source: TokenKeySource?, _ database: any SQLDatabase, adopts: Bool
    ) throws(StorageError) -> (TokenSealer?, made: String?) {
        guard let source else { return (nil, nil) }
        do {
            let needed = try database.readNow { transaction in
                try TokenKeyRegister.entries(
                    Statements(transaction: transaction, sealing: TokenSealing(transaction, nil)))
            }
            let (sealer, isMade) = try TokenSealer.open(source, needed: needed)
            let ring = sealer.ring
            if adopts, !TokenKeyRegister.isAdopted(ring, needed) {
                _ = try database.write { transaction in
                    let sql = Statements(transaction: transaction, sealing: TokenSealing(transaction, nil))
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

    /// Checks that a source has the keys that a database needs, and changes nothing.
    ///
    /// A missing ring is no problem for a database that no server has opened yet.
    package static func problem(
        of source: TokenKeySource, on transaction: any SQLTransaction
    ) throws -> TokenKeyProblem? {
        let needed = try TokenKeyRegister.entries(
            Statements(transaction: transaction, sealing: TokenSealing(transaction, nil)))
        guard !needed.isEmpty else { return nil }
        do throws(TokenKeyProblem) {
            _ = try TokenSealer.open(source, needed: needed)
            return nil
        } catch {
            return error
        }
    }

    /// Writes the waiting commands and closes the database.
    package func close() {
        queue.close()
        workSubscribers.finish()
        refreshSubscribers.finish()
        channelSubscribers.finish()
        eventSubscribers.finish()
        database.close()
    }

    package var wakeUps: AsyncStream<UnixTime> { workSubscribers.stream() }
    package var refreshWakeUps: AsyncStream<Void> { refreshSubscribers.stream() }
    package var channelWakeUps: AsyncStream<Void> { channelSubscribers.stream() }

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
        do {
            return try await database.read { transaction in try Self.query(transaction, sealer, counters, body) }
        } catch {
            counters.failedToRead(error)
            throw .failed(WriterQueue.words(error))
        }
    }

    /// Reads a few rows of one consistent state, in a transaction that other such reads share.
    func briefQuery<Value: Sendable>(
        _ body: @escaping @Sendable (Statements) throws -> Value
    ) async throws(StorageError) -> Value {
        let (sealer, counters) = (self.sealer, self.counters)
        let result: Result<Value, StorageError> = await withCheckedContinuation { continuation in
            readers.submit { transaction in
                do {
                    continuation.resume(returning: .success(try Self.query(transaction.get(), sealer, counters, body)))
                } catch {
                    counters.failedToRead(error)
                    continuation.resume(returning: .failure(.failed(WriterQueue.words(error))))
                }
            }
        }
        return try result.get()
    }

    private static func query<Value>(
        _ transaction: any SQLTransaction, _ sealer: TokenSealer?, _ counters: StoreCounters,
        _ body: (Statements) throws -> Value
    ) throws -> Value {
        let sealing = TokenSealing(transaction, sealer)
        defer { if sealing.damaged > 0 { counters.met(damagedRows: sealing.damaged) } }
        return try body(Statements(transaction: transaction, sealing: sealing))
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
