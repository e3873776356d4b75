import APNSModel
import Synchronization

/// The sessions of the console. Each one stands for an API key that was entered once.
///
/// The key is checked again in every call, so revoking it ends its sessions. This is a pure machine. Sessions are kept
/// in memory, by the hash of the browser's secret, so a restart ends them.
package struct ConsoleSessions: Sendable {
    /// Maximum number of sessions. A further one replaces the one that has not been used for longest.
    package static let maximum = 1000
    /// Maximum duration of a session.
    package static let lifetime = Duration.seconds(12 * 3600)
    /// Time after which an unused session ends.
    package static let idleLimit = Duration.seconds(2 * 3600)

    struct Session: Sendable, Equatable {
        /// The public half of the key that was entered.
        let keyID: String
        /// The token that a page sends with every write. Another site can make a browser send its cookie, but cannot
        /// read this.
        let token: String
        let beganAt: MonotonicTime
        var usedAt: MonotonicTime
    }

    private var sessions: [[UInt8]: Session] = [:]

    package init() {}

    var count: Int { sessions.count }

    mutating func begin(_ secret: CallerSecret, token: CallerSecret, keyID: String, at now: MonotonicTime) -> Session {
        sessions = sessions.filter { Self.isOpen($0.value, at: now) }
        if sessions.count >= Self.maximum, let oldest = sessions.min(by: { $0.value.usedAt < $1.value.usedAt }) {
            sessions[oldest.key] = nil
        }
        let session = Session(keyID: keyID, token: token.text, beganAt: now, usedAt: now)
        sessions[secret.hash] = session
        return session
    }

    /// Returns the session of a cookie, which counts as a use. Returns `nil` if there is none or it has ended.
    mutating func find(_ secret: CallerSecret, at now: MonotonicTime) -> Session? {
        let hash = secret.hash
        guard var session = sessions[hash] else { return nil }
        guard Self.isOpen(session, at: now) else {
            sessions[hash] = nil
            return nil
        }
        session.usedAt = max(session.usedAt, now)
        sessions[hash] = session
        return session
    }

    /// Returns `true` if the cookie's session is still open. This does not count as a use.
    func isOpen(_ secret: CallerSecret, at now: MonotonicTime) -> Bool {
        sessions[secret.hash].map { Self.isOpen($0, at: now) } ?? false
    }

    mutating func end(_ secret: CallerSecret) {
        sessions[secret.hash] = nil
    }

    private static func isOpen(_ session: Session, at now: MonotonicTime) -> Bool {
        now < session.beganAt + lifetime && now < session.usedAt + idleLimit
    }
}

/// The sessions, shared by all connections.
final class ConsoleDesk: Sendable {
    private let sessions = Mutex(ConsoleSessions())

    func begin(
        _ secret: CallerSecret, token: CallerSecret, keyID: String, at now: MonotonicTime
    )
        -> ConsoleSessions.Session
    {
        sessions.withLock { $0.begin(secret, token: token, keyID: keyID, at: now) }
    }

    func find(_ secret: CallerSecret, at now: MonotonicTime) -> ConsoleSessions.Session? {
        sessions.withLock { $0.find(secret, at: now) }
    }

    func isOpen(_ secret: CallerSecret, at now: MonotonicTime) -> Bool {
        sessions.withLock { $0.isOpen(secret, at: now) }
    }

    func end(_ secret: CallerSecret) {
        sessions.withLock { $0.end(secret) }
    }
}
