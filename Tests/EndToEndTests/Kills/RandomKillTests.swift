import Foundation
import JSONText
import LiveActivityAPI
import TestSupport
import Testing

@testable import islet

/// Repeated random `kill -9` under load, on one database. `script/crash` does it a hundred times.
@Suite(.serialized) struct RandomKillTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let kills = environment["CRASH_KILLS"].flatMap { Int($0) } ?? 5
    private static let seed = environment["CRASH_SEED"].flatMap { UInt64($0) } ?? .random(in: 0 ... .max)
    private static let orders = 6

    @Test func `killed at random under load, no write is lost or done twice, and every phone ends on the last state`()
        async throws
    {
        var dice = SeededDice(seed: Self.seed)
        try await withStage { stage in
            var orders = (1...Self.orders).map { number in
                KillLoad.Order(id: "order-\(number)", people: ["a-\(number)", "b-\(number)"])
            }
            try await addPhones(orders.flatMap(\.people), stage)
            // Some of APNs's answers are lost or bad all the time. Repeated pushes must have no visible effect.
            try await stage.control.call(
                .PUT, "/v1/faults",
                [
                    "faults": [
                        ["effect": "loseAnswer", "loss": "reset", "event": "update", "probability": 0.05],
                        [
                            "effect": "refuse", "status": 503, "reason": "ServiceUnavailable", "event": "update",
                            "probability": 0.05,
                        ],
                    ]
                ])
            let load = KillLoad(stage)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for order in orders { group.addTask { try await load.drive(order) } }
                for kill in 1...Self.kills {
                    // The kill comes during the first writes after a start, or during the start.
                    let writes = load.total + dice.roll(60)
                    try await Waiting.until("the server takes writes before kill \(kill)", within: .seconds(120)) {
                        load.total >= writes
                    }
                    try await stage.crashServer()
                    // Each kill adds an order whose start is under way at the next kill.
                    let order = KillLoad.Order(id: "late-\(kill)", people: ["late-\(kill)"])
                    try await addPhones(order.people, stage)
                    orders.append(order)
                    group.addTask { try await load.drive(order) }
                    _ = try? await stage.act("rotateUpdateToken", on: "a-\(1 + dice.roll(Self.orders))")
                    // At most two writers more than the first ones at a time.
                    if kill > 2 { load.finish("late-\(kill - 2)") }
                }
                load.finish()
                try await group.waitForAll()
            }
            try await stage.control.call(.DELETE, "/v1/faults")
            let note = Comment("seed \(Self.seed)")
            #expect(load.total > Self.kills, note)
            for order in orders {
                try await check(order, load, stage, note)
            }
            try await checkStarts(stage, note)
            print("\(Self.kills) kills, \(load.total) writes, \(load.unanswered) repeated, seed \(Self.seed)")
        }
    }

    private func addPhones(_ names: [String], _ stage: DemoStage) async throws {
        for name in names { try await stage.addPhone(name, ["appState": "killed"]) }
        try await Waiting.until("\(names.joined(separator: ", ")) are registered", within: .seconds(60)) {
            for name in names where try await !stage.hasReported(name) { return false }
            return true
        }
    }

    /// Waits until each phone of an order shows one card with its last state, or the server says why it may not send a
    /// start.
    private func check(
        _ order: KillLoad.Order, _ load: KillLoad, _ stage: DemoStage, _ note: Comment
    ) async throws {
        let writes = load.answered(order)
        for person in order.people {
            try await waiting(for: person, order, stage, until: "\(person) shows write \(writes), \(note)") {
                let cards = try await stage.cards(on: person)
                #expect(cards.count <= 1, "\(person): \(note)")
                let view = try await stage.islet.callOnAnyConnection(.GET, "/v1/activities/\(order.id)")
                    .decode(ActivityView.self)
                #expect(view.revision == writes, "\(order.id): \(note)")
                guard let device = view.devices.first(where: { $0.user == person }) else { return false }
                if cards.isEmpty {
                    return device.state == "unconfirmed"
                        && ["start-unconfirmed", "start-fate-unknown"].contains(device.reason.code)
                }
                let state = cards[0]["contentState"]?.object
                return state?["status"] == "delivering" && state?["progress"] == KillLoad.progress(writes)
                    && device.state == "live" && device.revision == writes
            }
            let alerts = try await stage.cards(on: person).first?["alerts"]?.int ?? 0
            #expect(alerts <= 1 + writes / KillLoad.alertEvery, "\(person): \(note)")
        }
    }

    /// Waits for the condition. On failure, reports the phone's and the server's views of each other.
    private func waiting(
        for person: String, _ order: KillLoad.Order, _ stage: DemoStage, until what: String,
        _ holds: @Sendable () async throws -> Bool
    ) async throws {
        do {
            try await Waiting.until(what, within: .seconds(120), holds)
        } catch let failure as DemoFailure {
            let phone = try await stage.control.call(.GET, "/v1/phones/\(person)").object ?? [:]
            let view = try await stage.islet.callOnAnyConnection(.GET, "/v1/activities/\(order.id)")
            let evidence =
                [
                    "cards": phone["lockScreen"]?.object?["cards"] ?? .null,
                    "log": .array(Array((phone["log"]?.array ?? []).suffix(8))), "server": view,
                ] as JSONObject
            throw DemoFailure("\(failure.description): \(JSONValue.object(evidence))")
        }
    }

    private func checkStarts(_ stage: DemoStage, _ note: Comment) async throws {
        var starts: [String] = []
        var after = 0
        while true {
            let page =
                try await stage.control.call(.GET, "/v1/pushes?limit=1000&after=\(after)").object?["pushes"]?
                .array?.compactMap(\.object) ?? []
            guard let last = page.last?["number"]?.int else { break }
            starts += page.filter { $0["event"] == "start" }.compactMap { $0["phone"]?.string }
            after = last
        }
        #expect(!starts.isEmpty && Set(starts).count == starts.count, "a phone got two starts, \(note)")
    }
}
