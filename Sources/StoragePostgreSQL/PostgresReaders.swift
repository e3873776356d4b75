import Dispatch
import StorageSQL
import Synchronization

/// Sessions that read, each on a thread of its own while it does. Reads beyond their number wait.
///
/// The queue needs no limit: a caller waits for one read at a time, so `limits.connections` is one.
final class PostgresReaders: Sendable {
    typealias Read = @Sendable (Result<any SQLTransaction, any Error>) -> Void

    private struct State {
        var waiting: [Read] = []
        var idle: [Idle] = []
        var running = 0
        var isClosed = false
    }

    private struct Idle: @unchecked Sendable {
        let session: PostgresSession
        let texts: PostgresTransaction.Texts
    }

    private let server: PostgresServer
    private let state = Mutex(State())
    private let threads = DispatchQueue(label: "islet-postgresql-reader", attributes: .concurrent)

    init(_ server: PostgresServer) {
        self.server = server
    }

    func submit(_ read: @escaping Read) {
        let isRunnerNeeded = state.withLock { state in
            state.waiting.append(read)
            guard state.running < server.limits.readers else { return false }
            state.running += 1
            return true
        }
        if isRunnerNeeded { threads.async { [self] in run() } }
    }

    /// Ends idle sessions. Reads that still run end theirs afterwards.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.idle = []
        }
    }

    private func run() {
        var own = state.withLock { $0.idle.popLast() }
        while let next = next(own) {
            do {
                own = try read(next, own)
            } catch {
                own = nil
                // Each of those that wait would wait as long for the same server.
                let others = state.withLock { state in
                    defer { state.waiting = [] }
                    return state.waiting
                }
                for other in [next] + others { other(.failure(SQLError.of(any: error))) }
            }
        }
    }

    /// Returns the next read, or `nil` if none waits: then this thread ends, and its session is idle.
    private func next(_ own: Idle?) -> Read? {
        state.withLock { state in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.running -= 1
            if let own, !state.isClosed { state.idle.append(own) }
            return nil
        }
    }

    /// Runs a read, and returns the session if it can be used again.
    ///
    /// - Throws: The error of a server that cannot be reached. The read has not been called.
    private func read(_ body: Read, _ idle: Idle?) throws -> Idle? {
        let own: Idle
        if let idle, idle.session.isUsable, server.isCurrent(idle.session) {
            own = idle
        } else {
            own = Idle(session: try server.connect(for: server.limits.opening), texts: PostgresTransaction.Texts())
        }
        own.session.deadline = .now + server.limits.read
        try own.session.send("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", PostgresParameters())
        body(.success(PostgresTransaction(own.session, own.texts)))
        do {
            // If a statement failed, the rest was skipped, and this ends the failed transaction.
            _ = try? own.session.receive(isEnd: true)
            guard !own.session.isBroken else { return nil }
            try own.session.send("ROLLBACK", PostgresParameters())
            try own.session.receive(isEnd: true)
            return own
        } catch {
            return nil
        }
    }
}
