package import LiveActivityStorage
package import StorageSQL

/// The state of a PostgreSQL database, as the server itself reports it. Looking changes nothing.
package struct PostgresInspection: Sendable {
    /// Reason why the database cannot be used.
    package var problem: String?
    /// The server's version, as `15.18 (Debian 15.18-0+deb12u1)`.
    package var version = ""
    /// `true` if a server of islet has made its tables.
    package var hasTables = false
    /// `true` if a server uses the database now.
    package var isServed = false
    package var bytes: Int64 = 0
    /// Settings with which a crash of the server loses or damages what was committed.
    package var unsafeSettings: [String] = []
    /// Time of the last restore that a server has assumed, in milliseconds since 1970.
    package var restoreAssumed: Int64?
    /// Reason why the given keys do not open its tokens.
    package var tokenKeys: TokenKeyProblem?
    /// Number of synchronous standbys that are connected, or `nil` if the user may not see them. Number that a commit
    /// waits for, by the server's settings.
    package var standbys: (count: Int?, needed: Int) = (nil, 0)
    /// Time between a question and its answer.
    package var roundTrip = Duration.zero
    /// Time in milliseconds by which the server's clock is ahead of the given time.
    package var clockAhead: Int64 = 0

    /// Returns host, port and database of a URL, without user and password.
    package static func place(of url: String) -> String {
        PostgresServer(url: url).place
    }

    /// Looks at a database.
    ///
    /// - Parameter milliseconds: This machine's time when asked, in milliseconds since 1970.
    package init(of url: String, tokenKeys source: TokenKeySource, time milliseconds: () -> Int64) {
        let server = PostgresServer(url: url)
        do {
            let session = try server.connect(for: server.limits.opening)
            try PostgresSchema.check(session)
            try PostgresSchema.checkSessions(session, server)
            let transaction = PostgresTransaction(session, PostgresTransaction.Texts())
            let before = milliseconds()
            var now: Int64 = 0
            try transaction.query("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint", []) {
                now = $0.number
            }
            // The answer was made at some time between the two.
            clockAhead = now - (before + milliseconds()) / 2
            // The statement is prepared, so each asks the server once. The fastest counts: others may have had to wait.
            roundTrip =
                try (0..<3).map { _ in
                    let start = ContinuousClock.now
                    try transaction.query("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint", []) { _ in }
                    return .now - start
                }.min() ?? .zero
            // `ANY 2 (a, b)`, `FIRST 1 (a, b)`, `1 (a, b)` or names alone
            // (https://www.postgresql.org/docs/15/runtime-config-replication.html).
            try transaction.query(
                """
                SELECT CASE WHEN names = '' THEN 0
                    ELSE coalesce(substring(names FROM '^[^(]*?([0-9]+)[[:space:]]*[(]')::bigint, 1) END
                FROM current_setting('synchronous_standby_names') AS names
                """, []
            ) { standbys.needed = Int($0.number) }
            // Without the role `pg_monitor`, a user sees that there are replicas, and nothing of their state.
            try transaction.query(
                """
                SELECT count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')), count(*) = count(sync_state)
                FROM pg_stat_replication
                """, []
            ) { standbys.count = $0.number(1) == 1 ? Int($0.number(0)) : nil }
            try transaction.query("SELECT current_setting('server_version')", []) { version = $0.text(0) }
            try transaction.query(
                """
                SELECT name FROM pg_settings WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off'
                ORDER BY name
                """, []
            ) { unsafeSettings.append($0.text(0)) }
            try transaction.query("SELECT pg_database_size(current_database())", []) { bytes = $0.number }
            hasTables = try PostgresSchema.foundVersion(transaction) > 0
            try transaction.query(
                """
                SELECT count(*) FROM pg_locks
                WHERE locktype = 'advisory' AND (classid::bigint << 32 | objid::bigint) = ?
                    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                """, [.int(PostgresLock.serving)]
            ) { isServed = $0.number > 0 }
            if hasTables {
                try transaction.query("SELECT value FROM meta WHERE name = ?", [.text(PostgresTakeover.mark)]) {
                    restoreAssumed = $0.number
                }
                tokenKeys = try SQLStore.problem(of: source, on: transaction)
            }
            try session.receive(isEnd: true)
        } catch let error as PostgresError {
            problem = error.words
        } catch {
            problem = String(describing: error)
        }
    }
}
