import APNSModel
import Foundation
import LiveActivityCore
import LiveActivityStorage
import StorageSQL
import StorageSQLite
import Synchronization
import Testing

@testable import islet

/// `islet channels delete`: what it refuses, and what it makes of APNs's answers.
@Suite(.serialized) struct ChannelSweepTests {
    private static let route = PushRoute(BundleID("com.acme.pizza").unsafelyUnwrapped, .sandbox)
    private static let own = id("AAAA0001")
    private static let theirs = ["BBBB0001", "BBBB0002", "BBBB0003"].map(id)

    private static func id(_ text: String) -> ChannelID { ChannelID(text).unsafelyUnwrapped }

    /// Writes the channel of an activity, and three that the server has not made.
    private struct Fill: Command {
        var keys: [SnapshotKey] { [] }
        var rank: CommandRank { .write }

        func decide(_ draft: inout Draft) throws(Refusal) {
            let route = ChannelSweepTests.route
            var channel = ChannelRecord(
                ChannelKey(7, route.environment, run: 1), app: route.app, storage: MessageStoragePolicy.none)
            channel.open(ChannelSweepTests.own)
            draft.put(channel)
            for id in ChannelSweepTests.theirs { draft.put(StrangerKey(route, id)) }
        }
    }

    /// An APNs that answers deletions as the test says.
    private final class FakeAPNs: ChannelSender {
        private let answers: [ChannelID: BroadcastError]
        private let calls = Mutex<[ChannelID]>([])

        init(_ answers: [ChannelID: BroadcastError] = [:]) { self.answers = answers }

        var deletions: [ChannelID] { calls.withLock { $0 } }

        func deleteChannel(_ channel: BroadcastChannel, within limit: Duration) async throws(BroadcastError) {
            calls.withLock { $0.append(channel.id) }
            if let error = answers[channel.id] { throw error }
        }

        func send(_ request: BroadcastRequest, within limit: Duration) async throws(BroadcastError) {
            throw BroadcastError(.stopping, "nothing is sent here")
        }

        func createChannel(
            of bundleID: BundleID, in environment: APNSEnvironment, storing policy: MessageStoragePolicy,
            within limit: Duration
        ) async throws(BroadcastError) -> ChannelID {
            throw BroadcastError(.stopping, "nothing is made here")
        }

        func listChannels(
            of bundleID: BundleID, in environment: APNSEnvironment, within limit: Duration
        ) async throws(BroadcastError) -> [ChannelID] { [] }
    }

    private func folder() async throws -> Folder {
        let folder = try Folder()
        try folder.write(Sample.file(), to: "islet.yaml")
        let store = try SQLStore(path: folder.path("islet.db"))
        defer { store.close() }
        _ = try await store.commit(Fill()).get()
        return folder
    }

    /// Deletes all that the server has not made.
    ///
    /// - Returns: The printed lines, the refusal, and what the server still knows as somebody else's.
    private func sweep(_ apns: FakeAPNs) async throws -> (lines: [String], refusal: String?, left: [ChannelID]) {
        let folder = try await folder()
        defer { withExtendedLifetime(folder) {} }
        let store = try SQLStore(path: folder.path("islet.db"))
        defer { store.close() }
        let printed = SaidLines()
        let sweep = ChannelSweep(route: Self.route, sender: apns) {
            printed.add("\($0.text)  \($1.rawValue)")
        }
        var refusal: String?
        do {
            try await sweep.run(try await store.channelIDs(on: Self.route).foreign)
        } catch let error as CommandError {
            refusal = error.description
        }
        return (printed.lines, refusal, try await store.channelIDs(on: Self.route).foreign)
    }

    private final class SaidLines: Sendable {
        private let said = Mutex<[String]>([])
        var lines: [String] { said.withLock { $0 } }
        func add(_ line: String) { said.withLock { $0.append(line) } }
    }

    @Test func `each channel is deleted, also one that is gone already, and the next list forgets them`() async throws {
        let gone = BroadcastError(.refused(status: 400, reason: .known(.channelNotRegistered)), "")
        let apns = FakeAPNs([Self.theirs[1]: gone])
        let swept = try await sweep(apns)
        #expect(swept.lines == ["BBBB0001  deleted", "BBBB0002  was deleted before", "BBBB0003  deleted"])
        #expect(swept.refusal == nil && swept.left == Self.theirs && apns.deletions == Self.theirs)
    }

    @Test(arguments: [
        (BroadcastError(.refused(status: 403, reason: .known(.invalidProviderToken)), ""), "not deleted", "the key"),
        (BroadcastError(.unknownFate, "no answer"), "may be deleted", "Wait a minute"),
        (BroadcastError(.refused(status: 429, reason: nil), ""), "not deleted", "Wait a minute"),
        (BroadcastError(.refused(status: 400, reason: .known(.featureNotEnabled)), ""), "not deleted", "Capability"),
    ])
    func `the first failure ends it, and says what to do`(
        error: BroadcastError, word: String, advice: String
    ) async throws {
        let apns = FakeAPNs([Self.theirs[1]: error])
        let swept = try await sweep(apns)
        #expect(swept.lines == ["BBBB0001  deleted", "BBBB0002  \(word)"])
        let refusal = try #require(swept.refusal)
        #expect(refusal.contains(advice) && refusal.contains("1 of 3 channels are deleted"), "\(refusal)")
        #expect(swept.left == Self.theirs && apns.deletions == Array(Self.theirs.prefix(2)))
    }

    @Test(arguments: [
        ("AAAA0001", "AAAA0001 belongs to an activity of the server"),
        ("CCCC0001", "the server does not know CCCC0001"),
        ("no id!", "`no id!` is no id of a channel"),
    ])
    func `an id that is not somebody else's is refused before anything is deleted`(
        id: String, words: String
    ) async throws {
        let folder = try await folder()
        let run = try await Execution.of(["channels", "delete", "BBBB0001", id], in: folder)
        #expect(run.code == 1 && run.output.isEmpty)
        #expect(run.refusals.count == 1 && run.refusals.first?.hasPrefix(words) == true, "\(run.errors)")
    }

    @Test func `unknown channels are printed, and deleted only when that is confirmed`() async throws {
        let run = try await Execution.of(["channels", "delete", "--unknown"], in: try await folder())
        #expect(run.code == 1 && run.output == "BBBB0001\nBBBB0002\nBBBB0003\n")
        #expect(
            run.refusals == ["nothing is deleted: repeat the command with --yes if no other program uses them"])
    }

    @Test func `ids are chosen once each, in their order`() throws {
        let known = RouteChannels(own: [Self.own], foreign: Self.theirs)
        #expect(
            try ChannelSweep.choose(["BBBB0002", "BBBB0001", "BBBB0002"], from: known)
                == [Self.theirs[1], Self.theirs[0]])
    }
}
