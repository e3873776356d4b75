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
    package let losses: AsyncStream<Void>

    /// The way in which a process uses the database.
    package enum Access: Sendable {
        /// The process serves the database. No other process may do so.
        case exclusive
        /// The process manages API keys, beside a running server or without one.
        case administration
    }

    /// Connects, and creates or migrates the tables. See `SQLStore.init(postgres:)`.
    init(
        url: String, access: Access, node: Int64?, needsStandby: Bool, patience: Duration, limits: PostgresLimits,
        counters: StoreCounters
    ) throws(StorageError) {
        var server = PostgresServer(url: url, limits: limits, onStatement: { counters.ran() })
        if let node { server.name = PostgresNodes.sessionName(of: node) }
        server.needsStandby = needsStandby
        let (losses, lose) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.losses = losses
        server.onFenced = { lose.yield() }
        self.server = server
        do {
            let session = try server.connect(for: limits.opening)
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
            writer = PostgresWriter(server, session, epoch: isAlone ? try PostgresFence.takeOver(session) : nil)
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
    package var commit: Duration = .seconds(10)
    /// To find out what became of a commit whose answer was lost.
    package var resolving: Duration = .seconds(10)
    /// For one read.
    package var read: Duration = .seconds(60)
    /// For the server's machine to confirm what was sent to it.
    package var unacknowledged: Duration = .seconds(10)
    /// Maximum number of connections for reading.
    package var readers = 4

    package init() {}
}

/// The database's address, and the settings of each session.
struct PostgresServer: Sendable {
    let url: String
    /// Name of the sessions in the server's views.
    var name = "islet"
    /// `true` if a commit is answered only when a synchronous standby has it.
    var needsStandby = false
    /// Called when a transaction finds that its epoch has ended.
    var onFenced: @Sendable () -> Void = {}
    let limits: PostgresLimits
    let onStatement: @Sendable () -> Void

    /// Hosts, port and database, for messages. Never a password.
    var place: String {
        guard let scheme = url.range(of: "://") else { return "the PostgreSQL database" }
        let parts = url[scheme.upperBound...].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        // A password that is not percent-encoded may contain anything.
        let bare = parts[0].lastIndex(of: "@").map { parts[0][parts[0].index(after: $0)...] } ?? parts[0]
        let path = bare.firstIndex(of: "/") ?? bare.endIndex
        var hosts = bare[..<path]
        // The folder of a socket can only be a parameter.
        if hosts.isEmpty { hosts = parameters.first { $0.name == "host" }?.value ?? "" }
        return "postgres://\(hosts)\(bare[path...])"
    }

    /// The parameters after the question mark, still percent-encoded.
    private var parameters: [(name: Substring, value: Substring)] {
        guard let query = url.split(separator: "?", maxSplits: 1).dropFirst().first else { return [] }
        return query.split(separator: "&").map { parameter in
            let parts = parameter.split(separator: "=", maxSplits: 1)
            return (parts[0], parts.count > 1 ? parts[1] : "")
        }
    }

    /// The passwords of the URL as they are written there. libpq quotes what it does not understand.
    private var secrets: [Substring] {
        var found = parameters.filter { $0.name == "password" }.map(\.value)
        if let scheme = url.range(of: "://"), let end = url.lastIndex(of: "@"), scheme.upperBound < end,
            let colon = url[scheme.upperBound..<end].firstIndex(of: ":")
        {
            found.append(url[url.index(after: colon)..<end])
        }
        return found.filter { !$0.isEmpty }
    }

    func connect(for time: Duration) throws -> PostgresSession {
        do {
            return try openSession(for: time)
        } catch PostgresError.refused(let words) {
            throw PostgresError.refused(secrets.reduce(words) { $0.replacing($1, with: "…") })
        }
    }

    private func openSession(for time: Duration) throws -> PostgresSession {
        let session = try PostgresSession(
            [
                ("dbname", url), ("application_name", name), ("client_encoding", "UTF8"),
                // The first host of a list that takes writes.
                ("target_session_attrs", "read-write"),
                // The kernel ends a connection whose peer has vanished.
                ("keepalives_idle", "5"), ("keepalives_interval", "2"), ("keepalives_count", "3"),
                ("tcp_user_timeout", "\(Int(limits.unacknowledged / .milliseconds(1)))"),
            ], by: .now + time, onStatement: onStatement)
        session.deadline = .now + time
        for setting in Self.settings + (needsStandby ? [Self.waiting] : []) {
            try session.send(setting, PostgresParameters())
        }
        do {
            try session.receive(isEnd: true)
        } catch PostgresError.answered(let answer) where Self.foreignStatement.contains(answer.code) {
            throw Self.sharesSessions
        }
        return session
    }

    /// SQLSTATEs of a prepared statement that another connection has made, or that this one has made and that is not
    /// there.
    static let foreignStatement = ["42P05", "26000"]
    static let sharesSessions = PostgresError.refused(
        "its connections share sessions: through PgBouncer use `pool_mode = session`, or connect to the server itself")

    /// Makes a commit wait until the standby has flushed it, whatever the server's default is.
    private static let waiting = """
        SELECT set_config('synchronous_commit', 'on', false)
        WHERE current_setting('synchronous_commit') <> 'remote_apply'
        """

    private static let settings = [
        "SET search_path = \(PostgresSchema.name), pg_catalog",
        // The engine's statements are written for loops over indexes. Tables that were never analyzed look small, and
        // the planner would read them whole.
        "SET enable_seqscan = off", "SET enable_hashjoin = off", "SET enable_mergejoin = off",
        "SET enable_bitmapscan = off", "SET enable_material = off", "SET jit = off",
        "SET plan_cache_mode = force_generic_plan",
        // An owner that was stopped in a transaction must not keep its successor waiting.
        "SET idle_in_transaction_session_timeout = '2s'",
        // What this side no longer waits for ends on the server too.
        "SET statement_timeout = '60s'",
        // A commit that was answered must survive a crash of the server, whatever its default is.
        """
        SELECT set_config('synchronous_commit', 'on', false)
        WHERE current_setting('synchronous_commit') IN ('off', 'local')
        """,
    ]
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
    ///   - node: Number of this process among several on the database; `nil` if it is the only one.
    ///   - needsStandby: `true` to refuse changes while the server names no synchronous standby.
    ///   - tokenKeys: The source of the keys that seal tokens; `nil` for work without tokens.
    ///   - patience: Time to wait while another process serves the database.
    ///   - faultPoints: The points at which tests inject faults.
    /// - Throws: `StorageError.inUse` if another process serves the database. `.cannotOpen` if the server cannot be
    ///   reached, is too old or a standby, or if the tables are not those of this version. `.tokenKeys` if keys of the
    ///   database are missing.
    package convenience init(
        postgres url: String, access: PostgresDatabase.Access = .exclusive, node: Int64? = nil,
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
