public import APNSSimulator
import BackendCalls
import JSONText
import LiveActivityAPI
public import OrderTracking

extension OrderTrackingAttributes: SimulatedActivityAttributes {}

/// An order from preparing to delivered, on four phones.
struct OrderPlay: Play {
    static let name = "order-tracking"
    static let summary = "a shop reports an order, from preparing to delivered"
    static let app = ExampleApp(
        bundleID: "com.example.pizza",
        types: [
            ExampleType(
                name: "OrderTracking", installed: InstalledActivityType(OrderTrackingAttributes.self),
                contract: OrderTrackingAttributes.contract,
                keys: ["activityIDAttribute: /orderId"],
                policy: [#"startAlert: {title: "Your order", body: "Follow it here"}"#],
                view: [
                    #"title: "{/restaurant}""#, #"subtitle: "{/status}, {/eta|a few} min""#, "progress: /progress",
                    "image: bicycle",
                ])
        ])

    private let order = Shop.Order(id: "1042", restaurant: "Da Mario", people: ["alice", "bob", "carol", "dave"])
    private var activity: String { "order-\(order.id)" }

    /// People whose phones show the order, and the others with the reasons why theirs show nothing.
    private let viewers = ["alice", "bob"]
    private let obstacles = [("carol", "below-ios-17.2"), ("dave", "activities-disabled")]

    func run(on stage: PlayStage) async throws {
        try await makePhones(stage)
        try await report(.preparing, eta: 25, stage)
        try await checkObstacles(stage)
        try await report(.ready, eta: 20, stage)
        try await report(.pickedUp, eta: 12, stage)
        try await report(.delivering, eta: 5, stage, alert: "Your order is on its way")
        try await report(.delivered, eta: nil, stage, alert: "Enjoy your meal!")
        try await checkEnds(stage)
        try await stage.printTimeline(of: activity)
    }

    static func lines(of card: JSONObject) -> [String] {
        let state = card["contentState"]?.object ?? [:]
        let attributes = card["attributes"]?.object ?? [:]
        let eta = state["eta"]?.int.map { "\($0) min" } ?? ""
        return [
            "\(attributes["restaurant"]?.string ?? "")  \(attributes["orderId"]?.string ?? "")",
            "\(Wording.bar(state["progress"]?.double ?? 0))  \(state["status"]?.string ?? "?")  \(eta)",
        ]
    }

    // MARK: - The cast

    private func makePhones(_ stage: PlayStage) async throws {
        try await stage.addPhone("alice", "her app started the card", ["appState": "foreground"])
        try await stage.addPhone("bob", "his app is killed")
        try await stage.addPhone("carol", "iOS 16.4", ["iOS": "16.4"])
        try await stage.addPhone("dave", "Live Activities off", ["activitiesEnabled": false])
        try await stage.act("kill", on: "bob")
        let state = OrderTrackingAttributes.ContentState(status: .preparing, progress: 0.2, eta: 25)
        try await stage.act(
            "startLocally", on: "alice",
            [
                "attributesType": "OrderTrackingAttributes",
                "attributes": ["orderId": .string(activity), "restaurant": .string(order.restaurant)],
                "contentState": try JSONValue(encoding: state), "activity": .string(activity),
            ])
        try await stage.registers("alice")
        stage.line("Four phones: alice's app started the card, bob's is killed, carol has iOS 16.4,")
        stage.line("and dave has switched Live Activities off.")
    }

    // MARK: - The order

    private func report(_ status: OrderStatus, eta: Int?, _ stage: PlayStage, alert: String? = nil) async throws {
        let words = eta.map { ", \($0) minutes" } ?? ""
        stage.line("\nThe shop reports: order \(order.id) is \(status.rawValue)\(words)")
        let answer = try await Shop(islet: stage.isletAddress, key: stage.key).report(order, status, eta: eta)
        stage.line("Islet answers: \(answer.summary)")
        guard answer.isTaken else { throw DemoFailure("the server refused the order") }
        let state = OrderTrackingAttributes.ContentState(status: status, progress: status.progress, eta: eta)
        var expected: [String: Expected] = [:]
        for name in viewers {
            expected[name] = try .card(state, status == .delivered ? "ended" : "active", alert: alert)
        }
        for (name, _) in obstacles { expected[name] = .nothing }
        try await stage.expect(expected)
        // A killed app wakes up for the start and reports the card, and an app on the screen reports each state. The
        // answer to a late report contains the next state, and so no push with an alert follows.
        for name in viewers { try await stage.registers(name) }
    }

    // MARK: - The server's view

    /// Checks that the phones without a card show nothing, and that the server says why.
    private func checkObstacles(_ stage: PlayStage) async throws {
        stage.line("Why two phones show nothing:")
        for (name, code) in obstacles {
            let reason = try await stage.device(name, of: activity).reason
            stage.line("  \(name): \(reason.text)")
            guard reason.code == code else { throw DemoFailure("\(name)'s reason is \(reason.code), not \(code)") }
        }
    }

    private func checkEnds(_ stage: PlayStage) async throws {
        stage.line("\nWhat Islet says of each phone:")
        for name in viewers {
            // The phone may show the end before APNs's answer is settled.
            try await stage.device(name, of: activity, "the card is over") { ["ending", "ended"].contains($0.state) }
        }
        for name in viewers + obstacles.map(\.0) {
            let device = try await stage.device(name, of: activity)
            stage.line("  \(name): \(device.state), revision \(device.revision): \(device.reason.text)")
        }
    }
}
