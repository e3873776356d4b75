import JSONText
import LiveActivityAPI
import Testing

@testable import islet

/// Phones whose orders change while servers are killed, and what must be true of them afterwards.
struct KillRun: Sendable {
    let stage: DemoStage
    let load: KillLoad
    /// The seed, for messages.
    let note: Comment

    /// Faults of APNs that must have no visible effect: some of its answers are lost or bad all the time.
    func beginFaults() async throws {
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
    }

    func endFaults() async throws { try await stage.control.call(.DELETE, "/v1/faults") }

    func addPhones(_ names: [String]) async throws {
        for name in names { try await stage.addPhone(name, ["appState": "killed"]) }
        try await Waiting.until("\(names.joined(separator: ", ")) are registered", within: .seconds(60)) {
            for name in names where try await !stage.hasReported(name) { return false }
            return true
        }
    }

    /// Waits until each phone of an order shows one card with its last state, or the server says why it may not send a
    /// start.
    func check(_ order: KillLoad.Order) async throws {
        let writes = load.answered(order)
        for person in order.people {
            try await waiting(for: person, order, until: "\(person) shows write \(writes), \(note)") {
                let cards = try await stage.cards(on: person)
                #expect(cards.count <= 1, "\(person): \(note)")
                let view: ActivityView
                do {
                    view = try await stage.islet.callOnAnyConnection(.GET, "/v1/activities/\(order.id)")
                        .decode(ActivityView.self)
                } catch let refusal as JSONCaller.Refusal where refusal.status == 503 {
                    // A node changes its role.
                    return false
                }
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
        for person: String, _ order: KillLoad.Order, until what: String,
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

    /// Returns the number of people whose phone shows a card.
    func shown(_ orders: [KillLoad.Order]) async throws -> Int {
        var count = 0
        for person in orders.flatMap(\.people) where try await !stage.cards(on: person).isEmpty { count += 1 }
        return count
    }

    /// Checks that no phone got two starts.
    func checkStarts() async throws {
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
