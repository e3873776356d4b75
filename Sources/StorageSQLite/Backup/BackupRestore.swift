package import APNSModel
import Foundation
import GRDB
import LiveActivityStorage

/// Puts a backup in the place of the database, as safely as can be: see `BackupSafety`.
package struct BackupRestore: Sendable {
    /// What was done.
    package struct Summary: Sendable, Equatable {
        /// When the backup was made: what it says itself, or else when its file was written.
        package var madeAt: UnixTime
        /// The name that the database of before has now; `nil` when there was none.
        package var kept: String?
        package var activities: Int
        package var devices: Int
        /// Phones that get no start until it is known what they show.
        package var heldStarts: Int
        /// Phones that get no alert of a present state any more.
        package var spentAlerts: Int
        /// What was taken since the backup was made, as the database says that was there; `nil` when there was none, it
        /// cannot be read, or it is no later state of what is put back.
        package var withdrawn: Withdrawn?
    }

    package struct Withdrawn: Sendable, Equatable {
        /// API keys that are revoked, or are not there any more; `nil`: that cannot be read.
        package var keys: Int?
        /// Devices whose person has signed out, that are another's, or that are not there any more; `nil`: that cannot
        /// be read.
        package var devices: Int?
    }

    let source: String
    let path: String

    /// - Parameters:
    ///   - source: The backup.
    ///   - path: The database's path.
    package init(from source: String, to path: String) {
        self.source = source
        self.path = path
    }

    /// Checks the backup, makes its copy safe, and swaps it with the database that is there, which keeps a name.
    ///
    /// It blocks. A failure leaves the database as it was.
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
        if FileSteps.exists(path) { summary.withdrawn = try withdraw(temporary, at: now) }
        try FileSteps.sync(temporary)
        summary.kept = try swap(temporary, at: now)
        return summary
    }

    /// With its log, if it has one: a plain copy of a database's files is a backup too.
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
            let madeAt = min(try madeAt(db) ?? now, now)
            let changes = try BackupSafety.apply(db, madeAt: madeAt, now: now, startsAreKnown: startsAreKnown)
            try db.execute(sql: "DROP TABLE IF EXISTS \(BackupCopy.table)")
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

    /// At no moment between two steps is there no database, or one with another's log.
    private func swap(_ temporary: String, at now: UnixTime) throws(BackupError) -> String? {
        var kept: String?
        if FileSteps.exists(path) {
            let name = freeName(at: now)
            try foldLog()
            // A log that could not be folded in, of a database that is damaged, goes with it.
            for suffix in ["-wal", "-shm"] where FileSteps.exists(path + suffix) {
                try FileSteps.rename(path + suffix, to: name + suffix)
            }
            try FileSteps.keep(path, as: name)
            kept = name
        }
        for suffix in ["-wal", "-shm"] { FileSteps.remove(path + suffix) }
        try FileSteps.rename(temporary, to: path)
        try FileSteps.sync(FileSteps.folder(of: path))
        return kept
    }

    /// Works the log into the database that was there, so that its file alone is all of it.
    ///
    /// - Throws: `inUse` when another process has it open. A damaged one is left as it is.
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

    /// `islet.db.before-restore-20261121T143200Z`, with a number behind it where that is taken.
    private func freeName(at now: UnixTime) -> String {
        let digits = now.description.filter { $0 != "-" && $0 != ":" }
        let name = "\(path).before-restore-\(digits)"
        guard FileSteps.exists(name) else { return name }
        var number = 2
        while FileSteps.exists("\(name)-\(number)") { number += 1 }
        return "\(name)-\(number)"
    }
}
