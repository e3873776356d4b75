import APNSClient
import APNSModel
import ArgumentParser
import EmbeddedIslet
import JSONText

/// The `islet move` command, which moves a SQLite database to PostgreSQL.
struct Move: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Moves a SQLite database into the PostgreSQL database of the configuration.",
        discussion: """
            The server must be stopped, and no server may have used the PostgreSQL database yet. `storage` and \
            `tokenKeys` are those that the server will use: the keys must open the tokens of the file, so name the \
            ring that lies beside it, or a copy of that ring. All rows are copied in one transaction and compared one \
            by one, then the file is marked, and no server starts with it any more. After a failure no row has moved. \
            To go back later, restore a backup or a copy of the file with `islet restore`.
            """)

    @OptionGroup var file: ConfigurationOption
    @Argument(help: "The file to move.", completion: .file()) var source: String
    @Flag(help: "Moves although an earlier move has marked the file: that move did not reach the database.")
    var again = false
    @Flag(help: "Prints JSON.") var json = false

    func run() throws {
        let settings = try file.settings()
        guard case .postgres(let url) = settings.database else {
            throw CommandError(
                "`storage` is the file \(settings.database): set it to the URL of a PostgreSQL database, "
                    + "postgres://…, and name the file to move as the argument")
        }
        #if PostgreSQL
            let time = APNSClient.liveTime
            let start = time.monotonic()
            let move = DatabaseMove(
                from: source, to: url, needsStandby: settings.needsStandby, tokenKeys: settings.tokenKeys, again: again)
            let summary = try move.run(at: time.wall()) { table, rows in
                if !json { Output.error("copied \(table): \(Wording.count(rows, "row"))") }
            }
            let seconds = Int(((time.monotonic() - start) / .seconds(1)).rounded(.up))
            let rows = summary.rows.values.reduce(0, +)
            if json {
                return Output.json([
                    "database": .string(settings.database.description), "wasComplete": .bool(summary.wasComplete),
                    "rows": .number(JSONNumber(rows)),
                    "tables": .object(
                        summary.rows.sorted { $0.key < $1.key }.reduce(into: [:]) {
                            $0[$1.key] = .number(JSONNumber($1.value))
                        }),
                ])
            }
            guard !summary.wasComplete else {
                return Output.line("\(source) was moved to \(settings.database) before: start the server")
            }
            Output.line("\(settings.database) has all \(Wording.count(rows, "row")), compared, after \(seconds) s")
            Output.line("start the server; keep \(source) until you have a backup of the new database")
        #else
            throw CommandError("this build of islet has no PostgreSQL: build it with the package trait PostgreSQL")
        #endif
    }
}
