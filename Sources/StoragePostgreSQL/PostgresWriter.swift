import Foundation
import StorageSQL
import Synchronization

/// The session that writes. One transaction at a time runs on it.
final class PostgresWriter: Sendable {
    private let server: PostgresServer
    /// The epoch that this process took the database over in; `nil` for a command beside a server.
    private let epoch: Int64?
    private let lock = NSLock()
    // Guarded by `lock`, which a mutex of values cannot express: a transaction's closure must not be copied into it.
    nonisolated(unsafe) private var session: PostgresSession?
    nonisolated(unsafe) private var isClosed = false
    nonisolated(unsafe) private var texts = PostgresTransaction.Texts()
    /// Number of the last transaction, by which its commit can be recognised.
    nonisolated(unsafe) private var group: Int64 = 0
    /// Position of the server's log at the begin of the last transaction of this session.
    nonisolated(unsafe) private var logPosition: Int64?

    init(_ server: PostgresServer, _ session: PostgresSession, epoch: Int64?) {
        self.server = server
        self.session = session
        self.epoch = epoch
    }

    /// Ends the session. If the server has changed since the last transaction, writes the new server's timeline into
    /// the row of the epoch.
    func close() {
        lock.withLock {
            guard !isClosed else { return }
            isClosed = true
            if epoch != nil, session.map({ !$0.isUsable || !server.isCurrent($0) }) ?? true {
                _ = try? newSession(by: .now + Self.farewell)
            }
            session = nil
        }
    }

    /// Time for the last look at a database that was lost.
    private static let farewell = Duration.seconds(2)

    func write(_ body: (any SQLTransaction) throws -> Void) throws -> SQLWritten {
        try lock.withLock {
            group += 1
            let session = try usableSession()
            session.deadline = .now + server.limits.transaction
            let transaction = PostgresTransaction(session, texts)
            do {
                try begin(session) { [self] position in
                    transaction.loggedBytes = logPosition.map { Int(position - $0) } ?? 0
                    logPosition = position
                }
                try body(transaction)
            } catch {
                tell(error)
                rollBack(session)
                throw error is PostgresError ? SQLError.of(any: error) : error
            }
            try commit(session)
            if let epoch {
                server.memory.saw(
                    PostgresMemory.Commit(epoch: epoch, group: group), on: session.lineage, isOwn: true)
            }
            return transaction.written
        }
    }

    func read<Value>(_ body: (any SQLTransaction) throws -> Value) throws -> Value {
        try lock.withLock {
            let session = try usableSession()
            session.deadline = .now + server.limits.read
            defer { rollBack(session) }
            try session.send("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", PostgresParameters())
            return try body(PostgresTransaction(session, texts))
        }
    }

    private func usableSession() throws -> PostgresSession {
        if let session, session.isUsable, server.isCurrent(session) { return session }
        return try newSession(by: .now + server.limits.opening).session
    }

    /// Connects anew.
    ///
    /// - Returns: The session, and what `PostgresTakeover.goOn` says of the last transaction.
    private func newSession(by deadline: ContinuousClock.Instant) throws -> (session: PostgresSession, last: Int64?) {
        drop()
        do {
            let new = try server.connect(for: deadline - .now, comparing: true)
            new.deadline = min(deadline, .now + server.limits.commit)
            let last = try epoch.flatMap { try PostgresTakeover(session: new, server: server).goOn(in: $0) }
            session = new
            return (new, last)
        } catch {
            throw SQLError.of(any: error)
        }
    }

    private func tell(_ error: any Error) {
        guard case .answered(let answer)? = error as? PostgresError, answer.code == PostgresFence.ended else { return }
        server.onLoss(.takenOver)
    }

    private func begin(_ session: PostgresSession, _ take: @escaping (Int64) -> Void) throws {
        try session.send("BEGIN", PostgresParameters())
        if let epoch {
            try session.send(
                PostgresFence.check,
                PostgresParameters([.int(epoch), .int(group), .int(server.needsStandby ? 1 : 0)])
            ) { if let position = $0.int(column: 1) { take(position) } }
        } else {
            try session.send(PostgresFence.wait, PostgresParameters())
        }
    }

    private func rollBack(_ session: PostgresSession) {
        // The transaction has failed, so nothing follows from what the server answers.
        _ = try? session.receive(isEnd: true)
        guard !session.isBroken else { return drop() }
        do {
            try session.send("ROLLBACK", PostgresParameters())
            try session.receive(isEnd: true)
        } catch {
            drop()
        }
    }

    private func drop() {
        session = nil
        logPosition = nil
        texts = PostgresTransaction.Texts()
    }

    /// Commits, and finds out what became of a commit whose answer does not come.
    private func commit(_ session: PostgresSession) throws {
        session.deadline = .now + server.limits.commit
        _ = session.takeWarnings()
        var command = ""
        do {
            try session.send("COMMIT", PostgresParameters()) { command = $0.command }
            try session.receive(isEnd: true)
        } catch let error as PostgresError {
            tell(error)
            guard session.isBroken else {
                // A statement that was sent with the commit has failed, and with it the transaction.
                rollBack(session)
                let error = SQLError.of(error)
                throw error.kind == .conflict ? error : SQLError(.rolledBack, error.description)
            }
            drop()
            return try resolve(after: SQLError.of(error))
        }
        guard command == "COMMIT" else { throw SQLError(.rolledBack, "PostgreSQL has rolled the transaction back") }
        // A warning says that the server stopped waiting for a standby, in words that depend on its language.
        if let warning = session.takeWarnings().first { try resolve(after: SQLError(.other, warning)) }
    }

    /// Returns if the last transaction was committed.
    ///
    /// - Throws: `SQLError` of the kind `rolledBack` if it certainly was not; otherwise the error that made it
    ///   doubtful.
    private func resolve(after error: SQLError) throws {
        guard epoch != nil else { throw error }
        let deadline = ContinuousClock.now + server.limits.resolving
        var last: Int64??
        while last == nil, .now < deadline {
            do {
                last = .some(try newSession(by: deadline).last)
            } catch let lost as SQLError where lost.kind == .rolledBack {
                throw lost
            } catch {
                Thread.sleep(forTimeInterval: 0.05)
            }
        }
        guard case .some(let last?) = last else { throw error }
        if last != group { throw SQLError(.rolledBack, error.description) }
    }
}
