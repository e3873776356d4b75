package import APNSModel
import Foundation
import GRDB
package import LiveActivityStorage
package import StorageSQL

/// A database whose server has stopped, and whose rows move to another database.
///
/// A *mark* in the file says where they are. A server does not start with a marked file, because it would push older
/// states than the server of the other database.
package final class DatabaseExport: Sendable {
    private let database: SQLiteDatabase

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
        try database.readNow(body)
    }

    /// The mark, or `nil` if the rows are here.
    package func mark() throws -> MoveMark? { try translating { try database.pool.read(MoveMark.of) } }

    /// Marks the file durably, in place of an earlier mark.
    package func set(_ mark: MoveMark?) throws(StorageError) {
        do {
            try translating { try database.pool.write { db in try MoveMark.set(mark, db) } }
        } catch {
            throw .failed("\(database.path): \(error)")
        }
    }

    private func translating<Value>(_ body: () throws -> Value) throws -> Value {
        do { return try body() } catch let error as DatabaseError { throw SQLError.of(error) }
    }
}

/// The place that a file's rows have moved to.
package struct MoveMark: Sendable, Equatable, CustomStringConvertible {
    /// Host, port and database of the other server.
    package let place: String
    /// Time of the move, which tells it from others.
    package let at: UnixTime

    package init(to place: String, at: UnixTime) {
        self.place = place
        self.at = at
    }

    package var description: String {
        "it was moved to \(place) at \(at): set `storage` to that. If the move was not completed, or failed with an "
            + "unknown outcome, run `islet move` again"
    }

    private static let prefix = "moved_to:"

    static func of(_ db: Database) throws -> Self? {
        guard try db.tableExists("meta") else { return nil }
        let row = try Row.fetchOne(
            db, sql: "SELECT name, value FROM meta WHERE name >= ? AND name < ?", arguments: [prefix, "moved_to;"])
        return row.map {
            Self(to: String(($0["name"] as String).dropFirst(prefix.count)), at: UnixTime(milliseconds: $0["value"]))
        }
    }

    static func set(_ mark: Self?, _ db: Database) throws {
        try db.execute(sql: "DELETE FROM meta WHERE name >= ? AND name < ?", arguments: [prefix, "moved_to;"])
        guard let mark else { return }
        try db.execute(
            sql: "INSERT INTO meta VALUES (?, ?)", arguments: [prefix + mark.place, mark.at.milliseconds])
    }
}
