import APNSClient
import APNSModel
import ArgumentParser
import EmbeddedIslet
import LiveActivityAPI
import LiveActivityCore
import LiveActivityServer
import LiveActivityStorage
import StorageSQL
import StorageSQLite

/// The `islet channels` command, which lists the broadcast channels of the server.
struct Channels: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists broadcast channels, and their number in each environment.",
        discussion: """
            Asks the database, so it works beside a running server, and while none runs. The channels of the newest \
            activities come first.
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
        let page = try await store.channels(of: bundleID, after: after.flatMap { ChannelKey(cursor: $0) }, limit: limit)
        let counts = try await store.channelCounts(of: bundleID)
        let apps = settings.apps.filter { bundleID == nil || $0.bundleID == bundleID }
        let list = ChannelList(page, counts, of: apps, now: APNSClient.liveTime.wall())
        if json { return Output.line(try ChannelReport.json(list)) }
        Output.text(ChannelReport.table(list))
        if let next = list.next { Output.error("there are more: --after \(next)") }
    }
}
