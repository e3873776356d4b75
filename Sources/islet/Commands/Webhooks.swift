import APNSClient
import APNSModel
import ArgumentParser
import EmbeddedIslet
import LiveActivityCore
import LiveActivityProviders
import LiveActivityStorage
import StorageSQL
import StorageSQLite

/// The `islet webhooks` command, which reports on the endpoints that receive events.
struct Webhooks: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists webhooks, replays or discards failed events, and re-enables webhooks.",
        discussion: "All subcommands can run beside a running server and take effect within 10 seconds.",
        subcommands: [List.self, Dead.self, Replay.self, Discard.self, Enable.self])

    /// Options that choose one endpoint.
    struct Place: ParsableArguments {
        @OptionGroup var file: ConfigurationOption
        @Option(help: "The app's bundle id; may be left out if there is only one.") var app: String?
        @Argument(help: "The webhook's name in the configuration.") var name: String

        func open() throws -> (key: WebhookKey, store: SQLStore) {
            let settings = try file.settings()
            guard let text = app ?? (settings.apps.count == 1 ? settings.apps.first?.bundleID.text : nil) else {
                throw CommandError(
                    "--app is needed: there are \(settings.apps.map(\.bundleID.text).joined(separator: ", "))")
            }
            let key = WebhookKey(try settings.app(named: text, in: file.config), name)
            return (key, try settings.database.open(for: .administration))
        }

        func unknown(_ key: WebhookKey) -> CommandError {
            CommandError("\(key.app) has no webhook `\(key.name)` yet: start a server that has it configured")
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the webhooks with their delivery progress and backlog.")

        @OptionGroup var file: ConfigurationOption
        @Flag(help: "Prints JSON.") var json = false

        func run() async throws {
            let settings = try file.settings()
            let store = try settings.database.open(for: .administration)
            defer { store.close() }
            let span = try await store.eventSpan()
            let known = try await store.webhooks()
            var rows: [WebhookReport] = []
            for key in Set(settings.webhooks.map(\.key) + known.map(\.key)).sorted() {
                let counts = try await store.deliveryCounts(of: key)
                rows.append(
                    WebhookReport(
                        key: key, place: known.first { $0.key == key },
                        url: settings.webhooks.first { $0.key == key }?.target.url, newest: span.newest,
                        waiting: counts.waiting, dead: counts.dead))
            }
            Output.text(json ? WebhookReport.json(rows) + "\n" : WebhookReport.table(rows))
        }
    }

    struct Dead: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the events that could not be delivered to a webhook.",
            discussion: "They are kept as long as all events, and are not retried unless you replay them.")

        @OptionGroup var place: Place
        @Option(help: "Maximum number of events.") var limit = 100
        @Option(help: "Only those after this event.") var after: EventNumber = 0
        @Flag(help: "Prints JSON.") var json = false

        func run() async throws {
            guard 1...10_000 ~= limit else { throw CommandError("--limit is from 1 to 10000") }
            let (key, store) = try place.open()
            defer { store.close() }
            let dead = try await store.deadDeliveries(to: key, after: after, limit: limit)
            let events = try await store.events(numbered: dead.map(\.number))
            Output.text(
                json ? DeadReport.json(dead, events) + "\n" : DeadReport.table(dead, events))
        }
    }

    struct Replay: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delivers events again.",
            discussion: """
                Without an option: all failed events. An event has the same webhook-id each time, so a receiver can \
                recognize one that it has already accepted.
                """)

        @OptionGroup var place: Place
        @Option(help: "Only this failed event; may be repeated.") var event: [EventNumber] = []
        @Option(help: "All stored events after this one, whether delivered or not; 0: all.")
        var since: EventNumber?
        @Flag(help: "Prints JSON.") var json = false

        func run() async throws {
            guard event.isEmpty || since == nil else { throw CommandError("give --event or --since, not both") }
            let (key, store) = try place.open()
            defer { store.close() }
            let what = since.map { WebhookReplay.everything(after: $0) } ?? .dead(event.isEmpty ? nil : event)
            guard let count = try await store.replay(what, to: key, at: APNSClient.liveTime.wall()) else {
                throw place.unknown(key)
            }
            if json { return Output.line(#"{"replayed":\#(since == nil ? String(count) : "null")}"#) }
            Output.line(
                since.map { "everything after \($0) is delivered again" }
                    ?? "\(count) \(count == 1 ? "event is" : "events are") delivered again")
        }
    }

    struct Discard: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Removes events from the list of failed events.",
            discussion: "They are no longer counted or delivered; `replay --since` still finds them.")

        @OptionGroup var place: Place
        @Option(help: "Discards this event; may be repeated.") var event: [EventNumber] = []
        @Flag(help: "Discards all failed events.") var all = false
        @Flag(help: "Prints JSON.") var json = false

        func run() async throws {
            guard event.isEmpty == all else { throw CommandError("give --event or --all") }
            let (key, store) = try place.open()
            defer { store.close() }
            guard let count = try await store.discard(all ? nil : event, of: key) else { throw place.unknown(key) }
            Output.line(
                json ? #"{"discarded":\#(count)}"# : "\(count) \(count == 1 ? "event" : "events") discarded")
        }
    }

    struct Enable: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Re-enables a webhook that was disabled after failing for days.",
            discussion: "Delivery continues where it stopped, as far as the events are still stored.")

        @OptionGroup var place: Place
        @Flag(help: "Prints JSON.") var json = false

        func run() async throws {
            let (key, store) = try place.open()
            defer { store.close() }
            guard let wasOff = try await store.enable(key) else { throw place.unknown(key) }
            if json { return Output.line(#"{"enabled":\#(wasOff)}"#) }
            Output.line(wasOff ? "\(key.name) is enabled" : "\(key.name) was already enabled")
        }
    }
}
