import Synchronization

/// Brief reads. Those that wait at the same time share one transaction, whose beginning and end cost more than they do.
///
/// A transaction begins after the reads that it serves were submitted, so each sees every commit before it. Reads whose
/// length depends on the number of rows use a connection of their own: they would hold up the others.
///
/// The queue needs no limit: a caller waits for one read at a time, so `limits.connections` is one.
final class ReaderQueue: Sendable {
    typealias Read = @Sendable (Result<any SQLTransaction, any Error>) -> Void

    private struct State {
        var waiting: [Read] = []
        var groups = 0

        /// Returns the reads of the next group; `nil` if none waits.
        mutating func next() -> [Read]? {
            guard !waiting.isEmpty else { return nil }
            let group = Array(waiting.prefix(ReaderQueue.groupLimit))
            waiting.removeFirst(group.count)
            return group
        }
    }

    /// Maximum number of groups at a time. The pool's other connections are for long reads.
    private static let maximumGroups = 2
    /// Maximum number of reads that share a transaction.
    private static let groupLimit = 64

    private let database: any SQLDatabase
    private let state = Mutex(State())

    init(_ database: any SQLDatabase) {
        self.database = database
    }

    /// Submits a read. It is called once, on another thread, with a database or the reason why there is none.
    func submit(_ read: @escaping Read) {
        let group = state.withLock { state -> [Read]? in
            state.waiting.append(read)
            guard state.groups < Self.maximumGroups else { return nil }
            state.groups += 1
            return state.next()
        }
        if let group { run(group) }
    }

    private func run(_ group: [Read]) {
        database.beginRead { [self] result in
            for read in group { read(result) }
            let next = state.withLock { state -> [Read]? in
                let next = state.next()
                if next == nil { state.groups -= 1 }
                return next
            }
            if let next { run(next) }
        }
    }
}
