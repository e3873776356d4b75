import APNSClient
import APNSModel
import ArgumentParser
import EmbeddedIslet
import JSONText
import LiveActivityStorage
import StorageSQL
import StorageSQLite

/// The `islet backup` command, which copies the database.
struct Backup: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Copies the database into one file, beside a server that runs or without one.",
        discussion: """
            The copy is checked, complete and on disk when the command ends; only its owner can read it. Push tokens \
            in it are sealed: it is useless without the ring of keys, which you keep in another place. It is one \
            consistent state of the database, from a moment while the command ran. Restore it with `islet restore`.
            """)

    @OptionGroup var file: ConfigurationOption
    @Argument(help: "The file to write the copy to.", completion: .file()) var target: String
    @Flag(help: "Replaces an existing file.") var overwrite = false
    @Flag(help: "Prints JSON.") var json = false

    func run() throws {
        let settings = try file.settings()
        let time = APNSClient.liveTime
        let start = time.monotonic()
        let summary = try BackupCopy(of: try settings.databaseFile(), to: target)
            .make(overwrites: overwrite, at: time.wall())
        let tenths = ((time.monotonic() - start) / .milliseconds(100)).rounded(.up)
        if json {
            return Output.json([
                "file": .string(target), "bytes": .number(JSONNumber(Int(summary.bytes))),
                "pages": .number(JSONNumber(summary.pages)), "activities": .number(JSONNumber(summary.activities)),
                "devices": .number(JSONNumber(summary.devices)),
            ])
        }
        Output.line(
            "\(target): \(Wording.bytes(summary.bytes)), \(Wording.count(summary.pages, "page")), in \(tenths / 10) s")
        Output.line(
            "holds \(Wording.count(summary.activities, "activity", "activities")) and "
                + Wording.count(summary.devices, "device"))
    }
}

extension Settings {
    /// Returns the path of the database.
    ///
    /// - Throws: `CommandError` with what to use instead, if the database is a server's.
    fileprivate func databaseFile() throws -> String {
        guard let path = database.path else {
            throw CommandError(
                "\(database) is on PostgreSQL: use its own tools, such as pg_basebackup with an archive of its log, or "
                    + "pg_dump --schema=islet. After a restore, run `islet restore` without a file")
        }
        return path
    }
}
