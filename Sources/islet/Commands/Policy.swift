import APNSModel
import ArgumentParser
import Foundation
import LiveActivityAPI
import LiveActivityCore

/// The `islet policy` command, which shows the effects of a type's policy.
struct Policy: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows how a type's policy handles changes.", subcommands: [Explain.self])

    struct Explain: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Simulates changes under a policy: what is sent, when and why.",
            discussion: """
                Nothing is sent, and no time passes: the changes go through the server's own decisions, with a clock \
                of their own and an APNs that accepts every push. Each line of the changes is a JSON object with a \
                time, `{"at": "90s", "state": {…}}`, optionally with alert, priority, relevance, staleAfter and \
                reopen; or `{"at": "5m", "end": true}`; or an event on a phone, `{"at": "2m", "phone": "ann", "event": \
                "token"}`: token, offline, online, withhold, allow, dismiss, local, inventory. docs/policy.md has \
                examples.
                """)

        @OptionGroup var file: ConfigurationOption
        @Option(help: "The activity type, as it is configured.") var type: String
        @Option(help: "The app's bundle id; needed when several have the type.") var app: String?
        @Option(help: "A file with the changes; left out, an example is played.") var changes: String?
        @Option(help: "When the first change happens.") var from = "2026-01-15T12:00:00Z"
        @Option(name: .customLong("for"), help: "Simulated time after the last change.") var rest = "10m"
        @Option(help: "The phones' time zone, for quiet hours.") var timeZone = "UTC"
        @Flag(help: "The phones allow frequent pushes.") var frequent = false
        @Flag(help: "Lines of JSON in place of a table.") var json = false

        func run() async throws {
            guard let instant = Instant(from) else {
                throw ValidationError("--from is a time such as 2026-01-15T12:00:00Z, not `\(from)`")
            }
            guard let rest = APIDuration(rest) else {
                throw ValidationError("--for is a duration such as 8h, not `\(rest)`")
            }
            let (app, type) = try chosen(of: file.settings())
            let script = try ExplainScript(text())
            let (zone, frequent) = (timeZone, frequent)
            let lines = try await TrialStore.with { store in
                var run = ExplainRun(
                    store: store, app: app, type: type, script: script,
                    from: UnixTime(milliseconds: Int64(instant.milliseconds)))
                return try await run.run(timeZone: zone, frequent: frequent, rest: rest.duration)
            }
            Output.text(json ? try ExplainTable.json(lines) : ExplainTable.text(lines))
        }

        private func chosen(of settings: Settings) throws -> (AppSettings, ActivityType) {
            let apps = settings.apps.filter { app == nil || $0.bundleID.text == app }
            let fitting = apps.compactMap { app in app.types[type].map { (app, $0) } }
            guard let first = fitting.first else {
                let names = apps.flatMap(\.types.keys).sorted().joined(separator: ", ")
                throw CommandError("there is no type `\(type)`: there are \(names.isEmpty ? "none" : names)")
            }
            guard fitting.count == 1 else { throw CommandError("several apps have `\(type)`: say which with --app") }
            // The explanation shows what the policy does with changes, so contracts do not matter.
            var (owner, played) = first
            played.contract = nil
            played.olderContracts = []
            owner.types[played.name] = played
            return (owner, played)
        }

        private func text() throws -> String {
            guard let changes else { return ExplainScript.example }
            guard let data = FileManager.default.contents(atPath: changes) else {
                throw CommandError("`\(changes)` cannot be read")
            }
            return String(decoding: data, as: UTF8.self)
        }
    }
}
