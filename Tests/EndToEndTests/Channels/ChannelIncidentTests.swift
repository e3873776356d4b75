import APNSModel
import APNSSimulator
import JSONText
import LiveActivityAPI
import LiveActivityCore
import Testing

@testable import islet

/// Failures that users of comparable software met, replayed on cards that are on a broadcast channel.
/// `docs/systems.md` has the whole list.
@Suite(.serialized) struct ChannelIncidentTests {
    private func run(
        _ mode: DeliveryMode = .channel, _ change: (inout TypePolicy) -> Void = { _ in },
        _ body: @escaping @Sendable (Stack) async throws -> Void
    ) async throws {
        var options = Stack.Options()
        options.policy.delivery = mode
        change(&options.policy)
        try await Stack.run(options, body)
    }

    @Test func `L25: fifty viewers cost one request for a state, and a 429 loses no state`() async throws {
        try await run(.auto) { stack in
            let people = (1...DesiredSituation.channelAudience).map { "viewer-\($0)" }
            var phones: [PhoneID] = []
            for person in people { phones.append(try await stack.phone(person)) }
            try await stack.set("match", "preparing", people: people)
            for phone in phones { try await stack.shows("preparing", on: phone) }
            for phone in phones { try await stack.reported(phone) }
            let channels = stack.simulator.channels(of: Stack.bundleID, in: .sandbox)
            #expect(channels.count == 1, "the number of viewers chooses the channel")
            let channel = try #require(channels.first).id
            var rule = FaultRule(.refuse(status: 429, reason: "TooManyRequests"))
            rule.channel = channel
            rule.count = 1
            stack.simulator.faults = [rule]
            let count = stack.simulator.receivedCount
            for status in ["ready", "picked_up", "delivering"] {
                try await stack.set("match", status, people: people)
            }
            for phone in phones { try await stack.shows("delivering", on: phone) }
            let requests = stack.simulator.received.filter { $0.number > count }
            #expect(requests.allSatisfy { $0.channel == channel.text }, "no phone gets a request of its own")
            #expect(requests.count <= 4, "three states and the one that was refused")
            #expect(requests.first?.status == 429 && requests.last?.status == 200)
            let timeline = try await stack.timeline("match")
            #expect(timeline.contains { $0.code == "slow-down" && $0.status == 429 })
        }
    }

    @Test func `L25: more states than a channel takes in a second become fewer, and the last one arrives`() async throws
    {
        try await run { stack in
            // At most one broadcast a second leaves. Two may arrive in one second of the simulator's clock.
            stack.simulator.channelRules.broadcastsPerSecond = 2
            let phone = try await stack.phone("alice")
            try await stack.set("match", "preparing", people: ["alice"])
            try await stack.shows("preparing", on: phone)
            try await stack.reported(phone)
            for eta in 1...30 {
                let state: JSONValue = ["status": "ready", "progress": 0.5, "eta": .number(JSONNumber(eta))]
                try await stack.set("match", "ready", people: ["alice"], ["state": state])
            }
            let screen = try await stack.simulator.wait(for: phone, timeout: .seconds(60)) { screen in
                screen.cards.first?.contentState["eta"]?.int == 30
            }
            #expect(screen.cards.count == 1)
            let statuses = stack.simulator.received.filter { $0.channel != nil }.map(\.status)
            #expect(statuses.count < 30 && statuses.allSatisfy { $0 == 200 }, "\(statuses)")
        }
    }

    @Test(arguments: ["CannotCreateChannelConfig", "FeatureNotEnabled"])
    func `L25: where APNs makes no channel, viewers get each state by token`(reason: String) async throws {
        try await run(.auto, { $0.join = .open }) { stack in
            if reason == "FeatureNotEnabled" {
                stack.simulator.channelRules.broadcastApps = []
            } else {
                stack.simulator.channelRules.channelsPerApp = 0
            }
            let phone = try await stack.phone("alice")
            for status in ["preparing", "ready"] {
                try await stack.set("match", status, people: ["alice"])
                try await stack.shows(status, on: phone)
                try await stack.reported(phone)
            }
            let card = try #require(try stack.simulator.lockScreen(of: phone).cards.first)
            #expect(card.token != nil && card.channel == nil)
            #expect(stack.simulator.received.allSatisfy { $0.status == 200 && $0.channel == nil })
        }
    }

    @Test func `L4: on a channel nobody has to tap Allow, and one start brings a card every state`() async throws {
        try await run { stack in
            let phone = try await stack.phone("alice") { $0.asksToAllow = true }
            try await stack.set("order-1", "preparing", people: ["alice"])
            try await stack.shows("preparing", on: phone)
            try await stack.reported(phone)
            for status in ["ready", "picked_up"] {
                try await stack.set("order-1", status, people: ["alice"])
                try await stack.shows(status, on: phone)
            }
            try await stack.end("order-1", ["state": ["status": "delivered", "progress": 1]])
            try await stack.shows("delivered", on: phone, state: .ended)
            #expect(try stack.simulator.deviceLog(of: phone).allSatisfy { $0.code != .tokenWithheld })
            #expect(stack.simulator.received.filter { $0.phone == phone }.map(\.event) == ["start"])
        }
    }

    /// The start is in APNs's store when the states after it are broadcast, so the phone subscribes late. Whether APNs
    /// then sends the stored message is an open point, and must not matter.
    @Test(arguments: [false, true])
    func `L3 and L12: a phone that was off during its start shows one card, with the newest state`(
        lateSubscribersGetStored: Bool
    ) async throws {
        try await run { stack in
            stack.simulator.channelRules.lateSubscribersGetStored = lateSubscribersGetStored
            let phone = try await stack.phone("alice")
            try stack.simulator.perform(.offline, on: phone)
            try await stack.set("order-1", "preparing", people: ["alice"])
            try await stack.simulator.waitForPushes(timeout: .seconds(60)) { pushes in
                pushes.contains { $0.event == "start" && $0.status == 200 }
            }
            for status in ["ready", "picked_up"] { try await stack.set("order-1", status, people: ["alice"]) }
            try await stack.simulator.waitForPushes(timeout: .seconds(60)) { pushes in
                pushes.contains { $0.channel != nil && $0.status == 200 }
            }
            try stack.simulator.perform(.online, on: phone)
            let screen = try await stack.shows("picked_up", on: phone)
            #expect(screen.cards[0].alert != nil && screen.cards[0].channel != nil)
            let starts = stack.simulator.received.filter { $0.event == "start" }
            #expect(starts.count == 1)
            #expect(starts.allSatisfy { $0.expiration != nil && $0.expiration != "0" })
        }
    }

    @Test func `a channel that APNs forgets is replaced for later cards, and its own follow when the app is opened`()
        async throws
    {
        try await run { stack in
            let alice = try await stack.phone("alice")
            try await stack.set("order-1", "preparing", people: ["alice"])
            try await stack.shows("preparing", on: alice)
            try await stack.reported(alice)
            let old = try #require(stack.simulator.channels(of: Stack.bundleID, in: .sandbox).first).id
            try stack.simulator.forgetChannel(old)
            try await stack.set("order-1", "ready", people: ["alice"])
            try await Waiting.until("the channel is known to be gone", within: .seconds(60)) {
                try await stack.timeline("order-1").contains { $0.code == "channel-gone" }
            }
            #expect(try stack.simulator.lockScreen(of: alice).cards.first?.contentState["status"] == "preparing")
            try stack.simulator.perform(.foreground, on: alice)
            try await stack.shows("ready", on: alice)
            let bob = try await stack.phone("bob")
            try await stack.set("order-1", "ready", people: ["alice", "bob"])
            try await stack.shows("ready", on: bob)
            let card = try #require(try stack.simulator.lockScreen(of: bob).cards.first)
            #expect(card.channel != nil && card.channel != old)
        }
    }
}
