package import APNSModel
import Foundation
import GRDB
package import LiveActivityStorage
package import StorageSQL
import Synchronization

/// A database whose server has stopped, and whose rows move to another database.
///
/// A *mark* in the file says where they are. A server does not start with a marked file, because it would push older
/// states than the server of the other database.
package final class DatabaseExport: Sendable {
    private let database: SQLiteDatabase
    private let readVersion = Mutex<Int64?>(nil)

    /// Opens the file, locks it against servers, checks it and migrates its tables.
    ///
    /// - Throws: `StorageError.inUse` if a server uses it, `.cannotOpen` if it is not a sound database of Islet.
    package init(path: String) throws(StorageError) {
        do throws(BackupError) {
            guard FileSteps.exists(path) else { throw .missing(path: path) }
            try BackupError.translating(path) {
                let queue = try DatabaseQueue(path: path, configuration: BackupCopy.configuration)
                defer { try? queue.close() }
                switch try queue.read(DatabaseKind.of) {
                case .known: try queue.read { db in try DatabaseKind.quickCheck(db, path) }
                case .newer: throw BackupError.newer(path: path)
                case .foreign: throw BackupError.notIslet(path: path)
                }
            }
        } catch {
            throw .cannotOpen(error.description)
        }
        database = try SQLiteDatabase(
            path: path, access: .exclusive, takesMoved: true, patience: .zero, counters: StoreCounters())
    }

    package func close() { database.close() }

    /// Runs `body` on one consistent state.
    package func read<Value>(_ body: (any SQLTransaction) throws -> Value) throws -> Value {
        let version = try database.pool.writeWithoutTransaction(Self.version)
        readVersion.withLock { $0 = version }
        return try database.readNow(body)
    }

    /// Returns a number that changes with each commit of another connection
    /// (https://www.sqlite.org/pragma.html#pragma_data_version).
    private static func version(_ db: Database) throws -> Int64? { try Int64.fetchOne(db, sql: "PRAGMA data_version") }

    /// The mark, or `nil` if the rows are here.
    package func mark() throws(StorageError) -> MoveMark? {
        try translating { try database.pool.read(MoveMark.of) }
    }

    /// Marks the file durably, in place of an earlier mark.
    ///
    /// - Parameter isUnchanged: `true` to do it only if nothing was written since `read` began, such as a new API key.
    package func set(_ mark: MoveMark?, isUnchanged: Bool = false) throws(StorageError) {
        try translating {
            try database.pool.write { db in
                if isUnchanged, try Self.version(db) != readVersion.withLock(\.self) {
                    throw SQLError(.other, "a command has changed it while it was copied: run `islet move` again")
                }
                try MoveMark.set(mark, db)
            }
        }
    }

    private func translating<Value>(_ body: () throws -> Value) throws(StorageError) -> Value {
        do { return try body() } catch { throw .failed("\(database.path): \(SQLError.of(error))") }
    }
}

/// The place that a file's rows move to.
package struct MoveMark: Sendable, Equatable, CustomStringConvertible {
    /// Hosts, port and database of the other server.
    package let place: String
    /// Time of the move, which tells it from others.
    package let at: UnixTime
    /// `true` if the rows are certainly there.
    package let isComplete: Bool

    package init(to place: String, at: UnixTime, isComplete: Bool = false) {
        self.place = place
        self.at = at
        self.isComplete = isComplete
    }

    /// The mark of the same move after its end.
    package var completed: Self { Self(to: place, at: at, isComplete: true) }

    package var description: String {
        isComplete
            ? "its rows are in \(place) since \(at): set `storage` to that"
            : "a move of its rows to \(place) began at \(at), and may be incomplete: run `islet move` again before any "
                + "server starts there"
    }

    private static let prefixes = (begun: "moving_to:", complete: "moved_to:")

    static func of(_ db: Database) throws -> Self? {
        guard try db.tableExists("meta") else { return nil }
        for row in try Row.fetchAll(db, sql: "SELECT name, value FROM meta WHERE name LIKE 'mov%:%'") {
            let name: String = row["name"]
            for prefix in [prefixes.begun, prefixes.complete] where name.hasPrefix(prefix) {
                return Self(
                    to: String(name.dropFirst(prefix.count)), at: UnixTime(milliseconds: row["value"]),
                    isComplete: prefix == prefixes.complete)
            }
        }
        return nil
    }

    static func set(_ mark: Self?, _ db: Database) throws {
        for prefix in [prefixes.begun, prefixes.complete] {
            try db.execute(sql: "DELETE FROM meta WHERE name LIKE ?", arguments: [prefix + "%"])
        }
        guard let mark else { return }
        let prefix = mark.isComplete ? prefixes.complete : prefixes.begun
        try db.execute(
            sql: "INSERT INTO meta VALUES (?, ?)", arguments: [prefix + mark.place, mark.at.milliseconds])
    }
}
