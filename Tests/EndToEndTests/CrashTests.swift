import Foundation
import JSONText
import LiveActivityAPI
import PostgresCluster
import StorageSQL
import Testing

@testable import islet

/// Real processes and a real `kill -9`.
@Suite(.serialized) struct CrashTests {
    private static let phones = 1000

    /// The database of a server that is killed.
    enum Database: CaseIterable {
        case sqlite, postgreSQL

        /// Calls `body` with what the server's environment says of its database.
        func with(_ body: (DemoStage.Surroundings) async throws -> Void) async throws {
            guard self == .postgreSQL else { return try await body(DemoStage.Surroundings()) }
            let cluster = try PostgresCluster()
            defer { cluster.stop() }
            var surroundings = DemoStage.Surroundings()
            surroundings.environment = [
                "ISLET_STORAGE": cluster.url("postgres"), "ISLET_TOKEN_KEYS_ENVIRONMENT": "RING",
                "RING": TokenKeyRing.fresh().text,
            ]
            try await body(surroundings)
        }
    }

    @Test(arguments: Database.allCases)
    func `killed in the middle of an order with 1,000 phones and started again, every phone gets the last state`(
        database: Database
    ) async throws {
        try await database.with { surroundings in try await order(surroundings) }
    }

    private func order(_ surroundings: DemoStage.Surroundings) async throws {
        try await withStage(surroundings) { stage in
            let people = try await makePhones(Self.phones, stage)
            try await set(stage, "preparing", people)
            try await Waiting.until("every phone has its card", within: .seconds(300)) {
                try await view(stage).counts["live"] == Self.phones
            }
            // Each update reaches its phone, but its answer is late, so a flight is open whenever the kill comes.
            try await fault(stage, ["effect": "slow", "seconds": 5, "event": "update"])
            var revision = 0
            for status in ["ready", "picked_up", "delivering"] {
                let before = try await pushes(stage)
                revision = try await set(stage, status, people)
                try await Waiting.until("updates are on their way", within: .seconds(180)) {
                    try await pushes(stage) > before
                }
                try await stage.crashServer()
            }
            try await stage.control.call(.DELETE, "/v1/faults")
            // Answered writes survive: the revision continues from the first process's answers.
            #expect(revision == 4)
            try await Waiting.until("every phone shows the last state, once", within: .seconds(300)) {
                try await census(stage, Self.phones) == ["delivering": Self.phones]
            }
            try await Waiting.until("the server knows", within: .seconds(180)) {
                let view = try await view(stage)
                return view.revision == 4 && view.devices.allSatisfy { $0.revision == 4 }
            }
        }
    }

    @Test func `killed in the middle of the starts, no phone ever has a second card, and what is open is explained`()
        async throws
    {
        let phones = 300
        let started = 10
        try await withStage { stage in
            let people = try await makePhones(phones, stage)
            // The first starts make their cards. The others reach APNs and no phone, so the kill finds them open.
            try await fault(stage, ["effect": "stall", "event": "start", "skip": .number(JSONNumber(started))])
            try await set(stage, "preparing", people)
            try await Waiting.until("some starts are out", within: .seconds(180)) { try await pushes(stage) > started }
            try await stage.crashServer()
            try await set(stage, "ready", people)
            // Every phone with a card gets the state. A phone whose start was cut off has no card, and a second start
            // is not risked.
            try await Waiting.until("the cards that are there show the state", within: .seconds(180)) {
                try await census(stage, phones) == ["ready": started, "none": phones - started]
            }
            try await Waiting.until("every other start is open", within: .seconds(180)) {
                try await view(stage).counts == ["live": started, "unconfirmed": phones - started]
            }
            let starts = try await stage.control.call(.GET, "/v1/pushes?limit=1000").object?["pushes"]?.array?
                .compactMap(\.object).filter { $0["event"] == "start" }.compactMap { $0["phone"]?.string }
            #expect(starts.map { $0.count == Set($0).count && $0.count > started } == true)
            // If the kill comes late, everything of the starts except their answers has been written before.
            let rescued = try await Set(timeline(stage).filter { $0.code == "rescued" }.compactMap(\.device))
            let unexplained = try await view(stage).devices.filter {
                $0.state == "unconfirmed" && !rescued.contains($0.device) && $0.lastDelivery?.reason != "answer-awaited"
            }
            #expect(unexplained.isEmpty)
        }
    }

    // MARK: - Parts

    private func makePhones(_ count: Int, _ stage: DemoStage) async throws -> [JSONValue] {
        try await stage.control.call(
            .POST, "/v1/phones",
            [
                "id": "p", "user": "u", "bundleID": .string(DemoStage.bundleID), "appState": "killed",
                "count": .number(JSONNumber(count)), "activityTypes": ["OrderTrackingAttributes"],
            ])
        try await Waiting.until("every phone is registered", within: .seconds(300)) {
            for number in 1...count {
                guard try await stage.hasReported("p-\(number)") else { return false }
            }
            return true
        }
        return (1...count).map { JSONValue.string("u-\($0)") }
    }

    private func fault(_ stage: DemoStage, _ rule: JSONObject) async throws {
        try await stage.control.call(.PUT, "/v1/faults", ["faults": [.object(rule)]])
    }

    private func view(_ stage: DemoStage) async throws -> ActivityView {
        try await stage.islet.callOnAnyConnection(.GET, "/v1/activities/order-1?limit=1000").decode(ActivityView.self)
    }

    private func timeline(_ stage: DemoStage) async throws -> [TimelineView.Entry] {
        var entries: [TimelineView.Entry] = []
        var after: String?
        repeat {
            let query = "limit=1000" + (after.map { "&after=\($0)" } ?? "")
            let page = try await stage.islet.callOnAnyConnection(.GET, "/v1/activities/order-1/timeline?\(query)")
                .decode(TimelineView.self)
            entries += page.entries
            after = page.next
        } while after != nil
        return entries
    }

    /// Returns the number of phones that show exactly one card, by its status, or "none", or "several".
    private func census(_ stage: DemoStage, _ phones: Int) async throws -> [String: Int] {
        var counts: [String: Int] = [:]
        for number in 1...phones {
            let cards = try await stage.cards(on: "p-\(number)")
            let what =
                switch cards.count {
                case 0: "none"
                case 1: cards[0]["contentState"]?.object?["status"]?.string ?? "?"
                default: "several"
                }
            counts[what, default: 0] += 1
        }
        return counts
    }

    private func pushes(_ stage: DemoStage) async throws -> Int {
        try await stage.control.call(.GET, "/v1/simulator").object?["received"]?.int ?? 0
    }

    @discardableResult
    private func set(_ stage: DemoStage, _ status: String, _ people: [JSONValue]) async throws -> Int {
        try await stage.islet.callOnAnyConnection(
            .PUT, "/v1/activities/order-1",
            [
                "type": "OrderTracking", "state": ["status": .string(status), "progress": 0.5],
                "attributes": ["orderId": "order-1", "restaurant": "Da Mario"], "audience": ["users": .array(people)],
            ]
        ).decode(ActivityAnswer.self).revision
    }
}
