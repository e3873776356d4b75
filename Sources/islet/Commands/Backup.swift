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
        let summary = try BackupCopy(of: try settings.databaseFile(for: .backup), to: target)
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

/// The `islet restore` command, which replaces the database by a backup.
struct Restore: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Replaces the database with a backup, and keeps the previous database under another name.",
        discussion: """
            The server must be stopped. The backup does not know the cards that were started and the alerts that were \
            sent after it was made. To prevent second cards, every phone on which the server might start a card counts \
            as started until the phone reports its inventory, or for 12 hours. Alerts of current states count as sent. \
            Revocations and sign-outs that the current database has recorded since stay in force, if it can be read. \
            Have your backend set its activities again afterwards.
            """)

    @OptionGroup var file: ConfigurationOption
    @Argument(help: "The file that `islet backup` made, or a copy of a stopped server's database.", completion: .file())
    var source: String
    @Flag(help: "No card was started since the backup: phones without a card may get one at once.")
    var startsAreKnown = false
    @Flag(help: "Prints JSON.") var json = false

    func run() throws {
        let settings = try file.settings()
        let database = try settings.databaseFile(for: .restore)
        let summary = try BackupRestore(from: source, to: database)
            .run(startsAreKnown: startsAreKnown, at: APNSClient.liveTime.wall())
        if json { return Output.json(Self.json(summary, database, settings.tokenKeys, startsAreKnown: startsAreKnown)) }
        Output.line(
            "\(database) is the backup of \(summary.madeAt): "
                + "\(Wording.count(summary.activities, "activity", "activities")), "
                + Wording.count(summary.devices, "device"))
        if let kept = summary.kept { Output.line("the previous database was kept as \(kept)") }
        if startsAreKnown {
            Output.line("--starts-are-known: phones without a card may get one as soon as the server runs")
        } else {
            Output.line(
                "\(Wording.count(summary.heldStarts, "start")) held: a card may have been started since the backup, so "
                    + "no card is started there until the phone reports its inventory, or for 12 hours")
        }
        Output.line(
            "\(Wording.count(summary.spentAlerts, "alert")) will not be sent again, because they may have been sent "
                + "since the backup")
        if let keys = summary.withdrawn?.keys {
            Output.line("\(Wording.count(keys, "API key")) revoked since the backup: revoked again")
        } else {
            Output.line("API keys that were revoked since the backup are valid again: `islet keys list` lists all keys")
        }
        if let devices = summary.withdrawn?.devices {
            Output.line("\(Wording.count(devices, "device")) signed out since the backup: signed out again")
        } else {
            Output.line(
                "phones whose person has signed out or changed since the backup are again as they were at the backup, "
                    + "until their apps report")
        }
        if let problem = DatabaseInspection(of: database, tokenKeys: settings.tokenKeys).tokenKeys {
            Output.line("before you start the server: \(problem)")
        }
        Output.line(
            "start the server, and have your backend set its activities again: changes since the backup are lost")
    }
    private static func json(
        _ summary: BackupRestore.Summary, _ database: String, _ tokenKeys: TokenKeySource, startsAreKnown: Bool
    ) -> JSONObject {
        var object: JSONObject = [
            "database": .string(database), "madeAt": .string(summary.madeAt.description),
            "activities": .number(JSONNumber(summary.activities)), "devices": .number(JSONNumber(summary.devices)),
            "startsAreKnown": .bool(startsAreKnown), "heldStarts": .number(JSONNumber(summary.heldStarts)),
            "spentAlerts": .number(JSONNumber(summary.spentAlerts)),
        ]
        // Null means that it is unknown which keys or devices were revoked or signed out after the backup. They stay as
        // they were.
        func count(_ number: Int?) -> JSONValue { number.map { .number(JSONNumber($0)) } ?? .null }
        object["withdrawn"] = [
            "keys": count(summary.withdrawn?.keys), "devices": count(summary.withdrawn?.devices),
        ]
        object["kept"] = summary.kept.map(JSONValue.string)
        let look = DatabaseInspection(of: database, tokenKeys: tokenKeys)
        object["tokenKeys"] = look.tokenKeys.map { .string($0.description) }
        return object
    }
}

extension Settings {
    fileprivate enum FileCommand { case backup, restore }

    /// Returns the path of the database.
    ///
    /// - Throws: `CommandError` with what to use instead, if the database is a server's.
    fileprivate func databaseFile(for command: FileCommand) throws -> String {
        if let path = database.path { return path }
        switch command {
        case .backup:
            throw CommandError(
                "\(database) is on PostgreSQL: use its own tools, such as pg_basebackup with an archive of its log, or "
                    + "pg_dump --schema=islet")
        case .restore:
            throw CommandError(
                "\(database) is on PostgreSQL: use its own tools, and only while no server of islet runs")
        }
    }
}
