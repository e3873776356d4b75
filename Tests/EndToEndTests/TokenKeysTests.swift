import Foundation
import JSONText
import LiveActivityAPI
import StorageSQL
import StorageSQLite
import Synchronization
import Testing

@testable import islet

/// F4 with real processes: the keys that seal tokens change under load, the command and the server are killed, and
/// every token can still be opened.
@Suite(.serialized) struct TokenKeysTests {
    private static let phones = 30
    /// Phones whose tokens change.
    private static let changing = 1...3

    /// Points at which the command dies: the ring is written and not in use; in use and nothing re-sealed; in the
    /// middle.
    private static let points = [
        "write.before-commit:1", "write.after-commit:1", "prune.before-commit:1", "prune.after-commit:2",
    ]

    @Test(.timeLimit(.minutes(10))) func `F4: keys are rotated under load, through kills, and no token is lost`()
        async throws
    {
        try await withStage { stage in
            let people = try await makePhones(stage)
            try await set(stage, 0, people)
            try await shows(stage, step: 0)
            let load = Load()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    while !load.isOver, !Task.isCancelled {
                        // A call fails while the server is down, and is repeated.
                        let step = load.next()
                        if (try? await set(stage, step, people)) != nil { load.answered(step) }
                    }
                }
                for point in Self.points {
                    #expect(try await rotate(stage, dyingAt: point).code == 128 + 9, "\(point)")
                    try await newTokens(stage)
                }
                // The server is killed while the command runs.
                let command = try start(stage, ["rotate-storage"], "last")
                try await stage.crashServer()
                #expect(try await command.exitCode(within: .seconds(60)) == 0)
                load.end()
                try await group.waitForAll()
            }
            #expect(load.last > 0)
            try await set(stage, 1_000_000, people)
            try await shows(stage, step: 1_000_000)

            let status = try await output(stage, ["rotate-storage", "--status"])
            let earlier = status.split(separator: "\n").filter { $0.contains("  earlier  ") }
            #expect(!earlier.isEmpty && earlier.allSatisfy { $0.hasSuffix("  0 rows") }, "\(status)")
            #expect(try await output(stage, ["rotate-storage", "--retire"]).contains("retired s-"))
            let ring = try #require(try TokenKeyFile.ring(at: path(stage, "islet.db.keys")))
            #expect(ring.description.split(separator: ", ").count == 2, "the earlier keys are gone")
            // A server that never had the old keys.
            try await stage.crashServer()
            try await newTokens(stage)
            try await set(stage, 1_000_001, people)
            try await shows(stage, step: 1_000_001)
            let log = try String(contentsOfFile: path(stage, "server.log"), encoding: .utf8)
            #expect(!log.contains("cannot be read"), "\(log)")
        }
    }

    // MARK: - Parts

    /// The backend's continuous writes.
    private final class Load: Sendable {
        private let state = Mutex((step: 0, last: 0, isOver: false))

        var isOver: Bool { state.withLock(\.isOver) }
        var last: Int { state.withLock(\.last) }
        func next() -> Int {
            state.withLock { state in
                state.step += 1
                return state.step
            }
        }
        func answered(_ step: Int) { state.withLock { $0.last = step } }
        func end() { state.withLock { $0.isOver = true } }
    }

    private func path(_ stage: DemoStage, _ name: String) -> String {
        stage.directory.appendingPathComponent(name).path
    }

    private func start(
        _ stage: DemoStage, _ arguments: [String], _ name: String, _ environment: [String: String] = [:]
    ) throws -> ChildProcess {
        try ChildProcess(
            name, executable: Executable.islet,
            arguments: ["keys"] + arguments + ["--config", path(stage, "islet.yaml")], environment: environment,
            log: stage.directory.appendingPathComponent("\(name).log"))
    }

    private func rotate(_ stage: DemoStage, dyingAt point: String) async throws -> (code: Int32, Void) {
        let command = try start(stage, ["rotate-storage"], "rotation", ["ISLET_FAULT_POINT": point])
        return (try await command.exitCode(within: .seconds(60)), ())
    }

    private func output(_ stage: DemoStage, _ arguments: [String]) async throws -> String {
        let command = try start(stage, arguments, "command")
        #expect(try await command.exitCode(within: .seconds(60)) == 0)
        return try String(contentsOfFile: path(stage, "command.out"), encoding: .utf8)
    }

    private func makePhones(_ stage: DemoStage) async throws -> [JSONValue] {
        try await stage.control.call(
            .POST, "/v1/phones",
            [
                "id": "p", "user": "u", "bundleID": .string(DemoStage.bundleID), "appState": "background",
                "count": .number(JSONNumber(Self.phones)), "activityTypes": ["OrderTrackingAttributes"],
            ])
        try await reported(stage, 1...Self.phones)
        return (1...Self.phones).map { JSONValue.string("u-\($0)") }
    }

    private func reported(_ stage: DemoStage, _ numbers: ClosedRange<Int>) async throws {
        try await Waiting.until("phones \(numbers) have said everything", within: .seconds(90)) {
            for number in numbers where try await !stage.hasReported("p-\(number)") { return false }
            return true
        }
    }

    /// Writes tokens while old and new keys exist.
    private func newTokens(_ stage: DemoStage) async throws {
        for number in Self.changing {
            for action in ["rotateUpdateToken", "rotateDeviceToken", "rotatePushToStartToken"] {
                try await stage.act(action, on: "p-\(number)")
            }
        }
        try await reported(stage, Self.changing)
    }

    private func set(_ stage: DemoStage, _ step: Int, _ people: [JSONValue]) async throws {
        try await stage.islet.callOnAnyConnection(
            .PUT, "/v1/activities/order-1",
            [
                "type": "OrderTracking", "audience": ["users": .array(people)],
                "state": ["status": "ready", "progress": 0.5, "eta": .number(JSONNumber(step))],
                "attributes": ["orderId": "order-1", "restaurant": "Da Mario"],
            ])
    }

    /// Waits until every phone shows one card in this state, which proves that its token was opened.
    private func shows(_ stage: DemoStage, step: Int) async throws {
        try await Waiting.until("every phone shows step \(step), once", within: .seconds(120)) {
            for number in 1...Self.phones {
                let cards = try await stage.cards(on: "p-\(number)")
                guard cards.count == 1, cards[0]["contentState"]?.object?["eta"]?.int == step else { return false }
            }
            return true
        }
    }
}
