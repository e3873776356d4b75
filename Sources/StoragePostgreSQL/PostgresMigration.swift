package import LiveActivityStorage
import StorageSQL

/// Brings the tables of a database to this version, also beside a server of the version before.
package enum PostgresMigration {
    /// Version of the tables that this version of islet works with.
    package static var version: Int { PostgresSchema.version }

    /// Migrates the tables.
    ///
    /// - Returns: The version before; 0 if there were no tables.
    /// - Throws: `StorageError.cannotOpen` if the server cannot be reached or refuses, if the tables are another
    ///   program's or a newer version's, or if a transaction has used a table for two seconds. Nothing is changed then.
    @discardableResult
    package static func run(url: String) throws(StorageError) -> Int {
        let server = PostgresServer(url: url)
        do {
            let session = try server.connect(for: server.limits.opening)
            try PostgresSchema.check(session)
            try PostgresSchema.checkSessions(session, server)
            session.deadline = .now + server.limits.restoring
            return try PostgresSchema.migrate(session, mayChange: true)
        } catch let error as PostgresError {
            throw .cannotOpen("\(server.place): \(error.words)")
        } catch {
            throw .cannotOpen("\(server.place): \(SQLError.of(any: error).description)")
        }
    }
}
