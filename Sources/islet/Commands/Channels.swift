import APNSClient
import APNSModel
import ArgumentParser
import EmbeddedIslet
import JSONText
import LiveActivityAPI
import LiveActivityCore
import LiveActivityServer
import LiveActivityStorage
import StorageSQL
import StorageSQLite

/// The `islet channels` command, which lists broadcast channels, and deletes those that the server has not made.
struct Channels: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists broadcast channels; deletes those that the server has not made.",
        discussion: "`islet channels` alone is `islet channels list`.", subcommands: [List.self, Delete.self],
        defaultSubcommand: List.self)

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists broadcast channels, and their number in each environment.",
            discussion: """
                Asks the database, so it works beside a running server, and while none runs. The channels of the \
                newest activities come first.
                """)

        private static let maximum = 1000

        @OptionGroup var file: ConfigurationOption
        @Option(help: "Only the channels of this app, by bundle id.") var app: String?
        @Option(help: "Maximum number of channels, up to 1000.") var limit = 100
        @Option(help: "Only the channels after those of an earlier list, which printed this value.") var after: String?
        @Flag(help: "Prints JSON.") var json = false

        func validate() throws {
            guard 1...Self.maximum ~= limit else { throw ValidationError("--limit is from 1 to \(Self.maximum)") }
            if let after, ChannelKey(cursor: after) == nil {
                throw ValidationError("--after is a value that an earlier list printed, not `\(after)`")
            }
        }

        func run() async throws {
            let settings = try file.settings()
            let bundleID = try app.map { try settings.app(named: $0, in: file.config) }
            let store = try settings.database.open(for: .administration)
            defer { store.close() }
            let page = try await store.channels(
                of: bundleID, after: after.flatMap { ChannelKey(cursor: $0) }, limit: limit)
            let counts = try await store.channelCounts(of: bundleID)
            let apps = settings.apps.filter { bundleID == nil || $0.bundleID == bundleID }
            let list = ChannelList(page, counts, of: apps, now: APNSClient.liveTime.wall())
            if json { return Output.line(try ChannelReport.json(list)) }
            Output.text(ChannelReport.table(list))
            if let next = list.next { Output.error("there are more: --after \(next)") }
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Deletes channels at APNs that the server has not made.",
            discussion: """
                These are the FOREIGN ones of `islet channels`: another program has made them, or a server whose \
                database is lost. Cards on a deleted channel get no push any more, so make sure that no other \
                program uses it. Channels of the server's own activities are refused. Asks the database and APNs, so \
                it works beside a running server, and while none runs. A running server counts again with its next \
                list, within an hour.
                  islet channels delete --app com.acme.pizza --environment sandbox dHN0LXNyY2gtY2hubA==
                """)

        @OptionGroup var file: ConfigurationOption
        @OptionGroup var choice: KeyChoice
        @Argument(help: "The ids of the channels.") var ids: [String] = []
        @Flag(help: "All channels of the app that the server has not made. Only prints them without --yes.")
        var unknown = false
        @Flag(help: "Deletes what --unknown names.") var yes = false
        @Flag(help: "Prints JSON: one object for each channel, on a line of its own.") var json = false

        func validate() throws {
            guard unknown == ids.isEmpty else { throw ValidationError("name channels by their ids, or by --unknown") }
            guard unknown || !yes else { throw ValidationError("--yes goes with --unknown") }
        }

        func run() async throws {
            let settings = try file.settings()
            let key = try choice.key(of: settings)
            let store = try settings.database.open(for: .administration)
            defer { store.close() }
            let route = PushRoute(key.app, key.environment)
            let known = try await store.channelIDs(on: route)
            let chosen = try unknown ? known.foreign : ChannelSweep.choose(ids, from: known)
            guard !chosen.isEmpty else {
                return json ? () : Output.line("there is no channel that the server has not made")
            }
            if unknown, !yes {
                for id in chosen { Output.line(json ? Self.object(id) : id.text) }
                throw CommandError("nothing is deleted: repeat the command with --yes if no other program uses them")
            }
            let client = try APNSClient(routes: [key.route])
            let printsJSON = json
            let sweep = ChannelSweep(route: route, sender: client) { id, fate in
                Output.line(printsJSON ? Self.object(id, fate) : "\(id.text)  \(fate.rawValue)")
            }
            do {
                try await sweep.run(chosen)
            } catch {
                await client.shutdown(within: .seconds(1))
                throw error
            }
            await client.shutdown(within: .seconds(1))
        }

        private static func object(_ id: ChannelID, _ fate: ChannelSweep.Fate? = nil) -> String {
            JSONValue.object(["id": .string(id.text), "fate": fate.map { .string($0.rawValue) } ?? .null]).text
        }
    }
}
