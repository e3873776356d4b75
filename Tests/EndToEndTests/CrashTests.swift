import Foundation
import JSONText
import LiveActivityAPI
import Testing

@testable import islet

/// Real processes, a real `kill -9`.
@Suite(.serialized) struct CrashTests {
    private static let phones = 1000

    @Test func `killed in the middle of an order with 1,000 phones and started again, every phone gets the last state`()
        async throws
    {
        try await withStage { stage in
            let people = try await makePhones(Self.phones, stage)
            try await set(stage, "preparing", people)
            try await Waiting.until("every phone has its card", within: .seconds(120)) {
                try await view(stage).counts["live"] == Self.phones
            }
            var revision = 0
            for status in ["ready", "picked_up", "delivering"] {
                let before = try await pushes(stage)
                revision = try await set(stage, status, people)
                try await Waiting.until("updates are on their way", within: .seconds(60)) {
                    try await pushes(stage) > before
                }
                try await stage.crashServer()
            }
            // What was answered is there: the revision went on from what the first process had said.
            #expect(revision == 4)
            try await Waiting.until("every phone shows the last state, once", within: .seconds(120)) {
                try await census(stage, Self.phones) == ["delivering": Self.phones]
            }
            try await Waiting.until("the server knows", within: .seconds(60)) {
                let view = try await view(stage)
                return view.revision == 4 && view.devices.allSatisfy { $0.revision == 4 }
            }
        }
    }

    @Test func `killed in the middle of the starts, no phone ever has a second card, and what is open is explained`()
        async throws
    {
        let phones = 300
        try await withStage { stage in
            let people = try await makePhones(phones, stage)
            try await set(stage, "preparing", people)
            try await Waiting.until("some starts are out", within: .seconds(60)) { try await pushes(stage) > 10 }
            try await stage.crashServer()
            try await set(stage, "ready", people)
            // Whoever has a card gets the state; whoever's start was cut off has none, and none is risked.
            try await Waiting.until("the cards that are there show the state", within: .seconds(60)) {
                let counts = try await census(stage, phones)
                return counts["preparing"] == nil && counts["several"] == nil
            }
            let open = try await census(stage, phones)["none"] ?? 0
            let view = try await view(stage)
            #expect(view.counts["live"] == phones - open)
            #expect((view.counts["unconfirmed"] ?? 0) == open)
            #expect(try await timeline(stage).contains { open == 0 || $0.code == "rescued" })
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
        try await Waiting.until("every phone is registered", within: .seconds(120)) {
            for number in 1...count {
                guard try await stage.hasReported("p-\(number)") else { return false }
            }
            return true
        }
        return (1...count).map { JSONValue.string("u-\($0)") }
    }

    private func view(_ stage: DemoStage) async throws -> ActivityView {
        try await stage.islet.call(.GET, "/v1/activities/order-1?limit=1000").decode(ActivityView.self)
    }

    private func timeline(_ stage: DemoStage) async throws -> [TimelineView.Entry] {
        try await stage.islet.call(.GET, "/v1/activities/order-1/timeline?limit=1000").decode(TimelineView.self).entries
    }

    /// How many phones show exactly one card, by its status, or "none", or "several".
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
        try await stage.islet.call(
            .PUT, "/v1/activities/order-1",
            [
                "type": "OrderTracking", "state": ["status": .string(status), "progress": 0.5],
                "attributes": ["orderId": "order-1", "restaurant": "Da Mario"], "audience": ["users": .array(people)],
            ]
        ).decode(ActivityAnswer.self).revision
    }
}

/// A server and a simulator as processes, in a directory that is removed.
func withStage(_ body: (DemoStage) async throws -> Void) async throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("islet-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let stage = try await DemoStage(directory: directory, startGrace: "0s", executable: Executable.islet)
    do {
        try await body(stage)
    } catch {
        await stage.close()
        throw error
    }
    await stage.close()
}

enum Executable {
    /// The program beside the test bundle.
    static var islet: URL {
        get throws {
            let bundle = Bundle.allBundles.map(\.bundleURL).first { $0.pathExtension == "xctest" }
            let folder = bundle?.deletingLastPathComponent() ?? Bundle.main.bundleURL
            let executable = folder.appendingPathComponent("islet")
            guard FileManager.default.isExecutableFile(atPath: executable.path) else {
                throw DemoFailure("no islet executable in \(folder.path)")
            }
            return executable
        }
    }
}
