import APNSModel
import Foundation
import JSONText
import LiveActivityCore
import StorageSQL
import StorageSQLite
import Testing

@testable import islet

@Suite(.serialized) struct WebhookCommandTests {
    private static let app = BundleID("com.acme.pizza").unsafelyUnwrapped
    private static let key = WebhookKey(app, "backend")
    private static let now = UnixTime(seconds: 1_795_271_520)

    private struct Tell: Command {
        let count: Int
        var keys: [SnapshotKey] { [] }
        var rank: CommandRank { .write }

        func decide(_ draft: inout Draft) throws(Refusal) {
            for _ in 0..<count {
                draft.tell(EventRecord(.ended, app: WebhookCommandTests.app, at: WebhookCommandTests.now))
            }
        }
    }

    /// Makes a database with six events and an endpoint. The endpoint gave up two events, waits for one, and is turned
    /// off.
    private func folder() async throws -> Folder {
        let folder = try Folder()
        try folder.write("whsec_" + String(repeating: "A", count: 32), to: "secret")
        let webhook = "{name: backend, url: 'https://a.example.com/x', secretFile: secret}"
        try folder.write(
            Sample.file(apps: "[\(Sample.app().dropLast()), webhooks: [\(webhook)]}]"), to: "islet.yaml")
        let store = try SQLStore(path: folder.path("islet.db"))
        defer { store.close() }
        var place = try await store.webhook(Self.key).place
        _ = try await store.commit(Tell(count: 6)).get()
        place.position = 4
        place.failures = 7
        place.failingSince = Self.now
        place.disabledAt = Self.now + .seconds(60)
        place.failure = "HTTP 500"
        func delivery(_ number: EventNumber, dead: Bool) -> WebhookDelivery {
            WebhookDelivery(
                number: number, activity: nil, tries: 30, firstTriedAt: Self.now, dueAt: nil,
                deadAt: dead ? Self.now : nil, failure: "HTTP 500")
        }
        let rows = [delivery(1, dead: true), delivery(2, dead: true), delivery(3, dead: false)]
        #expect(try await store.save(WebhookProgress(place: place, rows: rows)))
        return folder
    }

    private func run(_ folder: Folder, _ arguments: String...) async throws -> Execution {
        try await Execution.of(["webhooks"] + arguments, in: folder)
    }

    @Test func `what stands is listed, without a secret`() async throws {
        let folder = try await folder()
        let list = try await run(folder, "list")
        #expect(
            list.output == """
                NAME     APP             BEHIND  WAITING  DEAD  STANDING
                backend  com.acme.pizza  2       1        2     off since 2026-11-21T14:33:00Z: HTTP 500
                backend: repair the endpoint, then re-enable it: `islet webhooks enable backend`, or in the console. \
                Delivery continues where it stopped, as far as the events are still stored

                """, "\(list)")
        let json = try await run(folder, "list", "--json")
        let row = try #require(try JSONValue(parsing: json.output).array?.first?.object)
        #expect(row["name"] == "backend" && row["enabled"] == false && row["dead"] == 2 && row["waiting"] == 1)
        #expect(row["url"] == "https://a.example.com/x" && row["position"] == 4 && row["failures"] == 7)
        #expect(row["state"] == "off" && row["fix"]?.string?.hasPrefix("repair the endpoint") == true)
        #expect(!json.output.contains("AAAA"))
    }

    @Test func `the dead are listed, replayed one by one and together`() async throws {
        let folder = try await folder()
        let dead = try await run(folder, "dead", "backend")
        #expect(dead.output.hasPrefix("EVENT  KIND   ACTIVITY  TRIES  GIVEN UP              LAST FAILURE\n"), "\(dead)")
        #expect(dead.output.split(separator: "\n").count == 3)
        let json = try JSONValue(parsing: try await run(folder, "dead", "backend", "--after", "1", "--json").output)
        #expect(json.array?.count == 1 && json.array?.first?.object?["document"]?.object?["type"] == "ended")
        #expect(try await run(folder, "replay", "backend", "--event", "2").output == "1 event is delivered again\n")
        #expect(try await run(folder, "replay", "backend", "--json").output == "{\"replayed\":1}\n")
        #expect(try await run(folder, "dead", "backend").output == "no failed events\n")
        let since = try await run(folder, "replay", "backend", "--since", "0")
        #expect(since.output == "everything after 0 is delivered again\n")
        #expect(try await run(folder, "list").output.contains("  6       3        0     "))
    }

    @Test func `the dead are discarded, and only where it is said which`() async throws {
        let folder = try await folder()
        for odd in [["discard", "backend"], ["discard", "backend", "--all", "--event", "1"]] {
            let run = try await Execution.of(["webhooks"] + odd, in: folder)
            #expect(run.code == 1 && run.errors.contains("give --event or --all"), "\(run)")
        }
        #expect(try await run(folder, "discard", "backend", "--event", "2").output == "1 event discarded\n")
        #expect(try await run(folder, "discard", "backend", "--all", "--json").output == "{\"discarded\":1}\n")
        #expect(try await run(folder, "dead", "backend").output == "no failed events\n")
    }

    @Test func `one is turned on once, and one that nobody knows is an error`() async throws {
        let folder = try await folder()
        #expect(try await run(folder, "enable", "backend").output == "backend is enabled\n")
        #expect(try await run(folder, "enable", "backend", "--json").output == "{\"enabled\":false}\n")
        #expect(try await run(folder, "list").output.contains("  on\n"))
        for command in [["enable"], ["replay"], ["discard", "--all"]] {
            let unknown = try await Execution.of(["webhooks"] + command + ["nobody"], in: folder)
            #expect(unknown.code == 1 && unknown.errors.contains("has no webhook `nobody` yet"), "\(unknown)")
        }
        let both = try await run(folder, "replay", "backend", "--since", "1", "--event", "2")
        #expect(both.code == 1 && both.errors.contains("not both"))
    }
}
