import Foundation
package import LiveActivityStorage

/// A new database beside another on its server, until it is removed.
package struct PostgresScratch: Sendable {
    /// URL of the new database.
    package let url: String
    private let name: String
    private let server: PostgresServer

    /// Creates a database.
    ///
    /// - Parameter url: A URL of libpq whose user may create databases.
    /// - Throws: `StorageError.cannotOpen` if the server cannot be reached, or refuses.
    package init(beside url: String) throws(StorageError) {
        server = PostgresServer(url: url)
        name = "islet_scratch_\(UInt32.random(in: 0 ... .max))"
        guard var parts = URLComponents(string: url) else { throw .cannotOpen("\(server.place) is no URL") }
        parts.path = "/\(name)"
        // This parameter would win.
        parts.queryItems = parts.queryItems?.filter { $0.name != "dbname" }
        self.url = parts.string ?? url
        try run("CREATE DATABASE \(name) ENCODING 'UTF8' TEMPLATE template0")
    }

    /// Removes the database, and ends connections to it.
    package func remove() throws(StorageError) { try run("DROP DATABASE \(name) WITH (FORCE)") }

    private func run(_ statement: String) throws(StorageError) {
        do {
            let session = try server.connect(for: .seconds(60))
            try session.send(statement, PostgresParameters())
            try session.receive(isEnd: true)
        } catch let error as PostgresError {
            throw .cannotOpen("\(server.place): \(error.words)")
        } catch {
            throw .cannotOpen("\(server.place): \(error)")
        }
    }
}
