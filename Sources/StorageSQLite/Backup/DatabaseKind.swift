import GRDB

/// The origin of a database, from its record of migrations.
enum DatabaseKind: Equatable {
    /// A database of this version of Islet, or of an older one.
    case known
    /// A database of a later version.
    case newer
    /// A database that is not Islet's.
    case foreign

    static func of(_ db: Database) throws -> Self {
        let migrator = Schema.migrator
        // Reading any table shows whether the file is a database.
        guard try db.tableExists("grdb_migrations") else { return .foreign }
        let applied = try migrator.appliedIdentifiers(db)
        guard let first = migrator.migrations.first, applied.contains(first) else { return .foreign }
        return try migrator.hasBeenSuperseded(db) ? .newer : .known
    }

    /// Runs SQLite's quick check.
    ///
    /// - Throws: `BackupError.damaged` with the first finding.
    static func quickCheck(_ db: Database, _ path: String) throws {
        let finding = try String.fetchOne(db, sql: "PRAGMA quick_check(1)") ?? "no answer"
        guard finding == "ok" else { throw BackupError.damaged(path: path, detail: finding) }
    }
}
