package import LiveActivityStorage
package import StorageSQL

/// The database of a server that has not run yet, which takes the rows of another database.
///
/// The rows are copied as they are, in one transaction, and then compared one by one. So the database has either all
/// rows or none.
package final class PostgresImport: Sendable {
    private let database: PostgresDatabase

    /// Time for the server to take or to return some rows.
    private static let wait = Duration.seconds(60)

    /// Connects, and creates or migrates the tables. No other process may serve the database, from now until `close`.
    ///
    /// - Parameters:
    ///   - url: A URL of libpq.
    ///   - needsStandby: `true` if a standby must have the rows.
    /// - Throws: `StorageError.inUse` if a process serves the database, `.cannotOpen` if it cannot be used.
    package init(postgres url: String, needsStandby: Bool) throws(StorageError) {
        var limits = PostgresLimits()
        limits.transaction = Self.wait
        // A commit of much has much to flush.
        limits.commit = Self.wait
        // A server that is busy with a checkpoint may not read for a while.
        limits.unacknowledged = Self.wait
        database = try PostgresDatabase(
            url: url, access: .exclusive, needsStandby: needsStandby, limits: limits)
    }

    package func close() { database.close() }

    /// Host, port and database, without a password.
    package var place: String { database.server.place }

    /// Returns the mark of the move that has filled the database; `nil` if none has.
    package func mark() throws -> Int64? {
        try database.readNow { transaction in
            var mark: Int64?
            try transaction.query("SELECT value FROM meta WHERE name = ?", [.text(Self.markName)]) { mark = $0.number }
            return mark
        }
    }

    private static let markName = "moved"

    /// Copies all rows of a database whose tables have the same columns.
    ///
    /// - Parameters:
    ///   - source: A read of that database.
    ///   - mark: A number that tells this move from others.
    ///   - report: Called after each table, with its name and number of rows.
    ///   - beforeCommit: Called when everything is copied and compared. If it throws, nothing is.
    /// - Returns: Number of rows by table.
    /// - Throws: What `beforeCommit` throws, `StorageError.failed` if a table has rows or a row differs, or `SQLError`.
    ///   With an `SQLError` that is neither `rolledBack` nor `conflict`, nobody knows whether the rows are there.
    package func copy(
        from source: any SQLTransaction, mark: Int64, report: (String, Int) -> Void, beforeCommit: () throws -> Void
    ) throws -> [String: Int] {
        var copied: [String: Int] = [:]
        _ = try database.write { transaction in
            guard let target = transaction as? PostgresTransaction else {
                throw SQLError(.rolledBack, "the transaction is not PostgreSQL's")
            }
            // The server sees long statements, and pauses while the source is read. If this machine is lost, the server
            // notices, and does not hold its locks for hours.
            for setting in [
                "statement_timeout = 0", "idle_in_transaction_session_timeout = '120s'", "tcp_keepalives_idle = 10",
                "tcp_keepalives_interval = 5", "tcp_keepalives_count = 6",
            ] {
                try target.run("SET LOCAL \(setting)", [])
            }
            let tables = try PostgresTable.all(target)
            for table in tables where try table.name != "meta" && !table.isEmpty(target) {
                throw StorageError.failed(
                    """
                    \(place) has rows in its table `\(table.name)`: name a database that no server has used, or remove \
                    its rows with `DROP SCHEMA \(PostgresSchema.name) CASCADE`
                    """)
            }
            try target.run("DELETE FROM meta", [])
            for table in tables {
                do {
                    let rows = try table.load(from: source, into: target, wait: Self.wait)
                    try table.compare(source, target, rows: rows, wait: Self.wait)
                    copied[table.name] = rows
                    report(table.name, rows)
                } catch {
                    let words = (error as? PostgresError)?.words ?? "\(error)"
                    throw StorageError.failed("the table `\(table.name)` cannot be copied to \(place): \(words)")
                }
            }
            try target.run("INSERT INTO meta VALUES (?, ?)", [.text(Self.markName), .int(mark)])
            try target.query(
                """
                SELECT setval(pg_get_serial_sequence('token_key', 'no'), coalesce(max(no), 1), max(no) IS NOT NULL)
                FROM token_key
                """, []
            ) { _ in }
            try beforeCommit()
            target.session.deadline = .now + Self.wait
        }
        return copied
    }
}
