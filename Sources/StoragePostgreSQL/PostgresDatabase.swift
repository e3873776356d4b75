import Dispatch
import Foundation
package import LiveActivityStorage
package import StorageSQL
import Synchronization

/// A PostgreSQL database, of which this process is the one that writes.
///
/// A commit is as durable as the server makes it when it returns. Each transaction is *fenced*: it is rolled back by
/// the server if another process has taken the database over meanwhile.
package final class PostgresDatabase: SQLDatabase {
    package let name = "postgresql"
    let server: PostgresServer
    private let serving: PostgresLock?
    private let writer: PostgresWriter
    private let readers: PostgresReaders
    package let losses: AsyncStream<DatabaseLoss>
    package let assumedRestore: AssumedRestore?

    /// The way in which a process uses the database.
    package enum Access: Sendable {
        /// The process serves the database. No other process may do so.
        case exclusive
        /// The process manages API keys, beside a running server or without one.
        case administration
    }

    /// Connects, and creates or migrates the tables. See `SQLStore.init(postgres:)`.
    init(
        url: String, access: Access, node: PostgresNode? = nil, needsStandby: Bool = false,
        patience: Duration = .zero, limits: PostgresLimits, counters: StoreCounters = StoreCounters(),
        startsAreKnown: Bool? = nil
    ) throws(StorageError) {
        var server = PostgresServer(url: url, limits: limits, onStatement: { counters.ran() })
        if let node {
            server.name = PostgresNodes.sessionName(of: node.number)
            server.memory = node.memory
        }
        server.needsStandby = needsStandby
        let (losses, lose) = AsyncStream.makeStream(of: DatabaseLoss.self, bufferingPolicy: .bufferingNewest(1))
        self.losses = losses
        server.onLoss = { lose.yield($0) }
        self.server = server
        do {
            let session = try server.connect(for: limits.opening, comparing: true)
            try PostgresSchema.check(session)
            try PostgresSchema.checkSessions(session, server)
            if needsStandby { try PostgresSchema.checkStandby(session) }
            let isAlone = access == .exclusive
            let lock = try PostgresLock.take(.serving, server, patience: isAlone ? patience : .zero)
            if isAlone, lock == nil { throw StorageError.inUse(path: server.place) }
            session.deadline = .now + limits.opening
            // Beside a server, the tables stay as the server made them. Without one, the lock is held meanwhile.
            try PostgresSchema.migrate(session, mayChange: lock != nil)
            serving = isAlone ? lock : nil
            if !isAlone { lock?.unlock() }
            let takeover =
                isAlone
                ? try PostgresTakeover(session: session, server: server).run(startsAreKnown: startsAreKnown) : nil
            assumedRestore = takeover?.restore
            writer = PostgresWriter(server, session, epoch: takeover?.epoch)
            readers = PostgresReaders(server)
        } catch let error as StorageError {
            throw error
        } catch let error as PostgresError {
            throw .cannotOpen("\(server.place): \(error.words)")
        } catch {
            throw .cannotOpen("\(server.place): \(error)")
        }
    }

    package func write(_ body: (any SQLTransaction) throws -> Void) throws -> SQLWritten { try writer.write(body) }

    package func read<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLTransaction) throws -> Value
    ) async throws -> Value {
        let result: Result<Value, any Error> = await withCheckedContinuation { continuation in
            beginRead { connection in continuation.resume(returning: Result { try body(try connection.get()) }) }
        }
        return try result.get()
    }

    package func beginRead(_ body: @escaping @Sendable (Result<any SQLTransaction, any Error>) -> Void) {
        readers.submit(body)
    }

    package func readNow<Value>(_ body: (any SQLTransaction) throws -> Value) throws -> Value {
        try writer.read(body)
    }

    package func lock(_ purpose: SQLLockPurpose) throws(StorageError) -> (any SQLLock)? {
        do {
            return try PostgresLock.take(purpose, server, patience: .zero)
        } catch {
            throw .failed(SQLError.of(any: error).description)
        }
    }

    package func close() {
        readers.close()
        writer.close()
        serving?.unlock()
    }
}

/// Time limits of this side's waits for the server.
package struct PostgresLimits: Sendable {
    /// To connect, and for the steps of opening.
    package var opening: Duration = .seconds(10)
    /// For one transaction up to its commit.
    package var transaction: Duration = .seconds(20)
    /// For a commit, which may wait for a standby.
    package var commit: Duration = .seconds(5)
    /// To find out what became of a commit whose answer was lost.
    package var resolving: Duration = .seconds(4)
    /// To make a database safe that was restored.
    package var restoring: Duration = .seconds(1800)
    /// For one read.
    package var read: Duration = .seconds(60)
    /// For the server's machine to confirm what was sent to it.
    package var unacknowledged: Duration = .seconds(10)
    /// Maximum number of connections for reading.
    package var readers = 4

    package init() {}
}

extension SQLError {
    static func of(any error: any Error) -> SQLError {
        switch error {
        case let error as SQLError: error
        case let error as PostgresError: .of(error)
        default: SQLError(.other, String(describing: error))
        }
    }
}

extension SQLStore {
    /// Opens a store in a PostgreSQL database, and creates or migrates its tables.
    ///
    /// - Parameters:
    ///   - url: A URL of libpq, such as `postgres://islet@db.example.com/islet`
    ///     (https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING).
    ///   - access: The way in which this process uses the database.
    ///   - node: This process among several on the database; `nil` if it is the only one.
    ///   - needsStandby: `true` to refuse changes while the server names no synchronous standby.
    ///   - tokenKeys: The source of the keys that seal tokens; `nil` for work without tokens.
    ///   - patience: Time to wait while another process serves the database.
    ///   - faultPoints: The points at which tests inject faults.
    /// - Throws: `StorageError.inUse` if another process serves the database. `.cannotOpen` if the server cannot be
    ///   reached, is too old or a standby, or if the tables are not those of this version. `.tokenKeys` if keys of the
    ///   database are missing.
    package convenience init(
        postgres url: String, access: PostgresDatabase.Access = .exclusive, node: PostgresNode? = nil,
        needsStandby: Bool = false, tokenKeys: TokenKeySource?, patience: Duration = .seconds(5),
        limits: PostgresLimits = PostgresLimits(),
        faultPoints: FaultPoints = FaultPoints()
    ) throws(StorageError) {
        let counters = StoreCounters()
        let database = try PostgresDatabase(
            url: url, access: access, node: node, needsStandby: needsStandby, patience: patience, limits: limits,
            counters: counters)
        try self.init(
            database, counters: counters, tokenKeys: tokenKeys, adoptsKeys: access == .exclusive,
            faultPoints: faultPoints)
    }
}
