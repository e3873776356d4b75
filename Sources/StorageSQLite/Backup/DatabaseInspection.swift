import Foundation
import GRDB
package import LiveActivityStorage
package import StorageSQL

/// The result of an inspection of a database, beside a running server or without one. The inspection changes nothing.
package struct DatabaseInspection: Sendable, Equatable {
    package enum Schema: Sendable, Equatable {
        /// The schema of this version.
        case current
        /// An older schema. The next start of the server migrates it.
        case older
        case newer
        case foreign
    }

    package enum Integrity: Sendable, Equatable {
        case sound
        case damaged(String)
        /// The database is too large for a quick check.
        case notChecked
    }

    /// Maximum size in bytes that is checked, which takes about a second.
    package static let largestCheck: Int64 = 1 << 30

    package var exists = false
    /// `true` if a process serves the database.
    package var isServed = false
    /// The reason why the database cannot be opened or read.
    package var problem: String?
    /// The place that its rows move to, or `nil` if they are here.
    package var moved: MoveMark?
    package var schema: Schema = .current
    package var integrity: Integrity = .notChecked
    /// The reason why the key ring does not open its tokens.
    package var tokenKeys: TokenKeyProblem?
    package var bytes: Int64 = 0
    package var logBytes: Int64 = 0
    /// The permission bits of the file, as for `chmod`.
    package var mode: Int?
    package var folderIsWritable = false
    /// Free bytes in the file system, or `nil` if the system does not report them.
    package var freeBytes: Int64?

    package init() {}

    /// Inspects the database at a path, and its key ring. The initializer blocks.
    package init(of path: String, tokenKeys source: TokenKeySource) {
        let files = FileManager.default
        let folder = FileSteps.folder(of: path)
        folderIsWritable = files.isWritableFile(atPath: folder)
        freeBytes = (try? files.attributesOfFileSystem(forPath: folder))?[.systemFreeSize]
            .flatMap { ($0 as? NSNumber)?.int64Value }
        guard let attributes = try? files.attributesOfItem(atPath: path) else { return }
        exists = true
        mode = (attributes[.posixPermissions] as? NSNumber)?.intValue
        bytes = Self.size(attributes)
        logBytes = (try? files.attributesOfItem(atPath: path + "-wal")).map(Self.size) ?? 0
        do throws(BackupError) {
            try BackupError.translating(path) { try look(path, source) }
        } catch {
            problem = error.description
        }
    }

    private mutating func look(_ path: String, _ source: TokenKeySource) throws {
        if folderIsWritable {
            let lock = try ProcessLock(path: path)
            isServed = lock == nil
            lock?.unlock()
        }
        let queue = try DatabaseQueue(path: path, configuration: BackupCopy.configuration)
        defer { try? queue.close() }
        let isSmall = bytes <= Self.largestCheck
        tokenKeys = try queue.read { db in
            guard try db.tableExists("token_key") else { return nil }
            return try SQLStore.problem(of: source, on: SQLiteTransaction(db))
        }
        (schema, integrity) = try queue.read { db in
            let kind: Schema =
                switch try DatabaseKind.of(db) {
                case .foreign: .foreign
                case .newer: .newer
                case .known:
                    try StorageSQLite.Schema.migrator.hasCompletedMigrations(db) ? .current : .older
                }
            if kind == .current || kind == .older { moved = try MoveMark.of(db) }
            guard isSmall else { return (kind, .notChecked) }
            do {
                try DatabaseKind.quickCheck(db, path)
                return (kind, .sound)
            } catch BackupError.damaged(_, let detail) {
                return (kind, .damaged(detail))
            }
        }
    }

    private static func size(_ attributes: [FileAttributeKey: Any]) -> Int64 {
        (attributes[.size] as? NSNumber)?.int64Value ?? 0
    }
}
