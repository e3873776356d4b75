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
    nonisolated(unsafe) private var texts = PostgresTransaction.Texts()
    /// Number of the last transaction, by which its commit can be recognised.
    nonisolated(unsafe) private var group: Int64 = 0

    init(_ server: PostgresServer, _ session: PostgresSession, epoch: Int64?) {
        self.server = server
        self.session = session
        self.epoch = epoch
    }

    func close() { lock.withLock { session = nil } }

    func write(_ body: (any SQLTransaction) throws -> Void) throws -> SQLWritten {
        try lock.withLock {
            group += 1
            let session = try usableSession()
            session.deadline = .now + server.limits.transaction
            let transaction = PostgresTransaction(session, texts)
            do {
                try begin(session)
                try body(transaction)
            } catch {
                tell(error)
                rollBack(session)
                throw error is PostgresError ? SQLError.of(any: error) : error
            }
            try commit(session)
            if let epoch { server.memory.saw(PostgresMemory.Commit(epoch: epoch, group: group), isOwn: true) }
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
        session = nil
        do {
            let new = try server.connect(for: server.limits.opening, comparing: true)
            if let epoch {
                new.deadline = .now + server.limits.commit
                try PostgresTakeover(session: new, server: server).goOn(in: epoch)
            }
            session = new
            return new
        } catch {
            throw SQLError.of(any: error)
        }
    }

    private func tell(_ error: any Error) {
        guard case .answered(let answer)? = error as? PostgresError, answer.code == PostgresFence.ended else { return }
        server.onLoss(.takenOver)
    }

    private func begin(_ session: PostgresSession) throws {
        try session.send("BEGIN", PostgresParameters())
        if let epoch {
            try session.send(
                PostgresFence.check,
                PostgresParameters([.int(epoch), .int(group), .int(server.needsStandby ? 1 : 0)]))
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
        guard let epoch else { throw error }
        let deadline = ContinuousClock.now + server.limits.resolving
        var last: Int64??
        while last == nil, .now < deadline {
            do {
                let session = try usableSession()
                session.deadline = min(deadline, .now + server.limits.commit)
                last = .some(try look(session, epoch))
            } catch {
                drop()
                Thread.sleep(forTimeInterval: 0.05)
            }
        }
        guard case .some(let last?) = last else { throw error }
        if last != group { throw SQLError(.rolledBack, error.description) }
    }

    /// Waits for the backend of the last transaction, and returns the number of the last one that was committed;
    /// `nil` if the epoch has ended or a standby may lack it.
    ///
    /// The answer counts only after a commit of its own, which waits for a standby as the transaction's had to.
    private func look(_ session: PostgresSession, _ epoch: Int64) throws -> Int64? {
        var last: Int64?
        try session.send("BEGIN", PostgresParameters())
        do {
            try PostgresTransaction(session, texts).query(PostgresFence.look, [.int(epoch)]) { last = $0.number }
        } catch {
            rollBack(session)
            throw error
        }
        _ = session.takeWarnings()
        try session.send("COMMIT", PostgresParameters())
        try session.receive(isEnd: true)
        return session.takeWarnings().isEmpty ? last : nil
    }
}
