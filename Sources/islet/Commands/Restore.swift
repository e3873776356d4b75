import APNSClient
import APNSModel
import ArgumentParser
import EmbeddedIslet
import JSONText
import LiveActivityStorage
import StorageSQL
import StorageSQLite

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

            A PostgreSQL database is restored with its own tools. Then run the command without a file: it makes the \
            rows that are there safe in the same way. A server does that by itself where it recognises a restore, and \
            without `--starts-are-known`.
            """)

    @OptionGroup var file: ConfigurationOption
    @Argument(help: "The file that `islet backup` made, or a copy of a stopped server's database.", completion: .file())
    var source: String?
    @Flag(help: "No card was started since the backup: phones without a card may get one at once.")
    var startsAreKnown = false
    @Flag(help: "Prints JSON.") var json = false

    func run() throws {
        let settings = try file.settings()
        guard let database = settings.database.path else { return try restoreServer(settings) }
        guard let source else { throw CommandError("name the file to restore: `islet restore FILE`") }
        let summary = try BackupRestore(from: source, to: database)
            .run(startsAreKnown: startsAreKnown, at: APNSClient.liveTime.wall())
        if json { return Output.json(Self.json(summary, database, settings.tokenKeys, startsAreKnown: startsAreKnown)) }
        Output.line(
            "\(database) is the backup of \(summary.madeAt): "
                + "\(Wording.count(summary.activities, "activity", "activities")), "
                + Wording.count(summary.devices, "device"))
        if let kept = summary.kept { Output.line("the previous database was kept as \(kept)") }
        tell(held: summary.heldStarts, spent: summary.spentAlerts)
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

    /// Makes a PostgreSQL database safe, whose rows were restored.
    private func restoreServer(_ settings: Settings) throws {
        guard source == nil else {
            throw CommandError(
                "\(settings.database) is on PostgreSQL: restore it with its own tools while no server of islet runs, "
                    + "then run `islet restore` without a file")
        }
        let restore = try settings.database.assumeRestore(startsAreKnown: startsAreKnown)
        if json {
            return Output.json([
                "database": .string(settings.database.description), "madeAt": .string(restore.madeAt.description),
                "startsAreKnown": .bool(startsAreKnown), "heldStarts": .number(JSONNumber(restore.changes.starts)),
                "spentAlerts": .number(JSONNumber(restore.changes.alerts)),
            ])
        }
        Output.line("\(settings.database) is restored: its last change was made at \(restore.madeAt)")
        tell(held: restore.changes.starts, spent: restore.changes.alerts)
        Output.line(
            "API keys that were revoked and phones that were signed out since are valid again: `islet keys list` lists "
                + "all keys")
        Output.line(
            "start the server, and have your backend set its activities again: changes since the backup are lost")
    }

    private func tell(held: Int, spent: Int) {
        if startsAreKnown {
            Output.line("--starts-are-known: phones without a card may get one as soon as the server runs")
        } else {
            Output.line(
                "\(Wording.count(held, "start")) held: a card may have been started since the backup, so no card is "
                    + "started there until the phone reports its inventory, or for 12 hours")
        }
        Output.line(
            "\(Wording.count(spent, "alert")) will not be sent again, because they may have been sent since the backup")
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
