import APNSModel
import Foundation
import JSONText
import LiveActivityCore
import StorageSQL
import StorageSQLite
import Testing

@testable import islet

@Suite(.serialized) struct ChannelCommandTests {
    private static let app = BundleID("com.acme.pizza").unsafelyUnwrapped
    private static let id = ChannelID("dHN0LXNyY2gtY2hubA==").unsafelyUnwrapped
    /// 2023-11-14T22:13:20Z.
    private static let now = UnixTime(seconds: 1_700_000_000)

    /// Writes an activity with a channel of each of its two runs, and the channel of an erased activity.
    private struct Fill: Command {
        var keys: [SnapshotKey] { [] }
        var rank: CommandRank { .write }

        func decide(_ draft: inout Draft) throws(Refusal) {
            let (app, now) = (ChannelCommandTests.app, ChannelCommandTests.now)
            var activity = ActivityRecord(
                number: draft.takeActivityNumber(), app: app, id: ActivityID(stored: "match-1"), type: "Order", at: now)
            activity.phase = .active
            activity.run = 2
            activity.revision = 5
            draft.put(activity)
            var live = ChannelRecord(ChannelKey(activity.number, .sandbox, run: 2), app: app, storage: .mostRecent)
            live.open(ChannelCommandTests.id)
            live.start(3, timestamp: now.seconds)
            live.claim(ChannelFlight(.update, node: 1, claimedAt: now, leaseUntil: now + ClaimChannels.lease))
            draft.put(live)
            var ending = ChannelRecord(ChannelKey(activity.number, .sandbox, run: 1), app: app, storage: .none)
            ending.open(ChannelCommandTests.id)
            ending.start(2, timestamp: now.seconds)
            ending.ends = 1
            ending.finishRun(at: now)
            draft.put(ending)
            var refused = ChannelRecord(ChannelKey(99, .sandbox, run: 1), app: app, storage: .mostRecent)
            refused.refuse(Reason(.channelRefused, "FeatureNotEnabled"), retryAt: now + .seconds(900))
            draft.put(refused)
            draft.put(StrangerKey(PushRoute(app, .sandbox), ChannelCommandTests.id))
        }
    }

    private func folder(isFilled: Bool = true) async throws -> Folder {
        let folder = try Folder()
        try folder.write(Sample.file(), to: "islet.yaml")
        let store = try SQLStore(path: folder.path("islet.db"))
        defer { store.close() }
        if isFilled { _ = try await store.commit(Fill()).get() }
        return folder
    }

    private func run(_ folder: Folder, _ arguments: String...) async throws -> Execution {
        try await Execution.of(["channels"] + arguments, in: folder)
    }

    @Test func `channels are listed with their state, what to do, and how many there are`() async throws {
        let list = try await run(try await folder())
        #expect(list.code == 0 && list.errors.isEmpty)
        let lines = list.output.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.split(separator: "  ").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        try #require(lines.count == 9, "\(list)")
        #expect(lines[0] == ["APP", "ENVIRONMENT", "CHANNELS", "FOREIGN", "LIMIT", "AUTO UP TO"])
        #expect(lines[1] == ["com.acme.pizza", "sandbox", "2", "1", "10000", "8000"])
        #expect(
            lines[3] == [
                "ACTIVITY", "APP", "ENVIRONMENT", "RUN", "CHANNEL", "STATE", "STORED", "REVISION", "ENDS",
                "LAST BROADCAST", "NEXT LOOK", "UNDER WAY", "REASON",
            ])
        #expect(
            lines[4] == [
                "99 (erased)", "com.acme.pizza", "sandbox", "1", "-", "refused", "mostRecent", "0", "0", "-",
                "2023-11-14T22:28:20Z", "-", "APNs makes no broadcast channel now (FeatureNotEnabled)",
            ])
        #expect(
            lines[5] == [
                "match-1", "com.acme.pizza", "sandbox", "2", Self.id.text, "open", "mostRecent", "3 of 5, behind", "0",
                "2023-11-14T22:13:20Z", "2023-11-14T22:14:05Z", "update", "-",
            ])
        #expect(
            lines[6] == [
                "match-1", "com.acme.pizza", "sandbox", "1", Self.id.text, "ending, deleted at 2023-11-15T10:13:20Z",
                "none", "2", "1", "-", "-", "-", "-",
            ])
        #expect(lines[7].first?.hasPrefix("99 (erased), run 1, sandbox: turn on the Broadcast Capability") == true)
    }

    @Test func `a list is cut, says how it goes on, and is JSON if that is asked for`() async throws {
        let folder = try await folder()
        let first = try await run(folder, "--limit", "2")
        #expect(first.output.contains("99 (erased)") && !first.output.contains("ending"))
        let said = try #require(first.errors.firstMatch(of: /there are more: --after (\S+)\n/))
        let rest = try await run(folder, "--limit", "2", "--after", String(said.output.1), "--json")
        #expect(rest.code == 0 && rest.errors.isEmpty)
        let json = try #require(try JSONValue(parsing: rest.output).object)
        let rows = json["channels"]?.array?.compactMap(\.object) ?? []
        #expect(rows.count == 1 && rows.first?["state"] == "ending" && rows.first?["activity"] == "match-1")
        #expect(rows.first?["deletesAt"] == "2023-11-15T10:13:20Z" && json["next"] == nil)
        let route = try #require(json["routes"]?.array?.first?.object)
        #expect(route["channels"] == 2 && route["foreign"] == 1 && route["automaticLimit"] == 8000)
    }

    @Test func `without channels it says what asks for them, and an unknown app is an error`() async throws {
        let folder = try await folder(isFilled: false)
        let none = try await run(folder, "--app", "com.acme.pizza")
        #expect(none.code == 0 && none.output.contains("com.acme.pizza  sandbox      0         0        10000  8000\n"))
        #expect(none.output.hasSuffix("\n\nno channels; a type's `delivery` asks for them: docs/policy.md\n"))
        let unknown = try await run(folder, "--app", "com.acme.cake")
        #expect(unknown.code == 1 && unknown.errors.contains("`com.acme.cake` is not an app of islet.yaml"))
    }
}
