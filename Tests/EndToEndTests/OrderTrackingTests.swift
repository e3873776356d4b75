import APNSModel
import APNSSimulator
import BackendCalls
import JSONText
import LiveActivityAPI
import OrderTracking
import Testing

@testable import islet

/// Order tracking: requirements B1, B3 to B6, B8, B9 and B10, against a real server and the rules of real phones.
@Suite(.serialized) struct OrderTrackingTests {
    private static let order = Shop.Order(id: "12345", restaurant: "Da Mario", people: ["alice"])

    @Test func `B4 and B5: the shop reports each status, the phone shows its progress, priorities and alert`()
        async throws
    {
        try await Stack.run { stack in
            let phone = try await stack.phone("alice")
            let shop = Shop(islet: stack.address, key: stack.key)
            for status in OrderStatus.allCases {
                let answer = try await shop.report(Self.order, status, eta: 5)
                #expect(answer.status == 200)
                let screen = try await stack.shows(
                    status.rawValue, on: phone, state: status == .delivered ? .ended : .active)
                #expect(screen.cards[0].contentState["progress"]?.double == status.progress)
                if status == .preparing { try await stack.reported(phone) }
                let alert = screen.cards[0].alert.map { [$0.title, $0.body, $0.sound] }
                if status == .delivering {
                    #expect(alert == ["Your order is on its way", "Da Mario: 5 minutes", "default"])
                }
                if status == .delivered { #expect(alert == ["Enjoy your meal!", nil, "default"]) }
                if status == .delivered {
                    // A quarter of an hour after the server's end, on the phone's clock. iOS's own choice is four
                    // hours.
                    let left = try #require(screen.cards[0].dismissesAt) - stack.simulator.now
                    #expect(left > .seconds(14 * 60) && left <= .seconds(15 * 60), "\(left)")
                }
            }
            let pushes = stack.simulator.received
            #expect(pushes.allSatisfy { $0.status == 200 })
            #expect(pushes.map(\.event) == ["start", "update", "update", "update", "end"])
            // The end has an alert, so it does not wait for the minute of the previous push.
            #expect(pushes.map(\.priority) == ["10", "5", "5", "10", "10"])
            #expect(pushes.allSatisfy { $0.topic == "com.example.pizza.push-type.liveactivity" })
            #expect(pushes.allSatisfy { $0.pushType == "liveactivity" })
            // B9: made at the claim, whole seconds, strictly increasing.
            let stamps = pushes.compactMap(\.timestamp)
            #expect(stamps == Array(Set(stamps)).sorted())
        }
    }

    @Test func `B3: a registered activity is found by its order; a second token replaces the first`() async throws {
        try await Stack.run { stack in
            let phone = try await stack.phone("alice") { $0.appState = .foreground }
            let local = try await startLocally(stack, phone)
            try await stack.reported(phone)
            try await stack.set("order-12345", "ready", people: ["alice"])
            try await stack.shows("ready", on: phone)
            try stack.simulator.perform(.rotateUpdateToken(localID: local), on: phone)
            try await stack.reported(phone)
            try await stack.device("alice", of: "order-12345", "has the state on the new token") { $0.revision == 1 }
            try await stack.set("order-12345", "picked_up", people: ["alice"])
            try await stack.shows("picked_up", on: phone)
            // No push goes to a token that was replaced: APNs would have answered 410.
            #expect(stack.simulator.received.allSatisfy { $0.status == 200 })
            #expect(stack.simulator.received.allSatisfy { $0.event == "update" })
        }
    }

    @Test func `B6: an order without a phone answers clearly, with nothing to update`() async throws {
        try await Stack.run { stack in
            let answer = try await stack.set("order-1", "ready", people: ["nobody"])
            #expect(answer.phones == .init(start: 0, update: 0, pending: 0, none: 0))
            #expect(answer.reasons.map(\.reason) == ["nothing-to-update"])
        }
    }

    @Test
    func `B8: several changes inside the window become one push with the newest state, and the last always arrives`()
        async throws
    {
        try await Stack.run { stack in
            let phone = try await stack.phone("alice")
            try await stack.set("order-12345", "preparing", people: ["alice"])
            try await stack.shows("preparing", on: phone)
            try await stack.reported(phone)
            try await stack.device("alice", of: "order-12345", "has its token") {
                $0.revision == 1 && $0.state == "live"
            }
            let before = stack.simulator.receivedCount
            let began = ContinuousClock.now
            for number in 1...20 {
                try await stack.set(
                    "order-12345", "ready", people: ["alice"],
                    [
                        "state": [
                            "status": "ready", "progress": .number(JSONNumber(Double(number) / 100) ?? JSONNumber(0)),
                        ]
                    ])
            }
            try await stack.simulator.wait(for: phone, timeout: .seconds(90)) {
                $0.cards.first?.contentState["progress"]?.double == 0.2
            }
            // One push at the beginning of each window of a second, and the last one.
            let windows = Int((ContinuousClock.now - began) / .seconds(1)) + 2
            #expect(stack.simulator.receivedCount - before <= windows)
            stack.sentNothingAhead(after: before)
        }
    }

    @Test func `B8: at most one push of priority 10 a minute, the second goes at once at 5`() async throws {
        try await Stack.run { stack in
            let phone = try await stack.phone("alice")
            try await stack.set("order-12345", "preparing", people: ["alice"])
            try await stack.reported(phone)
            try await stack.device("alice", of: "order-12345", "is live") { $0.state == "live" }
            for status in ["ready", "picked_up", "delivering"] {
                try await stack.set("order-12345", status, people: ["alice"], ["priority": "high"])
                try await stack.shows(status, on: phone)
            }
            let priorities = stack.simulator.received.filter { $0.event == "update" }.map { $0.priority ?? "" }
            #expect(priorities == ["10", "5", "5"])
        }
    }

    private func startLocally(_ stack: Stack, _ phone: PhoneID) async throws -> String {
        try await stack.startLocally(
            .init(
                attributesType: "OrderTrackingAttributes",
                attributes: ["orderId": "order-12345", "restaurant": "Da Mario"],
                contentState: ["status": "preparing", "progress": 0.2], activity: "order-12345"), on: phone)
    }
}
