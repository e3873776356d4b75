import ArgumentParser
import EmbeddedIslet
import JSONText

/// The `islet migrate` command, which migrates the tables of a PostgreSQL database.
struct Migrate: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Brings the tables of a PostgreSQL database to this version.",
        discussion: """
            A server does that by itself when it takes the database over. Run the command before you replace the \
            servers of an earlier version, beside them, so that the first of the new version need not. It waits at \
            most two seconds for a table that is in use, and then changes nothing: run it again. Back the database up \
            first: an earlier version does not always run with the new tables.
            """)

    @OptionGroup var file: ConfigurationOption
    @Flag(help: "Prints JSON.") var json = false

    func run() throws {
        let settings = try file.settings()
        guard let (before, now) = try settings.database.migrate() else {
            throw CommandError("\(settings.database) is a file: the server migrates it when it starts")
        }
        if json {
            return Output.json([
                "database": .string(settings.database.description), "before": .number(JSONNumber(before)),
                "now": .number(JSONNumber(now)),
            ])
        }
        Output.line(
            before == now
                ? "\(settings.database): its tables are of version \(now) already"
                : "\(settings.database): its tables are of version \(now), and were of version \(before)")
    }
}
