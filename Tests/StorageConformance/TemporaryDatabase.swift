import Foundation
import LiveActivityStorage
import PostgresCluster
import StorageSQL
import StorageSQLite
import Synchronization
import Testing

@testable import StoragePostgreSQL

/// The server of all tests, and a database with islet's tables that theirs are copied from.
enum TemporaryDatabase {
    private static let cluster = Result { try PostgresCluster() }
    private static let lastNumber = Atomic<Int>(0)
    private static let template: Result<String, any Error> = Result {
        let server = try cluster.get()
        try server.run("CREATE DATABASE made")
        try SQLStore(postgres: server.url("made"), tokenKeys: nil).close()
        // A copy of a database that was served would count as restored.
        let session = try PostgresServer(url: server.url("made")).connect(for: .seconds(10))
        try session.send("UPDATE writer SET lineage = NULL", PostgresParameters())
        try session.receive(isEnd: true)
        return "made"
    }
    /// Copies are made one at a time: nobody else may use the template meanwhile.
    private static let copying = NSLock()

    static func server() throws -> PostgresCluster { try cluster.get() }

    /// Returns the URL of a new database with islet's tables.
    ///
    /// - Parameter socket: Folder of the socket to connect to; `nil` for the server's own.
    static func make(through socket: URL? = nil) throws -> String {
        let name = "test\(lastNumber.wrappingAdd(1, ordering: .relaxed).newValue)"
        try copying.withLock { try cluster.get().run("CREATE DATABASE \(name) TEMPLATE \(template.get())") }
        return try cluster.get().url(name, through: socket)
    }

    /// Copies a database that nobody uses, as a backup does, and returns the URL of the copy.
    static func copy(_ url: String) throws -> String {
        let original = try #require(URLComponents(string: url)).path.dropFirst()
        let name = "test\(lastNumber.wrappingAdd(1, ordering: .relaxed).newValue)"
        // A connection that was closed ends a moment later.
        try cluster.get().run(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '\(original)'")
        try cluster.get().run("CREATE DATABASE \(name) TEMPLATE \(original)")
        return try cluster.get().url(name)
    }

    /// Returns the URL of a new database without tables.
    static func makeEmpty() throws -> String {
        let name = "test\(lastNumber.wrappingAdd(1, ordering: .relaxed).newValue)"
        try copying.withLock { try cluster.get().run("CREATE DATABASE \(name)") }
        return try cluster.get().url(name)
    }
}

/// Runs a test on each kind of database, with a store in one of its own.
///
/// - Parameter onServer: `false` for SQLite alone. Of many random cases a part is enough for a server, which takes
///   longer.
func withStores(onServer: Bool = true, _ body: (SQLStore) async throws -> Void) async throws {
    try await withDirectory { directory in
        let onFile = try SQLStore(path: directory.appending(path: "islet.sqlite").path)
        try await run(body, on: onFile)
        guard onServer else { return }
        let keys = TokenKeySource.file(directory.appending(path: "keys").path, isMade: true)
        try await run(body, on: SQLStore(postgres: TemporaryDatabase.make(), tokenKeys: keys))
    }
}

private func run(_ body: (SQLStore) async throws -> Void, on store: SQLStore) async throws {
    defer { store.close() }
    try await body(store)
}
