import APNSModel
import APNSSimulator
import JSONText
import LiveActivityAPI
import LiveActivityCore
import Testing

@testable import islet

/// Cards on a broadcast channel that the server makes: real HTTP/2 and TLS, and phones by the rules of iOS 18.
@Suite(.serialized) struct ChannelOrderTests {
    private static let people = ["alice", "bob", "carol"]

    private func run(
        _ mode: DeliveryMode = .channel, _ change: (inout TypePolicy) -> Void = { _ in },
        _ body: @escaping @Sendable (Stack) async throws -> Void
    ) async throws {
        var options = Stack.Options()
        options.policy.delivery = mode
        change(&options.policy)
        try await Stack.run(options, body)
    }

    /// Returns the phones of two people, whose cards are on the channel and show the first state.
    private static func aliceAndBob(on stack: Stack) async throws -> (PhoneID, PhoneID) {
        let phones = (try await stack.phone("alice"), try await stack.phone("bob"))
        try await stack.set("order-1", "preparing", people: ["alice", "bob"])
        for phone in [phones.0, phones.1] {
            try await stack.shows("preparing", on: phone)
            try await stack.reported(phone)
        }
        return phones
    }

    @Test func `phones on a channel and one by token show the same states, and the channel costs one push each`()
        async throws
    {
        try await run { stack in
            var phones: [PhoneID] = []
            for person in Self.people { phones.append(try await stack.phone(person)) }
            phones.append(try await stack.phone("dave") { $0.iOS = IOSVersion(17, 4) })
            try await stack.set("order-1", "preparing", people: Self.people + ["dave"])
            for phone in phones { try await stack.shows("preparing", on: phone) }
            for phone in phones { try await stack.reported(phone) }
            let channels = stack.simulator.channels(of: Stack.bundleID, in: .sandbox)
            #expect(channels.count == 1)
            for status in ["ready", "picked_up", "delivering"] {
                try await stack.set("order-1", status, people: Self.people + ["dave"])
                for phone in phones { try await stack.shows(status, on: phone) }
            }
            try await stack.end("order-1", ["state": ["status": "delivered", "progress": 1]])
            for phone in phones { try await stack.shows("delivered", on: phone, state: .ended) }
            let pushes = stack.simulator.received
            #expect(pushes.allSatisfy { $0.status == 200 })
            let single = pushes.filter { $0.phone != nil }
            #expect(single.count { $0.event == "start" } == 4)
            // Of the rest, only the phone by token gets pushes of its own.
            #expect(single.filter { $0.event != "start" }.allSatisfy { $0.phone == phones[3] })
            // The answers of APNs are written when the phones may already show the state.
            try await Waiting.until("the end is in the timeline", within: .seconds(30)) {
                try await stack.timeline("order-1").contains { $0.kind == "broadcast-end" }
            }
            let timeline = try await stack.timeline("order-1")
            #expect(timeline.filter { $0.kind == "channel-made" }.map(\.text) == ["a broadcast channel was made"])
            #expect(timeline.count { $0.kind == "broadcast" } == 3)
            #expect(timeline.count { $0.kind == "broadcast-end" } == 1)
        }
    }

    @Test func `the answer and the view say that a card is on a channel, and what it was sent`() async throws {
        try await run { stack in
            let phone = try await stack.phone("alice")
            try await stack.set("order-1", "preparing", people: ["alice"])
            try await stack.shows("preparing", on: phone)
            try await stack.reported(phone)
            try await stack.set("order-1", "ready", people: ["alice"])
            try await stack.shows("ready", on: phone)
            let view = try await stack.device("alice", of: "order-1", "is told of the channel") {
                $0.reason.code == "channel-up-to-date"
            }
            #expect(view.state == "live")
        }
    }

    @Test func `who leaves the audience keeps the card until the app's next contact, and then it is ended`()
        async throws
    {
        try await run { stack in
            let (alice, bob) = try await Self.aliceAndBob(on: stack)
            try await stack.set("order-1", "ready", people: ["alice"])
            try await stack.shows("ready", on: alice)
            try await stack.shows("ready", on: bob)
            try stack.simulator.perform(.foreground, on: bob)
            _ = try await stack.simulator.wait(for: bob, timeout: .seconds(60)) { screen in
                screen.cards.allSatisfy { $0.state != .active && $0.state != .stale }
            }
            try await stack.set("order-1", "picked_up", people: ["alice"])
            try await stack.shows("picked_up", on: alice)
        }
    }

    @Test func `a phone that was off shows the newest state when it comes back`() async throws {
        try await run { stack in
            let (alice, bob) = try await Self.aliceAndBob(on: stack)
            try stack.simulator.perform(.offline, on: bob)
            for status in ["ready", "picked_up"] {
                try await stack.set("order-1", status, people: ["alice", "bob"])
                try await stack.shows(status, on: alice)
            }
            try stack.simulator.perform(.online, on: bob)
            try await stack.shows("picked_up", on: bob)
        }
    }

    @Test func `with notification, an alert comes to each phone of the audience, and the broadcast is silent`()
        async throws
    {
        try await run {
            $0.channelAlerts = .notification
        } _: { stack in
            let (alice, bob) = try await Self.aliceAndBob(on: stack)
            // Bob's card stays until his app's next contact, and shows what is broadcast. His phone does not ring.
            let alert: JSONValue = ["title": "It is ready", "body": "Table 4"]
            try await stack.set("order-1", "ready", people: ["alice"], ["alert": alert])
            for phone in [alice, bob] { try await stack.shows("ready", on: phone) }
            let screen = try await stack.simulator.wait(for: alice, timeout: .seconds(60)) { !$0.notifications.isEmpty }
            #expect(screen.notifications.map(\.title) == ["It is ready"])
            #expect(try stack.simulator.lockScreen(of: bob).notifications.isEmpty)
            let timeline = try await stack.timeline("order-1")
            #expect(timeline.filter { $0.code == "alert-by-notification" }.count == 1)
            #expect(timeline.filter { $0.kind == "broadcast" }.allSatisfy { $0.alert != true })
        }
    }

    @Test func `an app starts its card on the channel that the answer names`() async throws {
        try await run {
            $0.join = .open
        } _: { stack in
            let first = try await stack.phone("alice")
            try await stack.set("order-1", "preparing", people: ["alice"])
            try await stack.shows("preparing", on: first)
            try await stack.reported(first)
            try await stack.set("order-1", "ready", people: ["alice", "bob"], ["start": "appOnly"])
            try await stack.shows("ready", on: first)
            // Its app may start the card, and asks before it does.
            let second = try await stack.phone("bob") { $0.appState = .foreground }
            try await stack.shows("ready", on: second)
            try await stack.reported(second)
            let card = try #require(stack.simulator.lockScreen(of: second).cards.first)
            #expect(card.token == nil && !card.startedByPush)
            try await stack.set("order-1", "picked_up", people: ["alice", "bob"])
            for phone in [first, second] { try await stack.shows("picked_up", on: phone) }
            #expect(!stack.simulator.received.contains { $0.phone == second })
        }
    }
    @Test func `answer, timeline and diagnosis say why a card is on a channel, and why one has a token`() async throws {
        try await run { stack in
            let alice = try await stack.phone("alice")
            let dave = try await stack.phone("dave") { $0.iOS = IOSVersion(17, 4) }
            for status in ["preparing", "ready"] {
                try await stack.set("order-1", status, people: ["alice", "dave"])
                for phone in [alice, dave] {
                    try await stack.shows(status, on: phone)
                    try await stack.reported(phone)
                }
            }
            let because = "because the phone's iOS or app cannot follow a broadcast channel"
            let onChannel = try await stack.device("alice", of: "order-1", "was sent the state by its channel") {
                $0.reason.code == "channel-up-to-date"
            }
            let channel = try #require(onChannel.channel)
            #expect(onChannel.reason.text.contains(channel))
            let byToken = try await stack.device("dave", of: "order-1", "was sent the state by a push") {
                $0.reason.code == "up-to-date"
            }
            #expect(byToken.channel == nil && byToken.reason.text.hasSuffix(because))

            // The answers of APNs are written when the phones may already show the state.
            try await Waiting.until("both starts are in the timeline", within: .seconds(30)) {
                try await stack.timeline("order-1").count { $0.kind == "start" } == 2
            }
            let starts = try await stack.timeline("order-1").filter { $0.kind == "start" }
            #expect(starts.first { $0.device == "alice" }?.text.contains("on the broadcast channel \(channel)") == true)
            #expect(starts.first { $0.device == "dave" }?.text.contains("an update token, \(because)") == true)

            func diagnosis(_ device: String) async throws -> [DiagnosisAnswer.Finding] {
                try await stack.islet.call(.GET, "/v1/devices/\(device)/diagnosis?activity=order-1")
                    .decode(DiagnosisAnswer.self).findings
            }
            let (hers, his) = (try await diagnosis("alice"), try await diagnosis("dave"))
            #expect(hers.contains { $0.id == "channel-up-to-date" && $0.severity == .note })
            #expect(hers.first { $0.id == "server-channel" }?.evidence["channel"] == JSONValue.string(channel))
            #expect(hers.first { $0.id == "server-channel" }?.evidence["cause"] == "delivery-channel")
            #expect(!hers.contains { ["channel", "update-token-missing", "by-token"].contains($0.id) })
            #expect(his.first { $0.id == "by-token" }?.text.hasSuffix(because) == true)
            #expect(!his.contains { $0.id == "server-channel" })
        }
    }
}
