import Foundation
import JSONText
import LiveActivityAPI
import PostgresCluster
import Testing

@testable import islet

/// A server on a file that is moved to PostgreSQL in the middle of an order.
struct MoveOrderTests {
    @Test func `an order goes on when its database is moved to PostgreSQL after a crash, and the file serves no more`()
        async throws
    {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("islet-\(UUID().uuidString)")
        let file = directory.appendingPathComponent("orders.db").path
        var surroundings = DemoStage.Surroundings()
        surroundings.environment = ["ISLET_STORAGE": "sqlite:\(file)"]
        let cluster = try PostgresCluster()
        defer { cluster.stop() }
        try await withStage(surroundings, in: directory) { stage in
            try await stage.addPhone("alice")
            try await Waiting.until("alice is registered", within: .seconds(60)) {
                try await stage.hasReported("alice")
            }
            try await Self.set("preparing", stage, revision: 1)
            try await Self.shows("preparing", stage)
            // Until the card's token is there, its app may get the next state with an answer, and no push brings it.
            try await Waiting.until("the card's token is reported", within: .seconds(60)) {
                let view = try await stage.islet.call(.GET, "/v1/activities/order-1").object
                return view?["devices"]?.array?.first?.object?["reason"]?.object?["code"]?.string == "up-to-date"
            }
            // The server dies with a push in the air.
            try await stage.control.call(
                .PUT, "/v1/faults", ["faults": [["effect": "slow", "seconds": 5, "event": "update"]]])
            let before = try await Self.pushes(stage)
            try await Self.set("ready", stage, revision: 2)
            try await Waiting.until("the push is on its way", within: .seconds(60)) {
                try await Self.pushes(stage) > before
            }
            try await stage.killServer()
            try await stage.control.call(.DELETE, "/v1/faults")

            let environment = ["ISLET_STORAGE": cluster.url("postgres"), "ISLET_TOKEN_KEYS_FILE": file + ".keys"]
            let config = directory.appendingPathComponent("islet.yaml").path
            let log = directory.appendingPathComponent("move.log")
            let move = try ChildProcess(
                "islet move", executable: Executable.islet, arguments: ["move", file, "--config", config, "--json"],
                environment: environment, log: log)
            let said = try JSONValue(parsing: try await move.firstLine(within: .seconds(60))).object ?? [:]
            #expect(try await move.exitCode(within: .seconds(60)) == 0)
            #expect(said["tables"]?.object?["instance"]?.int == 1, "\(said)")

            // With the former configuration no server starts.
            let refusal = await #expect(throws: DemoFailure.self) { try await stage.startServer(within: .seconds(60)) }
            #expect(refusal?.description.contains("its rows are in postgres://") == true)
            try await stage.startServer(environment, within: .seconds(60))
            try await Self.shows("ready", stage)
            try await Self.set("picked_up", stage, revision: 3)
            try await Self.shows("picked_up", stage)
        }
    }

    private static func set(_ status: String, _ stage: DemoStage, revision: Int) async throws {
        let answer = try await stage.islet.call(
            .PUT, "/v1/activities/order-1",
            [
                "type": "OrderTracking", "state": ["status": .string(status), "progress": 0.5],
                "attributes": ["orderId": "order-1", "restaurant": "Da Mario"], "audience": ["users": ["alice"]],
            ]
        ).decode(ActivityAnswer.self)
        #expect(answer.revision == revision)
    }

    private static func shows(_ status: String, _ stage: DemoStage) async throws {
        try await Waiting.until("alice's phone shows \(status), on one card", within: .seconds(90)) {
            let cards = try await stage.cards(on: "alice")
            return cards.count == 1 && cards[0]["contentState"]?.object?["status"]?.string == status
        }
    }

    private static func pushes(_ stage: DemoStage) async throws -> Int {
        try await stage.control.call(.GET, "/v1/simulator").object?["received"]?.int ?? 0
    }
}
