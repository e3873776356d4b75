import APNSModel
import Synchronization

/// Who is signed in to the console: an API key that was shown once stands for each session, and is asked anew at every
/// call, so that a key that is revoked ends its sessions.
///
/// A pure machine. Sessions are kept in memory, by the hash of what the browser has; a restart ends them.
package struct ConsoleSessions: Sendable {
    /// The most sessions there are; the one that was used the longest ago makes room.
    package static let maximum = 1000
    /// A session ends so long after it began,
    package static let lifetime = Duration.seconds(12 * 3600)
    /// and when it was not used for so long.
    package static let idleLimit = Duration.seconds(2 * 3600)

    struct Session: Sendable, Equatable {
        /// The public half of the key that was shown.
        let keyID: String
        /// What a page shows with every write: another site could make a browser send its cookie, but cannot read this.
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

    /// The session of a cookie; `nil` for none, or one that is over. Looking counts as use.
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

    /// Whether there is still a session of this cookie. Looking is no use of it.
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

/// The sessions that all connections share.
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
