package import APNSModel
package import LiveActivityStorage
package import StorageSQL
import StorageSQLite

#if PostgreSQL
    package import StoragePostgreSQL
#endif

#if PostgreSQL
    package typealias DatabaseNode = PostgresNode
#else
    /// A process among several on a database: there are none without PostgreSQL.
    package enum DatabaseNode: Sendable {}
#endif

/// The place of a server's data. The rest of the program does not know which database it is.
package enum DatabaseLocation: Sendable, Equatable, CustomStringConvertible {
    /// A SQLite file.
    case sqlite(path: String)
    /// A PostgreSQL database, as a URL of libpq. It may contain a password.
    case postgres(url: String)

    /// The use that a process makes of the database.
    package enum Use: Sendable {
        /// Serves it, as the only process that does.
        case serving
        /// Manages it, beside a server or without one.
        case administration
    }

    /// Takes a URL of PostgreSQL; any other text is a path.
    package init(_ text: String) {
        self = Self.isURL(text) ? .postgres(url: text) : .sqlite(path: text)
    }

    package static func isURL(_ text: String) -> Bool {
        text.hasPrefix("postgres://") || text.hasPrefix("postgresql://")
    }

    /// Path of the file, or the server's host and database. Never a password.
    package var description: String {
        switch self {
        case .sqlite(let path): path
        #if PostgreSQL
            case .postgres(let url): PostgresInspection.place(of: url)
        #else
            case .postgres: "a PostgreSQL database"
        #endif
        }
    }

    /// Path of the SQLite file; `nil` for a server.
    package var path: String? {
        if case .sqlite(let path) = self { path } else { nil }
    }

    /// Opens the store.
    ///
    /// - Parameters:
    ///   - tokenKeys: The source of the keys that seal tokens. With `nil`, a serving process uses the ring beside a
    ///     SQLite file, and any other works without tokens.
    ///   - needsStandby: `true` to refuse changes while PostgreSQL names no synchronous standby.
    ///   - node: This process among several on the database; `nil` if it is the only one.
    /// - Throws: `StorageError.cannotOpen` also if this build has no PostgreSQL, or if it is to be served without keys.
    package func open(
        for use: Use, tokenKeys: TokenKeySource? = nil, needsStandby: Bool = false, node: DatabaseNode? = nil,
        faultPoints: FaultPoints = FaultPoints()
    ) throws(StorageError) -> SQLStore {
        switch self {
        case .sqlite(let path):
            return try SQLStore(
                path: path, access: use == .serving ? .exclusive : .administration, tokenKeys: tokenKeys,
                faultPoints: faultPoints)
        #if PostgreSQL
            case .postgres(let url):
                if use == .serving, tokenKeys == nil {
                    throw .cannotOpen("\(self): name the keys that seal push tokens: no file lies beside a server")
                }
                return try SQLStore(
                    postgres: url, access: use == .serving ? .exclusive : .administration, node: node,
                    needsStandby: needsStandby && use == .serving, tokenKeys: tokenKeys,
                    patience: node == nil ? .seconds(5) : .zero, faultPoints: faultPoints)
        #else
            case .postgres:
                throw .cannotOpen("this build of islet has no PostgreSQL: build it with the package trait PostgreSQL")
        #endif
        }
    }
}

/// The state of a database server, as the server itself reports it.
package struct DatabaseServerLook: Sendable {
    /// Reason why the database cannot be used.
    package var problem: String?
    /// Reason why the configured keys do not open its tokens.
    package var tokenKeys: TokenKeyProblem?
    /// Product and version.
    package var version = ""
    /// `true` if a server of islet has made its tables.
    package var hasTables = false
    /// `true` if a server uses the database now.
    package var isServed = false
    package var bytes: Int64 = 0
    /// Settings that are off, so that a crash of the database server loses or damages what was committed.
    package var unsafeSettings: [String] = []
    /// Time by which the server's clock is ahead of this machine's.
    package var clockAhead = Duration.zero
    /// Time between a question and its answer.
    package var roundTrip = Duration.zero
    package var standby = Standby.unknown
    /// Time since a server last assumed that the database was restored.
    package var timeSinceRestore: Duration?

    /// The standby that the server's commits wait for.
    package enum Standby: Sendable {
        /// The server's settings name none.
        case none
        /// Fewer are connected than a commit waits for. No commit returns.
        case away
        case connected
        /// One is named, and the user may not see whether it is connected.
        case unknown
    }

    package init() {}
}

extension DatabaseLocation {
    /// Looks at a database server, and changes nothing.
    package func look(tokenKeys: TokenKeySource, time: () -> UnixTime) -> DatabaseServerLook {
        var look = DatabaseServerLook()
        #if PostgreSQL
            guard case .postgres(let url) = self else { return look }
            let found = PostgresInspection(of: url, tokenKeys: tokenKeys) { time().milliseconds }
            look.problem = found.problem
            look.tokenKeys = found.tokenKeys
            look.version = "PostgreSQL \(found.version)"
            look.hasTables = found.hasTables
            look.isServed = found.isServed
            look.bytes = found.bytes
            look.unsafeSettings = found.unsafeSettings
            look.timeSinceRestore = found.restoreAssumed.map { .milliseconds(time().milliseconds - $0) }
            look.clockAhead = .milliseconds(found.clockAhead)
            look.roundTrip = found.roundTrip
            if found.standbys.needed == 0 {
                look.standby = .none
            } else if let count = found.standbys.count {
                look.standby = count < found.standbys.needed ? .away : .connected
            }
        #else
            look.problem = "this build of islet has no PostgreSQL: build it with the package trait PostgreSQL"
        #endif
        return look
    }
}

extension DatabaseLocation {
    /// Calls `body` with a new database beside this one, and removes that database afterwards.
    ///
    /// - Throws: `StorageError.cannotOpen` if the server refuses, or if this is a file. What `body` throws.
    package func withScratch<Value>(_ body: (DatabaseLocation) async throws -> Value) async throws -> Value {
        #if PostgreSQL
            guard case .postgres(let url) = self else { throw StorageError.cannotOpen("\(self) is a file") }
            let scratch = try PostgresScratch(beside: url)
            let result: Result<Value, any Error>
            do { result = .success(try await body(.postgres(url: scratch.url))) } catch { result = .failure(error) }
            // What the body has measured or thrown is worth more than the reason why a database stays.
            try? scratch.remove()
            return try result.get()
        #else
            throw StorageError.cannotOpen("this build of islet has no PostgreSQL")
        #endif
    }
}

extension DatabaseLocation {
    /// Makes the rows of a PostgreSQL database safe, which were restored with its tools.
    ///
    /// - Parameter startsAreKnown: `true` if nothing was started since the backup.
    /// - Throws: `StorageError.inUse` if a server runs, `.cannotOpen` if the database cannot be used.
    package func assumeRestore(startsAreKnown: Bool) throws(StorageError) -> AssumedRestore {
        #if PostgreSQL
            guard case .postgres(let url) = self else { throw .cannotOpen("\(self) is a file") }
            return try PostgresRestore(of: url).run(startsAreKnown: startsAreKnown)
        #else
            throw .cannotOpen("this build of islet has no PostgreSQL")
        #endif
    }

    /// Brings the tables of a PostgreSQL database to this version, also beside a server of the version before.
    ///
    /// - Returns: Their version before, 0 if there were none, and now. `nil` for a file, which its server migrates.
    package func migrate() throws(StorageError) -> (before: Int, now: Int)? {
        #if PostgreSQL
            guard case .postgres(let url) = self else { return nil }
            let before = try PostgresMigration.run(url: url)
            return (before, max(before, PostgresMigration.version))
        #else
            return nil
        #endif
    }
}
