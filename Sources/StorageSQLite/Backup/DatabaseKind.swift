import GRDB

/// Whose a database is, by its record of migrations.
enum DatabaseKind: Equatable {
    /// Of this version of Islet, or of an older one.
    case known
    /// Of a later version.
    case newer
    /// None of Islet's.
    case foreign

    static func of(_ db: Database) throws -> Self {
        let migrator = Schema.migrator
        // Reading a table at all says whether it is a database.
        guard try db.tableExists("grdb_migrations") else { return .foreign }
        let applied = try migrator.appliedIdentifiers(db)
        guard let first = migrator.migrations.first, applied.contains(first) else { return .foreign }
        return try migrator.hasBeenSuperseded(db) ? .newer : .known
    }

    /// - Throws: `BackupError.damaged` with what SQLite found first.
    static func quickCheck(_ db: Database, _ path: String) throws {
        let finding = try String.fetchOne(db, sql: "PRAGMA quick_check(1)") ?? "no answer"
        guard finding == "ok" else { throw BackupError.damaged(path: path, detail: finding) }
    }
}
