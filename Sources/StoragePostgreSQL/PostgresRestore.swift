package import LiveActivityStorage
package import StorageSQL

/// Makes a database safe that an operator has restored with the tools of PostgreSQL.
package struct PostgresRestore {
    private let url: String

    package init(of url: String) {
        self.url = url
    }

    /// Makes the assumptions of `BackupSafety`. The method blocks.
    ///
    /// - Parameter startsAreKnown: `true` if nothing was started since the backup.
    /// - Throws: `StorageError.inUse` if a process serves the database, `.cannotOpen` if it cannot be used. Nothing is
    ///   changed then.
    package func run(startsAreKnown: Bool) throws(StorageError) -> AssumedRestore {
        let database = try PostgresDatabase(
            url: url, access: .exclusive, limits: PostgresLimits(), startsAreKnown: startsAreKnown)
        defer { database.close() }
        guard let restore = database.assumedRestore else { throw .cannotOpen("the restore was not made") }
        return restore
    }
}
