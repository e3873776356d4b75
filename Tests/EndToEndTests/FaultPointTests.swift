import Foundation
import JSONText
import LiveActivityAPI
import LiveActivityStorage
import TestSupport
import Testing

@testable import islet

/// Real processes: the server kills itself at one point of its work, and the next server continues from the stored
/// state.
@Suite(.serialized) struct FaultPointTests {
    /// Number of orders. Each is shown on two phones that have a card and one that needs a start.
    private static let orders = 3
    private static let seed: UInt64 = 20_261_121

    /// All points that a change passes.
    private static let points = FaultPoint.allCases.filter { !$0.rawValue.hasPrefix("prune.") }

    /// The occurrence of each point at which the process dies.
    private static let occurrences: [FaultPoint: Int] = {
        var dice = SeededDice(seed: seed)
        return Dictionary(uniqueKeysWithValues: FaultPoint.allCases.map { ($0, 1 + dice.roll(4)) })
    }()

    @Test(.timeLimit(.minutes(10)), arguments: points)
    func `killed at a fault point, every live phone gets the newest state, and nothing comes twice`(
        _ point: FaultPoint
    ) async throws {
        let occurrence = Self.occurrences[point] ?? 1
        let note = Comment(rawValue: "\(point.rawValue):\(occurrence), seed \(Self.seed)")
        try await withStage { stage in
            try await makePhones(stage)
            for order in 1...Self.orders {
                try await set(stage, order, "preparing", people: ["a-\(order)", "b-\(order)"])
            }
            try await everyCard(stage, of: ["a", "b"], shows: "preparing")

            try await stage.crashServer(environment: ["ISLET_FAULT_POINT": "\(point.rawValue):\(occurrence)"])
            let answered = try await changeUntilDeath(stage, note)
            try await stage.crashServer()

            // Answered writes survive.
            for order in 1...Self.orders {
                let revision = try await view(stage, order).revision
                #expect(revision >= answered[order] ?? 0, note)
                try await set(stage, order, "delivering", people: people(order))
            }
            try await everyCard(stage, of: ["a", "b"], shows: "delivering")
            try await checkCards(stage, note)
            try await checkStarts(stage, note)
        }
    }

    // MARK: - Actions

    private func people(_ order: Int) -> [String] { ["a", "b", "c"].map { "\($0)-\(order)" } }

    private func makePhones(_ stage: DemoStage) async throws {
        for order in 1...Self.orders {
            for person in people(order) { try await stage.addPhone(person, ["appState": "killed"]) }
        }
        try await Waiting.until("every phone is registered", within: .seconds(60)) {
            for order in 1...Self.orders {
                for person in people(order) where try await !stage.hasReported(person) { return false }
            }
            return true
        }
    }

    /// Makes changes, first with an alert and then without, until the server has died.
    ///
    /// - Returns: The last revision of each order that was answered.
    private func changeUntilDeath(_ stage: DemoStage, _ note: Comment) async throws -> [Int: Int] {
        var answered: [Int: Int] = [:]
        let alert: JSONValue = ["id": "almost", "title": "Almost there", "body": "Your order is ready"]
        for round in 0..<40 where stage.isServerRunning {
            for order in 1...Self.orders where stage.isServerRunning {
                // A server that does not answer has died, or is about to.
                let more: JSONObject = round == 0 ? ["alert": alert] : [:]
                let status = ["ready", "picked_up", "preparing"][round % 3]
                if let revision = try? await set(stage, order, status, people: people(order), more) {
                    answered[order] = revision
                }
            }
            try? await Waiting.until("it dies", within: .milliseconds(300)) { !stage.isServerRunning }
        }
        #expect(!stage.isServerRunning, note)
        return answered
    }

    // MARK: - Checks

    /// Waits until each of these phones shows one card, in this status.
    private func everyCard(_ stage: DemoStage, of names: [String], shows status: String) async throws {
        try await Waiting.until("every phone shows \(status), once", within: .seconds(90)) {
            for order in 1...Self.orders {
                for name in names {
                    let cards = try await stage.cards(on: "\(name)-\(order)")
                    guard cards.count == 1, cards[0]["contentState"]?.object?["status"]?.string == status else {
                        return false
                    }
                }
            }
            return true
        }
    }

    /// Checks that no phone has a second card, and no alert other than the start's and the one that was sent.
    private func checkCards(_ stage: DemoStage, _ note: Comment) async throws {
        for order in 1...Self.orders {
            for person in people(order) {
                let cards = try await stage.cards(on: person)
                #expect(cards.count <= 1, note)
                let alerts = cards.first?["alerts"]?.int ?? 0
                #expect(alerts <= (person.hasPrefix("c") ? 1 : 2), "\(person): \(note)")
            }
        }
    }

    /// Waits until the third phone of each order has its card and the newest state, or the server says why it may not
    /// send a start.
    private func checkStarts(_ stage: DemoStage, _ note: Comment) async throws {
        try await Waiting.until("every start is confirmed or explained, \(note)", within: .seconds(60)) {
            for order in 1...Self.orders {
                let view = try await view(stage, order)
                guard let device = view.devices.first(where: { $0.device.hasPrefix("c-") || $0.user.hasPrefix("c-") })
                else { return false }
                let cards = try await stage.cards(on: "c-\(order)")
                let isShown = cards.first?["contentState"]?.object?["status"]?.string == "delivering"
                let isExplained =
                    device.state == "unconfirmed" && cards.isEmpty
                    && ["start-unconfirmed", "start-fate-unknown"].contains(device.reason.code)
                guard isShown && device.state == "live" || isExplained else { return false }
            }
            return true
        }
        let starts = try await stage.control.call(.GET, "/v1/pushes?limit=1000").object?["pushes"]?.array?
            .compactMap(\.object).filter { $0["event"] == "start" }.compactMap { $0["phone"]?.string }
        #expect(starts.map { Set($0).count == $0.count } == true, note)
    }

    // MARK: - Calls

    private func view(_ stage: DemoStage, _ order: Int) async throws -> ActivityView {
        try await stage.islet.callOnAnyConnection(.GET, "/v1/activities/order-\(order)").decode(ActivityView.self)
    }

    @discardableResult
    private func set(
        _ stage: DemoStage, _ order: Int, _ status: String, people: [String], _ more: JSONObject = [:]
    ) async throws -> Int {
        var body: JSONObject = [
            "type": "OrderTracking", "state": ["status": .string(status), "progress": 0.5],
            "attributes": ["orderId": .string("order-\(order)"), "restaurant": "Da Mario"],
            "audience": ["users": .array(people.map(JSONValue.string))],
        ]
        for (name, value) in more { body[name] = value }
        return try await stage.islet.callOnAnyConnection(.PUT, "/v1/activities/order-\(order)", .object(body))
            .decode(ActivityAnswer.self).revision
    }
}
