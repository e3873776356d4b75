import Foundation
import StorageSQL
import Synchronization

/// A lock of the database that one session holds. It ends with the session, so at the latest when this process or its
/// connection does (https://www.postgresql.org/docs/15/explicit-locking.html#ADVISORY-LOCKS).
final class PostgresLock: SQLLock {
    /// The session holds the lock until it is closed. Nothing else uses it.
    private let session: Mutex<Held?>

    private struct Held: @unchecked Sendable {
        let session: PostgresSession
    }

    private init(_ held: Held) {
        session = Mutex(held)
    }

    /// Numbers of our locks. Other programs in the same database are unlikely to use them.
    private static func number(_ purpose: SQLLockPurpose) -> Int64 {
        switch purpose {
        case .serving: serving
        case .rotation: 0x6973_6C65_7400_0002
        }
    }

    /// Number of the lock of the process that serves the database.
    static let serving: Int64 = 0x6973_6C65_7400_0001
    /// Number of the lock that migrations hold.
    static let migrating: Int64 = 0x6973_6C65_7400_0003

    /// Takes the lock, or returns `nil` if another process still holds it after `patience`.
    static func take(
        _ purpose: SQLLockPurpose, _ server: PostgresServer, patience: Duration
    ) throws -> PostgresLock? {
        let session = try server.connect(for: server.limits.opening)
        let end = ContinuousClock.now + patience
        while true {
            session.deadline = .now + server.limits.opening
            var isTaken = false
            let connection = PostgresTransaction(session, PostgresTransaction.Texts())
            try connection.query("SELECT pg_try_advisory_lock(?)", [.int(number(purpose))]) {
                isTaken = $0.number == 1
            }
            try session.receive(isEnd: true)
            if isTaken { return PostgresLock(Held(session: session)) }
            guard .now < end else { return nil }
            Thread.sleep(forTimeInterval: 0.05)
        }
    }

    func unlock() { session.withLock { $0 = nil } }
}
