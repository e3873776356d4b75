package import APNSModel
import Foundation
import GRDB
import StorageSQL

/// A copy of the database, made beside a running server or without one.
///
/// SQLite's online backup reads some pages at a time, so no reader delays a checkpoint for long. If another process
/// writes between two steps, the backup restarts. After 3 restarts, the rest is read in one step.
package struct BackupCopy: Sendable {
    /// Number of restarts after which everything is read in one step.
    static let maximumRestarts = 3
    /// A table that exists only in the copy. It contains the time of the backup.
    static let table = "backup_made"

    /// The result of a backup.
    package struct Summary: Sendable, Equatable {
        package var bytes: Int64
        package var pages: Int
        package var activities: Int
        package var devices: Int
        /// Number of restarts that writers caused.
        package var restarts: Int
    }

    private struct Restarted: Error {}

    let source: String
    let target: String
    /// 16 MiB in pages of 4 KiB.
    var pagesPerStep: CInt = 4096
    /// Called after each step except the last, for tests.
    var afterStep: @Sendable () -> Void = {}

    /// Creates a backup that is not started yet.
    ///
    /// - Parameters:
    ///   - source: The path of the database.
    ///   - target: The path of the copy. Its folder must exist.
    package init(of source: String, to target: String) {
        self.source = source
        self.target = target
    }

    /// Makes the copy. On return it is complete, checked, and synced to disk at `target`.
    ///
    /// The method blocks. After a failure, an existing file at `target` is unchanged.
    package func make(overwrites: Bool, at now: UnixTime) throws(BackupError) -> Summary {
        guard FileSteps.exists(source) else { throw .missing(path: source) }
        guard !FileSteps.areSame(source, target) else { throw .same(path: source) }
        guard overwrites || !FileSteps.exists(target) else { throw .exists(path: target) }
        let temporary = "\(target).\(UUID().uuidString).tmp"
        defer { Self.removeDatabase(temporary) }
        do {
            try DatabaseFile.makeIfMissing(temporary)
        } catch {
            throw .failed("its folder cannot be written: \(FileSteps.folder(of: target))")
        }
        let restarts = try BackupError.translating(source) { try copy(to: temporary) }
        let summary = try BackupError.translating(temporary) { try finish(temporary, restarts, now) }
        try BackupError.translating(target) { try FileSteps.sync(temporary) }
        try BackupError.translating(target) { try FileSteps.rename(temporary, to: target) }
        try BackupError.translating(target) { try FileSteps.sync(FileSteps.folder(of: target)) }
        return summary
    }

    private func copy(to temporary: String) throws -> Int {
        // This neither migrates nor changes the journal mode, because both belong to the server.
        let from = try DatabaseQueue(path: source, configuration: Self.configuration)
        defer { try? from.close() }
        guard try from.read(DatabaseKind.of) != .foreign else { throw BackupError.notIslet(path: source) }
        let onto = try DatabaseQueue(path: temporary, configuration: Self.configuration)
        defer { try? onto.close() }
        var restarts = 0
        var remaining = Int.max
        do {
            try from.backup(to: onto, pagesPerStep: pagesPerStep) { progress in
                guard !progress.isCompleted else { return }
                if progress.remainingPageCount >= remaining { restarts += 1 }
                remaining = progress.remainingPageCount
                guard restarts < Self.maximumRestarts else { throw Restarted() }
                afterStep()
            }
        } catch is Restarted {
            try from.backup(to: onto)
        }
        return restarts
    }

    /// Turns the copy into a single file with the time of the backup, and checks it with SQLite.
    private func finish(_ temporary: String, _ restarts: Int, _ now: UnixTime) throws -> Summary {
        let copy = try DatabaseQueue(path: temporary, configuration: Self.configuration)
        defer { try? copy.close() }
        try copy.writeWithoutTransaction { db in
            // The copy has WAL mode like its source. Without WAL it is a single file.
            try db.execute(sql: "PRAGMA journal_mode = DELETE")
            try db.execute(
                sql: """
                    DROP TABLE IF EXISTS \(Self.table);
                    CREATE TABLE \(Self.table) (at INTEGER NOT NULL) STRICT;
                    """)
            try db.execute(sql: "INSERT INTO \(Self.table) VALUES (?)", arguments: [now.milliseconds])
        }
        return try copy.read { db in
            try DatabaseKind.quickCheck(db, source)
            func count(_ sql: String) throws -> Int { try Int.fetchOne(db, sql: sql) ?? 0 }
            let pages = try count("PRAGMA page_count")
            return Summary(
                bytes: Int64(pages) * Int64(try count("PRAGMA page_size")), pages: pages,
                activities: try count("SELECT count(*) FROM activity"),
                devices: try count("SELECT count(*) FROM device"), restarts: restarts)
        }
    }

    static var configuration: Configuration {
        var configuration = Configuration()
        configuration.label = "islet backup"
        configuration.busyMode = .timeout(5)
        return configuration
    }

    static func removeDatabase(_ path: String) {
        for suffix in ["", "-wal", "-shm", "-journal"] { FileSteps.remove(path + suffix) }
    }
}
