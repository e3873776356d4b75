import Foundation
import GRDB
import LiveActivityStorage

@testable import StorageConformance
@testable import StorageSQL
@testable import StorageSQLite

/// Runs a test with a database in a temporary directory.
func withStore(_ body: (SQLStore) async throws -> Void) async throws {
    try await withDirectory { directory in
        let store = try SQLStore(path: directory.appending(path: "islet.sqlite").path)
        defer { store.close() }
        try await body(store)
    }
}

extension SQLStore {
    /// The connections of a store on SQLite.
    var pool: DatabasePool { sqlite.pool }
    var path: String { sqlite.path }

    private var sqlite: SQLiteDatabase {
        guard let sqlite = database as? SQLiteDatabase else { fatalError("the store is not on SQLite") }
        return sqlite
    }
}

extension Statements {
    /// The connection of a store on SQLite.
    var db: Database {
        guard let sqlite = transaction as? SQLiteTransaction else { fatalError("the store is not on SQLite") }
        return sqlite.db
    }
}
