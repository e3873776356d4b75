import APNSClient
import APNSModel
import Foundation
import JSONText
import LiveActivityAPI
import LiveActivityCore
import Testing

@testable import islet

/// Broadcasts and channels against Apple's endpoints as another author read Apple's documents: one who had seen neither
/// our client nor our simulator. `SecondOpinion.run` checks that no request breaks a rule of Apple's pages.
@Suite(
    .serialized, .timeLimit(.minutes(10)),
    .enabled(
        if: ForeignAPNs.isExpected,
        "Python's h2 or cryptography is missing (Debian's python3-h2 and python3-cryptography)"))
struct SecondOpinionTests {
    private static let alert: JSONObject = [
        "alert": ["id": "close", "title": "Your order is close", "body": "5 minutes"]
    ]

    @Test func `a rule that a request breaks is seen`() async throws {
        try await SecondOpinion.run {
            $0.breaksRule = true
        } _: { opinion in
            let channel = try await opinion.client.channels(of: Stack.bundleID, in: .sandbox).create(storing: .none)
            // Phones ignore a push from so far ahead.
            let payload = try BroadcastPayload.update(
                timestamp: APNSClient.liveTime.wall() + .seconds(9 * 3600),
                contentState: EncodedObject(["status": "ready"]))
            try await opinion.client.broadcast(BroadcastRequest(payload, to: channel))
            #expect(opinion.apns.broadcasts(to: channel.id.text).map(\.violations.count) == [1])
        }
    }

    // MARK: - The life of a channel

    @Test(arguments: MessageStoragePolicy.allCases)
    func `a channel's whole life, from the list before it to its deletion, breaks no rule`(
        storage: MessageStoragePolicy
    ) async throws {
        try await SecondOpinion.run {
            $0.policy.channelStorage = storage
            $0.policy.staleAfter = .seconds(7200)
        } _: { opinion in
            try await opinion.set("order-1", "preparing")
            let channel = try await opinion.startCard(of: "order-1", on: "alice")
            #expect(try await opinion.startCard(of: "order-1", on: "bob") == channel)
            for status in ["ready", "picked_up"] {
                try await opinion.set("order-1", status)
                try await opinion.accepts(status, on: channel)
            }
            try await opinion.set("order-1", "delivering", Self.alert)
            try await opinion.accepts("delivering", on: channel)
            try await opinion.end("order-1", "delivered")
            try await opinion.accepts("delivered", on: channel)
            try await checkRequests(opinion, channel, storage)
            try await opinion.records("broadcast-end", of: "order-1")
            // APNs stores a message for at most 8 hours by the true clock, so with storage no broadcast may leave while
            // the server's clock is ahead.
            if storage == .none { try await repeatsEnds(opinion, channel) }
            opinion.clock.advance(by: .seconds(12 * 3600 + 60))
            try await deletes(opinion, channel)
            #expect(try await opinion.apns.channels().isEmpty)
        }
    }

    private func checkRequests(
        _ opinion: SecondOpinion, _ channel: String, _ storage: MessageStoragePolicy
    ) async throws {
        let management = opinion.apns.requests.filter(\.isManagement)
        #expect(management.map(\.method) == ["GET", "POST"])
        #expect(management.map(\.status) == [200, 201])
        #expect(
            management.last?.body == [
                "message-storage-policy": .number(JSONNumber(storage.rawValue)), "push-type": "LiveActivity",
            ])
        let broadcasts = opinion.apns.broadcasts(to: channel)
        #expect(broadcasts.map(\.shown) == ["ready", "picked_up", "delivering", "delivered"])
        #expect(broadcasts.map(\.event) == ["update", "update", "update", "end"])
        #expect(broadcasts.map(\.hasAlert) == [false, false, true, false])
        let stamps = broadcasts.compactMap(\.timestamp)
        #expect(stamps.count == 4 && zip(stamps, stamps.dropFirst()).allSatisfy { $0 < $1 }, "\(stamps)")
        let now = Int(Date().timeIntervalSince1970)
        let expirations = broadcasts.compactMap(\.expiration)
        #expect(expirations.count == 4)
        let stored = try #require(try await opinion.apns.channels()[channel]?.object?["stored"])
        switch storage {
        case .none:
            #expect(expirations.allSatisfy { $0 == 0 })
            #expect(stored == .null)
        case .mostRecent:
            #expect(expirations.allSatisfy { $0 > now && $0 <= now + 8 * 3600 })
            #expect(stored.object?["aps"]?.object?["event"] == "end")
        }
    }

    /// Checks that the end is sent again after 15 minutes and after 2 more hours.
    private func repeatsEnds(_ opinion: SecondOpinion, _ channel: String) async throws {
        for (count, pause) in [(2, Duration.seconds(901)), (3, Duration.seconds(7201))] {
            opinion.clock.advance(by: pause)
            try await opinion.records("broadcast-end", count, of: "order-1")
            let ends = opinion.apns.broadcasts(to: channel).filter { $0.event == "end" }
            #expect(ends.count == count && ends.allSatisfy { $0.shown == "delivered" && !$0.hasAlert })
        }
    }

    private func deletes(_ opinion: SecondOpinion, _ channel: String) async throws {
        try await Waiting.until("the channel is deleted", within: .seconds(60)) {
            opinion.apns.requests.contains { $0.method == "DELETE" && $0.channel == channel && $0.status == 204 }
        }
    }

    @Test func `a channel on which no card is has no use after the end, and is deleted at once`() async throws {
        try await SecondOpinion.run { opinion in
            try await opinion.set("order-1", "preparing")
            try await opinion.register("alice")
            try await Waiting.until("there is a channel", within: .seconds(60)) {
                try await opinion.report("requesting", of: "order-1", on: "alice")?.channel != nil
            }
            let channel = try #require(opinion.apns.creations.first?.channel)
            try await opinion.report("notStarted", of: "order-1", on: "alice")
            try await opinion.end("order-1", "delivered")
            try await deletes(opinion, channel)
            #expect(opinion.apns.broadcasts(to: channel).isEmpty)
        }
    }

    // MARK: - Trouble

    @Test(arguments: [(429, "TooManyRequests"), (500, "InternalServerError"), (503, "ServiceUnavailable")])
    func `what APNs refuses for a while is tried again, and the last state arrives`(
        status: Int, reason: String
    ) async throws {
        let refusal: JSONObject = ["status": .number(JSONNumber(status)), "reason": .string(reason), "times": 2]
        try await SecondOpinion.run { opinion in
            // The channels have been listed, so the next call is a creation.
            try await opinion.set("order-0", "preparing")
            try await opinion.startCard(of: "order-0", on: "alice")
            try await opinion.refuse(refusal, at: "manage")
            try await opinion.set("order-1", "preparing")
            let channel = try await opinion.startCard(of: "order-1", on: "alice")
            #expect(opinion.apns.creations.map(\.status) == [201, status, status, 201])

            try await opinion.refuse(refusal, at: "send")
            try await opinion.set("order-1", "ready")
            try await Waiting.until("a broadcast is refused", within: .seconds(60)) {
                opinion.apns.broadcasts(to: channel).contains { $0.reason == reason }
            }
            try await opinion.set("order-1", "picked_up")
            try await opinion.accepts("picked_up", on: channel)
            #expect(opinion.apns.broadcasts(to: channel).count { $0.status == status } == 2)
        }
    }

    @Test(arguments: ["before", "after"])
    func `a creation without an answer is looked up in the list, and no second channel is made`(
        when: String
    ) async throws {
        try await SecondOpinion.run { opinion in
            try await opinion.set("order-0", "preparing")
            let other = try await opinion.startCard(of: "order-0", on: "alice")
            try await opinion.apns.command("drop-next", ["listener": "manage", "when": .string(when)])
            try await opinion.set("order-1", "preparing")
            try await opinion.register("alice")
            try await opinion.report("requesting", of: "order-1", on: "alice")
            try await opinion.records("channel-made", of: "order-1")
            let lost = try #require(opinion.apns.creations.last)
            #expect(lost.status == nil && lost.reason == "dropped-\(when)")
            // No call of the creation can be on its way any more.
            opinion.clock.advance(by: ClaimChannels.lease + .seconds(5))
            let channel = try await opinion.startCard(of: "order-1", on: "alice")
            #expect(lost.channel == nil || lost.channel == channel)
            #expect(opinion.apns.creations.count == (when == "after" ? 2 : 3))
            let channels = try await opinion.apns.channels()
            #expect(Set(channels.keys) == [other, channel])
        }
    }

    @Test(arguments: ["before", "after"])
    func `a broadcast without an answer is sent again, without its alert`(when: String) async throws {
        try await SecondOpinion.run { opinion in
            try await opinion.set("order-1", "preparing")
            let channel = try await opinion.startCard(of: "order-1", on: "alice")
            try await opinion.apns.command("drop-next", ["listener": "send", "when": .string(when)])
            try await opinion.set("order-1", "ready", Self.alert)
            try await opinion.accepts("ready", on: channel)
            let broadcasts = opinion.apns.broadcasts(to: channel)
            #expect(broadcasts.map(\.reason) == ["dropped-\(when)", nil])
            #expect(broadcasts.map(\.hasAlert) == [true, false])
        }
    }

    @Test func `connections that APNs closes with GOAWAY lose no state and repeat no alert`() async throws {
        try await SecondOpinion.run {
            // Calls are open when GOAWAY comes.
            $0.arguments = ["--delay", "0.2"]
        } _: { opinion in
            try await opinion.set("order-1", "preparing")
            let channel = try await opinion.startCard(of: "order-1", on: "alice")
            for (number, status) in ["ready", "picked_up", "delivering", "ready"].enumerated() {
                try await opinion.set("order-1", status, number == 1 ? Self.alert : [:])
                try await opinion.goAway("send")
                try await opinion.accepts(status, on: channel)
            }
            #expect(opinion.apns.broadcasts(to: channel).count(where: \.hasAlert) == 1)
            try await opinion.goAway("manage")
            try await opinion.set("order-2", "preparing")
            #expect(try await opinion.startCard(of: "order-2", on: "alice") != channel)
        }
    }

    @Test func `with one stream at a time, the broadcasts of several channels wait for each other`() async throws {
        try await SecondOpinion.run {
            $0.arguments = ["--delay", "0.1"]
        } _: { opinion in
            for listener in ["send", "manage"] {
                try await opinion.apns.command("limit-streams", ["listener": .string(listener), "max": 1])
            }
            let orders = (1...4).map { "order-\($0)" }
            var channels: [String] = []
            for order in orders {
                try await opinion.set(order, "preparing")
                channels.append(try await opinion.startCard(of: order, on: "alice"))
            }
            #expect(Set(channels).count == orders.count)
            for status in ["ready", "picked_up", "delivering"] {
                for order in orders { try await opinion.set(order, status) }
            }
            for channel in channels { try await opinion.accepts("delivering", on: channel) }
        }
    }

    // MARK: - Channels that are not there

    @Test func `cards on a channel that APNs has forgotten get nothing more, and later cards get another one`()
        async throws
    {
        try await SecondOpinion.run { opinion in
            try await opinion.set("order-1", "preparing")
            let first = try await opinion.startCard(of: "order-1", on: "alice")
            let answer = try await opinion.apns.command("forget-channel", ["channel": .string(first)])
            #expect(answer["found"] == true)
            try await opinion.set("order-1", "ready")
            try await Waiting.until("the server knows that the channel is gone", within: .seconds(60)) {
                try await opinion.timeline("order-1").contains { $0.code == "channel-gone" }
            }
            #expect(opinion.apns.broadcasts(to: first).map(\.reason) == ["ChannelNotRegistered"])
            let second = try await opinion.startCard(of: "order-1", on: "bob")
            #expect(second != first)
            try await opinion.set("order-1", "picked_up")
            try await opinion.accepts("picked_up", on: second)
            #expect(opinion.apns.broadcasts(to: first).count == 1)
        }
    }

    @Test func `an app without the Broadcast Capability has cards with update tokens`() async throws {
        let token = String(repeating: "80a1", count: 40)
        try await SecondOpinion.run {
            $0.policy.delivery = .auto
            $0.policy.join = .open
            $0.arguments = ["--feature-not-enabled", Stack.bundleID.text]
        } _: { opinion in
            try await opinion.set("order-1", "preparing")
            try await opinion.register("alice")
            try await opinion.report("requesting", of: "order-1", on: "alice")
            try await Waiting.until("the list of channels is refused", within: .seconds(60)) {
                opinion.apns.requests.contains { $0.isManagement && $0.reason == "FeatureNotEnabled" }
            }
            let desired = try #require(try await opinion.report("requesting", of: "order-1", on: "alice"))
            #expect(desired.attributes != nil && desired.channel == nil)
            try await opinion.report("active", of: "order-1", on: "alice", ["token": .string(token)])
            try await opinion.set("order-1", "ready")
            try await Waiting.until("the card is sent a push of its own", within: .seconds(60)) {
                opinion.apns.requests.contains { $0.path == "/3/device/\(token)" && $0.shown == "ready" }
            }
            #expect(opinion.apns.creations.isEmpty)
        }
    }

    @Test func `a creation that APNs refuses is in the timeline with APNs's reason`() async throws {
        try await SecondOpinion.run {
            $0.policy.delivery = .auto
            $0.policy.join = .open
        } _: { opinion in
            try await opinion.set("order-0", "preparing")
            try await opinion.startCard(of: "order-0", on: "alice")
            try await opinion.refuse(["status": 400, "reason": "FeatureNotEnabled"], at: "manage")
            try await opinion.set("order-1", "preparing")
            try await opinion.report("requesting", of: "order-1", on: "alice")
            try await opinion.records("channel-made", of: "order-1")
            let entry = try await opinion.timeline("order-1").first { $0.kind == "channel-made" }
            #expect(entry?.code == "channel-refused" && entry?.status == 400)
            #expect(entry?.text.contains("FeatureNotEnabled") == true)
            let desired = try #require(try await opinion.report("requesting", of: "order-1", on: "alice"))
            #expect(desired.attributes != nil && desired.channel == nil)
        }
    }
}

extension SecondOpinion {
    /// Has a listener refuse its next calls.
    fileprivate func refuse(_ refusal: JSONObject, at listener: String) async throws {
        var order = refusal
        order["listener"] = .string(listener)
        try await apns.command("refuse-next", order)
    }

    /// Has a listener close its connections with GOAWAY.
    fileprivate func goAway(_ listener: String) async throws {
        try await apns.command("goaway", ["listener": .string(listener)])
    }
}
