import APNSModel
import APNSSimulator
import JSONText
import LiveActivityAPI
import Testing

@testable import islet

/// Failures that users of comparable software met, and false claims of the studied backends, replayed on phones where
/// no other test covers them. `docs/systems.md` has the whole list.
@Suite(.serialized) struct IncidentTests {
    @Test func `L3: changes while a phone is away and has no update token make one card, with the newest state`()
        async throws
    {
        try await Stack.run { stack in
            let phone = try await stack.phone("alice")
            try stack.simulator.perform(.offline, on: phone)
            for status in ["preparing", "ready", "picked_up"] { try await stack.set("o1", status, people: ["alice"]) }
            try await stack.device("alice", of: "o1", "has an open start") { $0.state == "unconfirmed" }
            let answer = try await stack.set("o1", "delivering", people: ["alice"])
            #expect(answer.phones == .init(start: 0, update: 0, pending: 1, none: 0))
            try stack.simulator.perform(.online, on: phone)
            try await stack.shows("delivering", on: phone)
            #expect(stack.simulator.received.filter { $0.event == "start" }.count == 1)
        }
    }

    @Test func `L5: a start that APNs took and the phone's budget swallowed never counts as shown`() async throws {
        var options = Stack.Options()
        options.deviceLimits.startsPerHour = 0
        try await Stack.run(options) { stack in
            let phone = try await stack.phone("alice")
            try await stack.set("o1", "preparing", people: ["alice"])
            let device = try await stack.device("alice", of: "o1", "was sent a start") {
                $0.lastDelivery?.status == 200
            }
            #expect(device.state == "unconfirmed" && device.confirmation != .held)
            #expect(try stack.simulator.lockScreen(of: phone).cards.isEmpty)
            #expect(try stack.simulator.deviceLog(of: phone).contains { $0.code == .pushToStartBudget })
            let answer = try await stack.set("o1", "ready", people: ["alice"])
            #expect(answer.phones.start == 0 && answer.phones.pending == 1, "and no second start follows")
        }
    }

    @Test func `L7: a push-to-start token that iOS replaced in silence costs one refusal, and the new one starts`()
        async throws
    {
        try await Stack.run { stack in
            let phone = try await stack.phone("alice") { $0.startsWantedCards = false }
            try stack.simulator.perform(.forceQuit, on: phone)
            try stack.simulator.perform(.rotatePushToStartToken, on: phone)
            try await stack.set("o1", "preparing", people: ["alice"])
            try await stack.device("alice", of: "o1", "has a dead token") {
                $0.reason.code == "push-to-start-token-dead"
            }
            try stack.simulator.perform(.foreground, on: phone)
            try await stack.shows("preparing", on: phone)
            let starts = stack.simulator.received.filter { $0.event == "start" }
            #expect(starts.map { $0.status } == [410, 200])
        }
    }

    @Test func `L10: callers cannot set a timestamp, and pushes of one second have growing ones`() async throws {
        try await Stack.run { stack in
            let phone = try await stack.phone("alice")
            await #expect(throws: JSONCaller.Refusal.self) {
                try await stack.set("o1", "preparing", people: ["alice"], ["timestamp": 1_700_000_000_000])
            }
            for status in ["preparing", "ready", "picked_up"] {
                try await stack.set("o1", status, people: ["alice"])
                try await stack.shows(status, on: phone)
                try await stack.reported(phone)
            }
            let stamps = stack.simulator.received.compactMap(\.timestamp)
            #expect(stamps.count == stack.simulator.received.count && stamps == Array(Set(stamps)).sorted())
        }
    }

    @Test func `L11: a stale date that is past is refused at the door, so that no card is made that nobody sees`()
        async throws
    {
        try await Stack.run { stack in
            let phone = try await stack.phone("alice")
            let error = await #expect(throws: JSONCaller.Refusal.self) {
                try await stack.set("o1", "preparing", people: ["alice"], ["staleAt": 1_700_000_000])
            }
            #expect(error?.status == 422 && error?.detail.contains("staleAt") == true)
            try await stack.set("o1", "ready", people: ["alice"], ["staleAfter": "10s"])
            try await stack.simulator.wait(for: phone, timeout: .seconds(60)) {
                $0.cards.count == 1 && $0.cards[0].state == .stale
            }
            #expect(try stack.simulator.deviceLog(of: phone).allSatisfy { $0.code != .staleAtStart })
        }
    }

    @Test func `L20: a token of the other environment is tried there once, and stays there`() async throws {
        var options = Stack.Options()
        options.environments = [.sandbox, .production]
        try await Stack.run(options) { stack in
            let phone = try await stack.phone("alice") { $0.isOnline = false }
            // A backend that registers the phone by hand and does not know its environment.
            let token = try #require(stack.simulator.tokens(of: phone).pushToStart)
            try await stack.islet.call(
                .PUT, "/v1/devices/by-hand", ["user": "bob", "osVersion": "18.2", "activitiesEnabled": true])
            try await stack.islet.call(
                .PUT, "/v1/devices/by-hand/push-to-start-tokens/OrderTracking", ["token": .string(token.hex)])
            try await stack.set("o1", "preparing", people: ["bob"])
            try await stack.device("by-hand", of: "o1", "was started") { $0.state == "unconfirmed" }
            let pushes = stack.simulator.received
            #expect(pushes.map(\.environment) == [.production, .sandbox])
            #expect(pushes.map { $0.status } == [400, 200])
            #expect(try await stack.timeline("o1").contains { $0.code == "other-environment" })
        }
    }

    @Test func `L24: the next person on a phone never sees the card of the one before`() async throws {
        try await Stack.run { stack in
            let phone = try await stack.phone("alice")
            try await stack.set("o1", "preparing", people: ["alice"])
            try await stack.shows("preparing", on: phone)
            try await stack.reported(phone)
            try stack.simulator.perform(.signIn(user: "bob"), on: phone)
            try await stack.reported(phone)
            try await stack.simulator.wait(for: phone, timeout: .seconds(60)) { $0.running.isEmpty }
            let count = stack.simulator.receivedCount
            try await stack.set("o1", "ready", people: ["alice"])
            try await stack.set("o2", "ready", people: ["bob"])
            try await stack.simulator.wait(for: phone, timeout: .seconds(60)) { screen in
                screen.running.count == 1 && screen.running[0].attributes["orderId"] == "o2"
            }
            #expect(stack.simulator.received.filter { $0.number > count }.map(\.event) == ["start"])
        }
    }

    @Test func `I11: a 410 on a card's token is the end of that card alone: the phone goes on`() async throws {
        try await Stack.run { stack in
            let phone = try await stack.phone("alice")
            try await stack.set("o1", "preparing", people: ["alice"])
            try await stack.shows("preparing", on: phone)
            try await stack.reported(phone)
            var rule = FaultRule(.refuse(status: 410, reason: "Unregistered"))
            rule.count = 1
            rule.event = "update"
            stack.simulator.faults = [rule]
            try await stack.set("o1", "ready", people: ["alice"])
            try await stack.device("alice", of: "o1", "is gone") { $0.state == "gone" }
            try await stack.set("o2", "preparing", people: ["alice"])
            try await stack.simulator.wait(for: phone, timeout: .seconds(60)) { screen in
                screen.cards.contains { $0.attributes["orderId"] == "o2" }
            }
        }
    }

    @Test(arguments: [("5.0", "1"), ("5", "1.0"), ("50e-1", "1e0")])
    func `I14: numbers decode as the Swift type has them, with or without a point`(
        eta: String, progress: String
    )
        async throws
    {
        try await Stack.run { stack in
            let phone = try await stack.phone("alice")
            let state = try JSONValue(parsing: #"{"status":"ready","progress":\#(progress),"eta":\#(eta)}"#)
            try await stack.set("o1", "ready", people: ["alice"], ["state": state])
            let screen = try await stack.shows("ready", on: phone)
            #expect(screen.cards[0].contentState["eta"]?.double == 5)
            #expect(screen.cards[0].contentState["progress"]?.double == 1)
        }
    }

    @Test func `I30: two activities of one phone have a token each, and neither's push goes to the other`() async throws
    {
        try await Stack.run { stack in
            let phone = try await stack.phone("alice")
            for order in ["o1", "o2"] {
                try await stack.set(order, "preparing", people: ["alice"])
                try await stack.device("alice", of: order, "is live") { $0.state == "live" }
            }
            let tokens = try stack.simulator.lockScreen(of: phone).cards.compactMap { $0.token?.masked }
            #expect(Set(tokens).count == 2)
            try await stack.set("o2", "ready", people: ["alice"])
            let screen = try await stack.simulator.wait(for: phone, timeout: .seconds(60)) { screen in
                screen.cards.contains { $0.contentState["status"] == "ready" }
            }
            let changed = screen.cards.filter { $0.contentState["status"] == "ready" }
            #expect(changed.map { $0.attributes["orderId"] } == ["o2"])
            #expect(stack.simulator.received.last?.token == changed.first?.token?.masked)
        }
    }
}
