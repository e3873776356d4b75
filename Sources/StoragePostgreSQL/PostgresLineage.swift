import CLibPQ

/// The line of changes that rows belong to: a database of one server, and the timeline that the server is on.
///
/// A promotion and a recovery to a point in time begin a timeline
/// (https://www.postgresql.org/docs/15/continuous-archiving.html#BACKUP-TIMELINES). A dump is loaded into another
/// database.
struct PostgresLineage: Hashable, Sendable {
    /// Identifies the server and its copies, and the database within them.
    let database: String
    let timeline: UInt32

    init(database: String, timeline: UInt32) {
        self.database = database
        self.timeline = timeline
    }

    /// Takes the text that ``text`` made.
    init?(_ text: String) {
        let parts = text.split(separator: " ")
        guard parts.count == 2, let timeline = UInt32(parts[1]) else { return nil }
        self.init(database: String(parts[0]), timeline: timeline)
    }

    /// Text that a table keeps.
    var text: String { "\(database) \(timeline)" }

    /// Text of rows that lack changes, or that were restored. It is the text of no lineage.
    static let broken = "broken"

    /// Asks the server of a session that takes writes.
    ///
    /// - Returns: `nil` if the server does not say, as some services that speak PostgreSQL's protocol.
    static func of(_ session: PostgresSession) throws -> Self? {
        var found: Self?
        do {
            // The name of a file of the log begins with the timeline, in eight hexadecimal digits.
            try session.send(
                """
                SELECT (SELECT system_identifier FROM pg_control_system())::text
                        || '/' || (SELECT oid FROM pg_database WHERE datname = current_database())::text,
                    left(pg_walfile_name(pg_current_wal_lsn()), 8)
                """, PostgresParameters()
            ) { result in
                guard result.rows == 1, let database = PQgetvalue(result.pointer, 0, 0),
                    let digits = PQgetvalue(result.pointer, 0, 1)
                else { return }
                found = UInt32(String(cString: digits), radix: 16).map {
                    Self(database: String(cString: database), timeline: $0)
                }
            }
            try session.receive(isEnd: true)
        } catch {
            guard !session.isBroken else { throw error }
        }
        return found
    }
}
