import APNSModel
import APNSSimulator
import JSONText
import LiveActivityAPI
import LiveActivityDelivery
import Testing

@testable import islet

/// Consequences of each answer of APNs (B10), seen on the lock screen and in the timeline.
@Suite(.serialized) struct AnswerTests {
    @Test(arguments: [
        (429, "TooManyRequests", "slow-down"), (503, "ServiceUnavailable", "service-trouble"),
        (500, "InternalServerError", "service-trouble"),
    ])
    func `B10: a refusal that passes is repeated with the newest state, and the timeline says so`(
        status: Int, reason: String, code: String
    ) async throws {
        try await Stack.run { stack in
            let phone = try await liveOrder(stack)
            var rule = FaultRule(.refuse(status: status, reason: reason))
            rule.count = 1
            stack.simulator.faults = [rule]
            try await stack.set("o1", "ready", people: ["alice"])
            try await stack.set("o1", "picked_up", people: ["alice"])
            try await stack.shows("picked_up", on: phone)
            try await stack.device("alice", of: "o1", "has the newest") { $0.revision == 3 }
            let timeline = try await stack.timeline("o1")
            #expect(timeline.contains { $0.code == code && $0.status == status })
            #expect(timeline.last { $0.kind == "update" }?.status == 200)
        }
    }

    @Test func `B10: a lost answer is not a lost state: it goes out again, and the alert does not`() async throws {
        var options = Stack.Options()
        options.limits.answerWithin = .seconds(2)
        options.limits.sendWithin = .seconds(1)
        try await Stack.run(options) { stack in
            let phone = try await liveOrder(stack)
            var rule = FaultRule(.loseAnswer(.silence))
            rule.count = 1
            stack.simulator.faults = [rule]
            try await stack.set("o1", "ready", people: ["alice"], ["alert": ["title": "Ready"]])
            try await stack.shows("ready", on: phone)
            try await stack.device("alice", of: "o1", "is known to have it") { $0.revision == 2 }
            let timeline = try await stack.timeline("o1")
            #expect(timeline.contains { $0.code == "unknown-fate" })
            let screen = try stack.simulator.lockScreen(of: phone)
            #expect(screen.cards.count == 1)
            #expect(screen.cards[0].alerts == 2, "the start's own alert, and this one once")
        }
    }

    @Test func `a lost answer to a start never makes a second card`() async throws {
        var options = Stack.Options()
        options.limits.answerWithin = .seconds(2)
        options.limits.sendWithin = .seconds(1)
        try await Stack.run(options) { stack in
            let phone = try await stack.phone("alice") { $0.asksToAllow = true }
            var rule = FaultRule(.loseAnswer(.reset))
            rule.event = "start"
            stack.simulator.faults = [rule]
            try await stack.set("o1", "preparing", people: ["alice"])
            let device = try await stack.device("alice", of: "o1", "has an open start") {
                $0.state == "unconfirmed" || $0.state == "live"
            }
            try await stack.set("o1", "ready", people: ["alice"])
            #expect(device.reason.text.contains("second card") || device.state == "live")
            try stack.simulator.perform(.allow, on: phone)
            try await stack.shows("ready", on: phone)
            #expect(stack.simulator.received.filter { $0.event == "start" }.count == 1)
        }
    }

    @Test func `B10: a dead token is dropped and never pushed to again, and its card counts as gone`() async throws {
        try await Stack.run { stack in
            let phone = try await liveOrder(stack)
            var rule = FaultRule(.refuse(status: 410, reason: "ExpiredToken"))
            rule.count = 1
            stack.simulator.faults = [rule]
            try await stack.set("o1", "ready", people: ["alice"])
            try await stack.device("alice", of: "o1", "is gone") { $0.state == "gone" }
            let count = stack.simulator.receivedCount
            try await stack.set("o1", "picked_up", people: ["alice"])
            #expect(try await stack.device("alice", of: "o1")?.reason.code == "card-gone")
            #expect(stack.simulator.receivedCount == count)
            #expect(try await stack.timeline("o1").contains { $0.code == "token-inactive" && $0.status == 410 })
            _ = phone
        }
    }

    @Test func `B10: a token for the wrong topic is dead, the card waits for another`() async throws {
        try await Stack.run { stack in
            let phone = try await liveOrder(stack)
            var rule = FaultRule(.refuse(status: 400, reason: "DeviceTokenNotForTopic"))
            rule.count = 1
            stack.simulator.faults = [rule]
            try await stack.set("o1", "ready", people: ["alice"])
            try await stack.device("alice", of: "o1", "waits for a token") { $0.reason.code == "update-token-dead" }
            try stack.simulator.perform(.rotateUpdateToken(localID: nil), on: phone)
            try await stack.shows("ready", on: phone)
            #expect(try await stack.timeline("o1").contains { $0.code == "token-wrong-topic" })
        }
    }

    @Test func `a start behind the Allow gate is one card, explained, and gets the newest state at the tap`()
        async throws
    {
        try await Stack.run { stack in
            let phone = try await stack.phone("alice") { $0.asksToAllow = true }
            try await stack.set("o1", "preparing", people: ["alice"])
            try await stack.shows("preparing", on: phone)
            try await stack.set("o1", "ready", people: ["alice"])
            try await stack.set("o1", "picked_up", people: ["alice"])
            let device = try await stack.device("alice", of: "o1", "waits for Allow") {
                $0.reason.code == "start-unconfirmed" || $0.reason.code == "waiting-for-update-token"
            }
            #expect(!device.reason.text.isEmpty)
            try stack.simulator.perform(.allow, on: phone)
            try await stack.shows("picked_up", on: phone)
            #expect(stack.simulator.received.filter { $0.event == "start" }.count == 1)
        }
    }

    @Test func `B10: a refused key halts, keeps the work, and says so`() async throws {
        try await Stack.run { stack in
            let phone = try await liveOrder(stack)
            stack.simulator.faults = [FaultRule(.refuse(status: 403, reason: "InvalidProviderToken"))]
            try await stack.set("o1", "ready", people: ["alice"])
            try await Waiting.until("the halt is said", within: .seconds(60)) {
                try await stack.view("o1").reason?.code == "halted"
            }
            #expect(try await stack.timeline("o1").contains { $0.code == "halted" && $0.status == 403 })
            #expect(try stack.simulator.lockScreen(of: phone).cards[0].contentState["status"]?.string == "preparing")
            #expect(try await stack.device("alice", of: "o1")?.state == "live")
        }
    }

    /// Makes an order on a phone that APNs reaches and whose card is known.
    private func liveOrder(_ stack: Stack) async throws -> PhoneID {
        let phone = try await stack.phone("alice")
        try await stack.set("o1", "preparing", people: ["alice"])
        try await stack.shows("preparing", on: phone)
        try await stack.reported(phone)
        try await stack.device("alice", of: "o1", "is live with the first state") {
            $0.state == "live" && $0.revision == 1
        }
        return phone
    }
}
