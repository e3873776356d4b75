import LiveActivityStorage
import StorageSQL

extension PostgresSchema {
    /// First version with everything that the tables need.
    static let oldestServer = 150_000

    /// Checks that a server can hold the tables, and changes nothing.
    static func check(_ session: PostgresSession) throws {
        guard session.serverVersion >= oldestServer else {
            throw PostgresError.refused(
                "its server is PostgreSQL \(session.serverVersion / 10_000): islet needs \(oldestServer / 10_000) or "
                    + "later")
        }
        let connection = PostgresTransaction(session, PostgresTransaction.Texts())
        var encoding = ""
        try connection.query("SELECT current_setting('server_encoding')", []) { encoding = $0.text(0) }
        try session.receive(isEnd: true)
        guard encoding == "UTF8" else {
            throw PostgresError.refused(
                "its encoding is \(encoding): create a database with `CREATE DATABASE … ENCODING 'UTF8' "
                    + "TEMPLATE template0`")
        }
    }

    /// Checks that two connections are two sessions of the server.
    ///
    /// PgBouncer gives a session to another connection after each transaction (`pool_mode = transaction`). Locks,
    /// settings and prepared statements would then be another connection's.
    static func checkSessions(_ first: PostgresSession, _ server: PostgresServer) throws {
        let mark = String(UInt64.random(in: 0 ... .max), radix: 36)
        func setting(_ session: PostgresSession, _ statement: String, _ arguments: [SQLArgument]) throws -> String {
            var found = ""
            try PostgresTransaction(session, PostgresTransaction.Texts()).query(statement, arguments) {
                found = $0.text(0)
            }
            try session.receive(isEnd: true)
            return found
        }
        do {
            _ = try setting(first, "SELECT set_config('islet.session', ?, false)", [.text(mark)])
            let second = try server.connect(for: server.limits.opening)
            first.deadline = .now + server.limits.opening
            for (session, expected) in [(second, ""), (first, mark)] {
                let found = try setting(session, "SELECT coalesce(current_setting('islet.session', true), '')", [])
                guard found == expected else { throw PostgresServer.sharesSessions }
            }
        } catch let error as SQLError where PostgresServer.foreignStatement.contains(where: error.description.contains)
        {
            throw PostgresServer.sharesSessions
        }
    }

    /// Checks that the server names a standby that a commit waits for.
    static func checkStandby(_ session: PostgresSession) throws {
        var names = ""
        try PostgresTransaction(session, PostgresTransaction.Texts())
            .query("SELECT current_setting('synchronous_standby_names')", []) { names = $0.text(0) }
        try session.receive(isEnd: true)
        guard !names.isEmpty else {
            throw PostgresError.refused(
                "`durability: twoSafe` needs a synchronous standby: name it in the server's `synchronous_standby_names`"
            )
        }
    }

    /// Migrates the tables to this version, one process at a time.
    ///
    /// A process that knows only the version before may go on meanwhile and afterwards, if `Migration.usableFrom`
    /// allows it.
    ///
    /// - Parameters:
    ///   - version: The version to migrate to.
    ///   - mayChange: `false` for a command beside a server, for which the tables stay as they are.
    /// - Returns: The version before; 0 if there were no tables.
    @discardableResult
    static func migrate(
        _ session: PostgresSession, to version: Int = PostgresSchema.version, mayChange: Bool
    ) throws -> Int {
        var before = 0
        let connection = PostgresTransaction(session, PostgresTransaction.Texts())
        try session.send("BEGIN", PostgresParameters())
        do {
            try connection.query("SELECT pg_advisory_xact_lock(?)", [.int(PostgresLock.migrating)]) { _ in }
            let found = try foundVersion(connection)
            before = found
            guard try found <= version || usableFrom(connection, found) <= version else {
                throw PostgresError.refused(
                    "its tables were made by a newer version of islet: run that version, or restore a backup of this "
                        + "one")
            }
            if found < version {
                guard mayChange else {
                    throw PostgresError.refused(
                        "a server of an earlier version of islet serves it: run `islet migrate`, or replace that "
                            + "server first")
                }
                // Whoever waits for a table makes all later users of the table wait.
                try connection.run("SET LOCAL lock_timeout = '\(longestWait)'", [])
                for (index, migration) in migrations.prefix(version).enumerated().dropFirst(found) {
                    try apply(migration, number: index + 1, connection)
                }
            }
            try session.receive()
        } catch {
            _ = try? session.receive(isEnd: true)
            try? session.send("ROLLBACK", PostgresParameters())
            _ = try? session.receive(isEnd: true)
            // lock_not_available
            if SQLError.of(any: error).description.contains("55P03") {
                throw PostgresError.refused(
                    "a transaction has used one of its tables for \(longestWait), such as one of pg_dump: nothing was "
                        + "changed, try again when it has ended")
            }
            throw error
        }
        try session.send("COMMIT", PostgresParameters())
        try session.receive(isEnd: true)
        return before
    }

    /// Time for which a step waits for other transactions to release a table.
    private static let longestWait = "2s"

    /// Returns the least version that a program must know to serve tables of a later version than its own.
    private static func usableFrom(_ connection: PostgresTransaction, _ found: Int) throws -> Int {
        var least = Int64(found)
        try connection.query("SELECT max(usable_from) FROM schema_version", []) {
            least = $0.number
        }
        return Int(least)
    }

    /// Returns the version of the tables; 0 if there are none.
    static func foundVersion(_ connection: PostgresTransaction) throws -> Int {
        var hasSchema = false
        try connection.query("SELECT count(*) FROM pg_namespace WHERE nspname = ?", [.text(name)]) {
            hasSchema = $0.number > 0
        }
        guard hasSchema else { return 0 }
        var hasVersion = false
        try connection.query(
            """
            SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = ? AND c.relname = 'schema_version'
            """, [.text(name)]
        ) { hasVersion = $0.number > 0 }
        guard hasVersion else {
            throw PostgresError.refused(
                "its schema `\(name)` belongs to another program: name a database of islet's own")
        }
        var version: Int64 = 0
        try connection.query("SELECT coalesce(max(version), 0) FROM schema_version", []) { version = $0.number }
        return Int(version)
    }

    private static func apply(_ migration: Migration, number: Int, _ connection: PostgresTransaction) throws {
        if number == 1 {
            try connection.run("CREATE SCHEMA \(name)", [])
            try connection.run(
                """
                CREATE TABLE schema_version (
                    version bigint PRIMARY KEY, made_at timestamptz NOT NULL DEFAULT now()
                )
                """, [])
        }
        for statement in migration.statements { try connection.run(statement, []) }
        guard number > 1 else {
            return try connection.run("INSERT INTO schema_version (version) VALUES (1)", [])
        }
        try connection.run(
            "INSERT INTO schema_version (version, usable_from) VALUES (?, ?)",
            [.int(Int64(number)), .int(Int64(migration.usableFrom))])
    }
}
