import JSONText
import LiveActivityAPI
import OrderTracking

/// The play: an order from preparing to delivered, on four phones.
struct OrderPlay {
    let stage: DemoStage
    let pause: Duration
    private let order = Shop.Order(id: "1042", restaurant: "Da Mario", people: ["alice", "bob", "carol", "dave"])
    private var shown: [String: [String]] = [:]

    /// How long a phone may take to show a state.
    private static let limit = Duration.seconds(30)

    /// Who plays, what is special about their phone, and why it shows nothing if it does.
    private struct Part {
        let name: String
        let note: String
        let obstacle: String?
    }

    private let parts = [
        Part(name: "alice", note: "her app started the card", obstacle: nil),
        Part(name: "bob", note: "his app is killed", obstacle: nil),
        Part(name: "carol", note: "iOS 16.4", obstacle: "below-ios-17.2"),
        Part(name: "dave", note: "Live Activities off", obstacle: "activities-disabled"),
    ]

    init(stage: DemoStage, pause: Duration) {
        self.stage = stage
        self.pause = pause
    }

    mutating func run() async throws {
        try await makePhones()
        try await step(.preparing, eta: 25)
        try await checkObstacles()
        try await step(.ready, eta: 20)
        try await step(.pickedUp, eta: 12)
        try await step(.delivering, eta: 5)
        try await step(.delivered, eta: nil)
        try await checkEnds()
        try await printTimeline()
    }

    // MARK: - The cast

    private func makePhones() async throws {
        try await stage.addPhone("alice", ["appState": "foreground"])
        try await stage.addPhone("bob")
        try await stage.addPhone("carol", ["iOS": "16.4"])
        try await stage.addPhone("dave", ["activitiesEnabled": false])
        let stage = self.stage
        for part in parts {
            try await Waiting.until("\(part.name)'s phone is registered", within: Self.limit) {
                try await stage.hasReported(part.name)
            }
        }
        try await stage.act("kill", on: "bob")
        let state = OrderTrackingAttributes.ContentState(status: .preparing, progress: 0.2, eta: 25)
        try await stage.act(
            "startLocally", on: "alice",
            [
                "attributesType": "OrderTrackingAttributes",
                "attributes": ["orderId": .string("order-\(order.id)"), "restaurant": .string(order.restaurant)],
                "contentState": try JSONValue(encoding: state), "activity": .string("order-\(order.id)"),
            ])
        try await Waiting.until("alice's card is registered", within: Self.limit) {
            try await stage.hasReported("alice")
        }
        Output.line("Four phones: \(parts.map { "\($0.name) (\($0.note))" }.joined(separator: ", ")).")
    }

    // MARK: - The order

    private mutating func step(_ status: OrderStatus, eta: Int?) async throws {
        let words = eta.map { ", \($0) minutes" } ?? ""
        Output.line("\nThe shop reports: order \(order.id) is \(status.rawValue)\(words)")
        let shop = Shop(islet: stage.isletAddress, key: stage.key)
        let answer = try await shop.report(order, status, eta: eta)
        Output.line("Islet answers: \(answer.summary)")
        guard answer.status == 200 else { throw DemoFailure("the server refused the order") }
        let stage = self.stage
        for part in parts where part.obstacle == nil {
            try await Waiting.until("\(part.name)'s phone shows \(status.rawValue)", within: Self.limit) {
                let cards = try await stage.cards(on: part.name)
                guard cards.count == 1, let card = cards.first else { return false }
                let isOver = card["state"]?.string == "ended"
                return card["contentState"]?.object?["status"]?.string == status.rawValue
                    && isOver == (status == .delivered)
            }
        }
        // A killed app is awake for the moment of the start, and reports the card: later states need its token.
        if status == .preparing {
            try await Waiting.until("bob's update token is registered", within: Self.limit) {
                try await stage.hasReported("bob")
            }
        }
        try await draw()
        try await Task.sleep(for: pause)
    }

    /// Draws the lock screens that changed.
    private mutating func draw() async throws {
        for part in parts {
            let cards = try await stage.cards(on: part.name)
            let picture = LockScreenPicture.lines(of: part.name, part.note, cards: cards)
            guard shown[part.name] != picture else { continue }
            shown[part.name] = picture
            Output.line(picture.joined(separator: "\n"))
        }
    }

    // MARK: - What the server says of it

    private func devices() async throws -> [String: DeviceView] {
        let view = try await stage.islet.call(.GET, "/v1/activities/order-\(order.id)").decode(ActivityView.self)
        return Dictionary(view.devices.map { ($0.device, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The phones that cannot show the card show nothing, and the server says why.
    private func checkObstacles() async throws {
        let devices = try await devices()
        Output.line("Why two phones show nothing:")
        for part in parts {
            guard let obstacle = part.obstacle else { continue }
            guard let device = devices[part.name] else {
                throw DemoFailure("the server does not know \(part.name)'s phone")
            }
            Output.line("  \(part.name): \(device.reason.text)")
            guard device.reason.code == obstacle else {
                throw DemoFailure("\(part.name)'s reason is \(device.reason.code), not \(obstacle)")
            }
        }
    }

    private func checkEnds() async throws {
        let devices = try await devices()
        Output.line("\nWhat Islet says of each phone:")
        for part in parts {
            guard let device = devices[part.name] else {
                throw DemoFailure("the server does not know \(part.name)'s phone")
            }
            Output.line("  \(part.name): \(device.state), revision \(device.revision): \(device.reason.text)")
            let cards = try await stage.cards(on: part.name)
            if part.obstacle != nil, !cards.isEmpty { throw DemoFailure("\(part.name)'s phone shows a card") }
            if part.obstacle == nil, !["ending", "ended"].contains(device.state) {
                throw DemoFailure("\(part.name)'s card is \(device.state) for the server")
            }
        }
    }

    private func printTimeline() async throws {
        let view = try await stage.islet.call(.GET, "/v1/activities/order-\(order.id)/timeline?limit=500")
            .decode(TimelineView.self)
        Output.line("\nTimeline:")
        for entry in view.entries {
            let time = entry.at.description.dropFirst(11).prefix(12)
            let device = entry.device ?? "order"
            let status = entry.status.map { " → \($0)" } ?? ""
            Output.line(
                "  \(time)  \(pad(device, 6)) \(pad(entry.kind, 15)) r\(entry.revision)\(status)  \(entry.text)")
        }
    }

    private func pad(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
