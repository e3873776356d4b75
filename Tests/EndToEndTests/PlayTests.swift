import Foundation
import JSONText
import Synchronization
import Testing

@testable import islet

/// The plays of `islet demo`: every system, with processes of its own.
@Suite(.serialized) struct PlayTests {
    @Test(arguments: Systems.names)
    func `a system is played to its end, and every phone shows what it should`(_ name: String) async throws {
        let play = try #require(Systems.named(name))
        let said = try await run(play)
        #expect(said.contains { $0.contains("'s iPhone") }, "no lock screen was drawn")
    }

    @Test func `a phone that does not show what it should fails the play, which says which, what, and what instead`()
        async throws
    {
        let error = await #expect(throws: DemoFailure.self) { try await run(WrongPlay.self) }
        let words = error?.description ?? ""
        #expect(words.contains("alice's phone: expected the active card"), "\(words)")
        #expect(words.contains("shown nothing"), "\(words)")
    }

    @Test func `a play that says nothing of one of its phones fails`() async throws {
        let error = await #expect(throws: DemoFailure.self) { try await run(SilentPlay.self) }
        #expect(error?.description.contains("does not say of each of alice") == true)
    }

    @Test func `names are told apart, and each has a summary`() {
        #expect(Set(Systems.names).count == Systems.all.count)
        #expect(Systems.all.allSatisfy { !$0.summary.isEmpty })
        #expect(Set(Systems.all.map { $0.app.bundleID }).count == Systems.all.count, "an app for each")
    }

    /// Plays it fast and returns its output.
    private func run(_ play: any Play.Type) async throws -> [String] {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("islet-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        let said = Mutex<[String]>([])
        try await Turns.ofSystems.take {
            try await Demo.play(play, in: directory, executable: Executable.islet, fast: true) { line in
                said.withLock { $0.append(line) }
            }
        }
        return said.withLock(\.self)
    }
}

/// A play that expects a card that nobody starts.
private struct WrongPlay: Play {
    static let name = OrderPlay.name
    static let summary = ""
    static let app = OrderPlay.app

    func run(on stage: PlayStage) async throws {
        try await stage.addPhone("alice", "")
        try await stage.expect(["alice": .card(["status": "ready"])], within: .milliseconds(200))
    }

    static func lines(of card: JSONObject) -> [String] { [] }
}

private struct SilentPlay: Play {
    static let name = OrderPlay.name
    static let summary = ""
    static let app = OrderPlay.app

    func run(on stage: PlayStage) async throws {
        try await stage.addPhone("alice", "")
        try await stage.expect([:])
    }

    static func lines(of card: JSONObject) -> [String] { [] }
}
