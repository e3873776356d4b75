package import APNSModel
import Foundation
import GRDB
import LiveActivityStorage
import StorageSQL

/// Replaces the database with a backup, and makes the backup safe first: see `BackupSafety`.
package struct BackupRestore: Sendable {
    /// The result of a restore.
    package struct Summary: Sendable, Equatable {
        /// Time of the backup, from its own record or else from the modification time of its file.
        package var madeAt: UnixTime
        /// The new name of the replaced database, or `nil` if there was none.
        package var kept: String?
        package var activities: Int
        package var devices: Int
        /// Number of phones that get no start until it is known what they show.
        package var heldStarts: Int
        /// Number of phones that get no more alert for a current state.
        package var spentAlerts: Int
        /// The withdrawals since the backup, from the replaced database.
        ///
        /// `nil` if there was no such database, if it cannot be read, or if it is not a later state of the restored
        /// one.
        package var withdrawn: Withdrawn?
    }

    package struct Withdrawn: Sendable, Equatable {
        /// Number of API keys that are revoked or no longer exist, or `nil` if that cannot be read.
        package var keys: Int?
        /// Number of devices that have signed out, belong to another person, or no longer exist. `nil` if that cannot
        /// be read.
        package var devices: Int?
    }

    let source: String
    let path: String

    /// Creates a restore that is not started yet.
    ///
    /// - Parameters:
    ///   - source: The path of the backup.
    ///   - path: The path of the database.
    package init(from source: String, to path: String) {
        self.source = source
        self.path = path
    }

    /// Checks the backup, makes a safe copy of it, and swaps the copy with the existing database, which gets another
    /// name.
    ///
    /// The method blocks. After a failure, the database is as it was.
    package func run(startsAreKnown: Bool, at now: UnixTime) throws(BackupError) -> Summary {
        guard FileSteps.exists(source) else { throw .missing(path: source) }
        guard !FileSteps.areSame(source, path) else { throw .same(path: path) }
        let lock: ProcessLock?
        do {
            lock = try ProcessLock(path: path)
        } catch {
            throw .failed(error.description)
        }
        guard let lock else { throw .inUse(path: path) }
        defer { lock.unlock() }
        let temporary = "\(path).\(UUID().uuidString).tmp"
        defer { BackupCopy.removeDatabase(temporary) }
        try copy(to: temporary)
        var summary = try BackupError.translating(source) {
            try prepare(temporary, startsAreKnown: startsAreKnown, at: now)
        }
        // What was withdrawn after a move is elsewhere.
        if FileSteps.exists(path), !isMoved(path) { summary.withdrawn = try withdraw(temporary, at: now) }
        try BackupError.translating(path) { try FileSteps.sync(temporary) }
        summary.kept = try swap(temporary, at: now)
        return summary
    }

    private func isMoved(_ path: String) -> Bool {
        guard let database = try? DatabaseQueue(path: path, configuration: BackupCopy.configuration) else {
            return false
        }
        defer { try? database.close() }
        return (try? database.read(MoveMark.of)) != nil
    }

    /// Copies the backup with its WAL, if there is one. A plain copy of a database's files is also a backup.
    private func copy(to temporary: String) throws(BackupError) {
        for suffix in ["", "-wal"] where FileSteps.exists(source + suffix) {
            do {
                try FileManager.default.copyItem(atPath: source + suffix, toPath: temporary + suffix)
                try FileManager.default.setAttributes(
                    [.posixPermissions: 0o600], ofItemAtPath: temporary + suffix)
            } catch {
                throw .failed("\(source)\(suffix) cannot be copied beside \(path): \(error.localizedDescription)")
            }
        }
    }

    private func prepare(_ temporary: String, startsAreKnown: Bool, at now: UnixTime) throws -> Summary {
        let copy = try DatabaseQueue(path: temporary, configuration: BackupCopy.configuration)
        defer { try? copy.close() }
        switch try copy.read(DatabaseKind.of) {
        case .known: break
        case .newer: throw BackupError.newer(path: source)
        case .foreign: throw BackupError.notIslet(path: source)
        }
        try copy.read { db in try DatabaseKind.quickCheck(db, source) }
        try Schema.migrator.migrate(copy)
        let summary = try copy.write { db in
            let madeAt = min(try MoveMark.of(db)?.at ?? madeAt(db) ?? now, now)
            let changes = try BackupSafety.apply(
                SQLiteTransaction(db), madeAt: madeAt, now: now, startsAreKnown: startsAreKnown)
            try db.execute(sql: "DROP TABLE IF EXISTS \(BackupCopy.table)")
            // The restored file is the database again. Cards and alerts of the time elsewhere are assumed to exist.
            try MoveMark.set(nil, db)
            return Summary(
                madeAt: madeAt, activities: try Int.fetchOne(db, sql: "SELECT count(*) FROM activity") ?? 0,
                devices: try Int.fetchOne(db, sql: "SELECT count(*) FROM device") ?? 0,
                heldStarts: changes.starts, spentAlerts: changes.alerts)
        }
        try copy.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA journal_mode = DELETE") }
        return summary
    }

    private func withdraw(_ temporary: String, at now: UnixTime) throws(BackupError) -> Withdrawn? {
        try BackupError.translating(temporary) {
            let copy = try DatabaseQueue(path: temporary, configuration: BackupCopy.configuration)
            defer { try? copy.close() }
            return BackupInheritance.apply(copy, from: path, now: now)
        }
    }

    private func madeAt(_ db: Database) throws -> UnixTime? {
        if try db.tableExists(BackupCopy.table) {
            return try Int64.fetchOne(db, sql: "SELECT max(at) FROM \(BackupCopy.table)")
                .map(UnixTime.init(milliseconds:))
        }
        let attributes = try? FileManager.default.attributesOfItem(atPath: source)
        return (attributes?[.modificationDate] as? Date).map {
            UnixTime(seconds: Int64($0.timeIntervalSince1970.rounded(.down)))
        }
    }

    // MARK: - The swap

    /// Swaps the databases in steps. Between any two steps there is a database, and never one with another database's
    /// WAL. A file system without hard links is an exception: see `FileSteps.keep`.
    private func swap(_ temporary: String, at now: UnixTime) throws(BackupError) -> String? {
        var kept: String?
        if FileSteps.exists(path) {
            let name = freeName(at: now)
            try foldLog()
            // The WAL of a damaged database, which could not be checkpointed, moves with it.
            for suffix in ["-wal", "-shm"] where FileSteps.exists(path + suffix) {
                try BackupError.translating(path) { try FileSteps.rename(path + suffix, to: name + suffix) }
            }
            try BackupError.translating(path) { try FileSteps.keep(path, as: name) }
            kept = name
        }
        for suffix in ["-wal", "-shm"] { FileSteps.remove(path + suffix) }
        try BackupError.translating(path) { try FileSteps.rename(temporary, to: path) }
        try BackupError.translating(path) { try FileSteps.sync(FileSteps.folder(of: path)) }
        return kept
    }

    /// Checkpoints the WAL of the replaced database, so that its single file is complete.
    ///
    /// - Throws: `inUse` if another process has it open. A damaged database stays as it is.
    private func foldLog() throws(BackupError) {
        do {
            let old = try DatabaseQueue(path: path, configuration: BackupCopy.configuration)
            defer { try? old.close() }
            try old.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA journal_mode = DELETE") }
        } catch let error as DatabaseError where [.SQLITE_BUSY, .SQLITE_LOCKED].contains(error.resultCode) {
            throw .inUse(path: path)
        } catch {
            return
        }
    }

    /// Returns a name such as `islet.db.before-restore-20261121T143200Z`, with a number appended if that name is taken.
    private func freeName(at now: UnixTime) -> String {
        let digits = now.description.filter { $0 != "-" && $0 != ":" }
        let name = "\(path).before-restore-\(digits)"
        guard FileSteps.exists(name) else { return name }
        var number = 2
        while FileSteps.exists("\(name)-\(number)") { number += 1 }
        return "\(name)-\(number)"
    }
}
