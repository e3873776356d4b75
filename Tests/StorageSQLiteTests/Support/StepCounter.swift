import Foundation
import GRDB
import GRDBSQLite
import Synchronization

/// Counts the instructions that SQLite's virtual machine runs
/// ([sqlite3_progress_handler](https://www.sqlite.org/c3ref/progress_handler.html)), in units of `every`.
final class StepCounter: Sendable {
    private let count = Mutex(0)
    private let arrived = Mutex(0)
    private let every: CInt

    init(every: CInt = 100) {
        self.every = every
    }

    var steps: Int { count.withLock(\.self) }

    /// Counts on this connection. The counter is never released, because a connection may outlive its test.
    func begin(_ db: Database) {
        sqlite3_progress_handler(
            db.sqliteConnection, every,
            { counter in
                if let counter {
                    Unmanaged<StepCounter>.fromOpaque(counter).takeUnretainedValue().count.withLock { $0 += 1 }
                }
                return 0
            }, Unmanaged.passRetained(self).toOpaque())
    }

    /// Counts on each connection that reads.
    func begin(onReadersOf pool: DatabasePool) async throws {
        let readers = pool.configuration.maximumReaderCount
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<readers {
                group.addTask {
                    try await pool.read { db in
                        self.begin(db)
                        self.arrived.withLock { $0 += 1 }
                        // A connection that is given back would be used again.
                        while self.arrived.withLock(\.self) < readers { sched_yield() }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    func end(_ db: Database) { sqlite3_progress_handler(db.sqliteConnection, 0, nil, nil) }
}
