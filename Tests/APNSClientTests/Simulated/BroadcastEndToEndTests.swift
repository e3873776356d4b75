import APNSClient
import APNSModel
import APNSSimulator
import JSONText
import Testing

/// Channels from their creation to the lock screen, over real TLS and HTTP/2.
@Suite(.timeLimit(.minutes(5))) struct BroadcastEndToEndTests {
    struct MatchAttributes: SimulatedActivityAttributes {
        struct ContentState: Codable, Hashable, Sendable { var score: String }
        var match: String
    }

    private static func state(_ score: String) -> EncodedObject { EncodedObject(["score": .string(score)]) }

    private static func update(_ score: String, at seconds: Int64 = 0) throws -> BroadcastPayload {
        try .update(
            timestamp: UnixTime(seconds: APNSClient.liveTime.wall().seconds + seconds), contentState: state(score))
    }

    /// Adds a phone whose card listens to the channel.
    private static func fan(_ simulator: APNSSimulator, _ name: String, _ channel: ChannelID) throws -> PhoneID {
        var specification = PhoneSpecification(user: name, bundleID: try SimulatedAPNS.bundleID())
        specification.installs(MatchAttributes.self)
        specification.appState = .foreground
        let phone = try simulator.addPhone(specification)
        try simulator.perform(
            .startLocally(
                .init(
                    attributesType: "MatchAttributes", attributes: ["match": "final"],
                    contentState: ["score": "0:0"], channel: channel)), on: phone)
        return phone
    }

    private static func score(_ simulator: APNSSimulator, _ phone: PhoneID) throws -> JSONValue? {
        try simulator.lockScreen(of: phone).cards.first?.contentState["score"]
    }

    private static func error(_ body: () async throws(BroadcastError) -> Void) async -> BroadcastError? {
        do throws(BroadcastError) {
            try await body()
            return nil
        } catch {
            return error
        }
    }

    @Test func `a channel is made, read, listed and deleted, and then it is gone`() async throws {
        let key = SimulatedAPNS.Key()
        try await SimulatedAPNS.run([key]) { apns in
            try await apns.withClient([try apns.route(key)]) { client in
                let bundleID = try SimulatedAPNS.bundleID()
                let channels = client.channels(of: bundleID, in: .sandbox)
                #expect(try await channels.list().isEmpty)
                let first = try await channels.create(storing: .none)
                let second = try await channels.create(storing: .mostRecent)
                #expect(first.id != second.id && first.policy == .none && second.policy == .mostRecent)
                #expect(try await channels.read(first.id) == first)
                #expect(try await channels.read(second.id) == second)
                #expect(try await channels.list() == [first.id, second.id])
                #expect(apns.simulator.channels(of: bundleID, in: .sandbox) == [first, second])
                try await channels.delete(first.id)
                #expect(try await channels.list() == [second.id])
                for _ in 0..<2 {
                    let gone = await Self.error { () async throws(BroadcastError) in
                        _ = try await channels.read(first.id)
                    }
                    #expect(gone?.isChannelGone == true && gone?.requestID != nil)
                }
                let again = await Self.error { () async throws(BroadcastError) in
                    try await channels.delete(first.id)
                }
                #expect(again?.code == .refused(status: 400, reason: .known(.channelNotRegistered)))
            }
        }
    }

    @Test func `one broadcast changes the card of everybody who subscribed, and nobody else's`() async throws {
        let key = SimulatedAPNS.Key()
        try await SimulatedAPNS.run([key]) { apns in
            let simulator = apns.simulator
            try await apns.withClient([try apns.route(key)]) { client in
                let channels = client.channels(of: try SimulatedAPNS.bundleID(), in: .sandbox)
                let (final, other) = (
                    try await channels.create(storing: .none), try await channels.create(storing: .none)
                )
                let fans = try (1...20).map { try Self.fan(simulator, "fan-\($0)", final.id) }
                let stranger = try Self.fan(simulator, "stranger", other.id)
                #expect(try simulator.lockScreen(of: fans[0]).cards.first?.token == nil)
                let goal = try BroadcastRequest(Self.update("1:0"), to: final, id: .random())
                #expect(try await client.broadcast(goal) == goal.id)
                for fan in fans { #expect(try Self.score(simulator, fan) == "1:0") }
                #expect(try Self.score(simulator, stranger) == "0:0")
                let whistle = try BroadcastPayload.end(
                    timestamp: APNSClient.liveTime.wall(), contentState: Self.state("2:0"), dismissal: .systemDefault)
                try await client.broadcast(BroadcastRequest(whistle, to: final, priority: .low))
                for fan in fans {
                    let card = try #require(try simulator.lockScreen(of: fan).cards.first)
                    #expect(card.state == .ended && card.contentState["score"] == "2:0")
                }
                #expect(simulator.received.map(\.channel) == [final.id.text, final.id.text])
            }
        }
    }

    @Test func `a phone that was away gets the most recent message of a channel that keeps it, once`() async throws {
        let key = SimulatedAPNS.Key()
        try await SimulatedAPNS.run([key]) { apns in
            let simulator = apns.simulator
            try await apns.withClient([try apns.route(key)]) { client in
                let channels = client.channels(of: try SimulatedAPNS.bundleID(), in: .sandbox)
                let keeping = try await channels.create(storing: .mostRecent)
                let forgetting = try await channels.create(storing: .none)
                let (kept, lost) = (
                    try Self.fan(simulator, "kept", keeping.id), try Self.fan(simulator, "lost", forgetting.id)
                )
                for phone in [kept, lost] { try simulator.perform(.offline, on: phone) }
                let until = APNSClient.liveTime.wall() + .seconds(3_600)
                for (score, second) in [("1:0", Int64(0)), ("2:0", 1)] {
                    let payload = try Self.update(score, at: second)
                    try await client.broadcast(BroadcastRequest(payload, to: keeping, storedUntil: until))
                    try await client.broadcast(BroadcastRequest(payload, to: forgetting))
                }
                for phone in [kept, lost] { try simulator.perform(.online, on: phone) }
                #expect(try Self.score(simulator, kept) == "2:0")
                #expect(try Self.score(simulator, lost) == "0:0")
                #expect(try simulator.deviceLog(of: lost).count { $0.code == .notStored } == 2)
            }
        }
    }

    @Test func `a push-to-start that names a channel subscribes the phone it starts`() async throws {
        let key = SimulatedAPNS.Key()
        try await SimulatedAPNS.run([key]) { apns in
            let (simulator, route) = (apns.simulator, try apns.route(key))
            try await apns.withClient([route]) { client in
                let channel = try await client.channels(of: route.bundleID, in: .sandbox).create(storing: .none)
                var specification = PhoneSpecification(user: "ann", bundleID: route.bundleID)
                specification.installs(MatchAttributes.self)
                let phone = try simulator.addPhone(specification)
                let start = try StartPayload(
                    timestamp: APNSClient.liveTime.wall(), attributesType: "MatchAttributes",
                    attributes: EncodedObject(encoding: MatchAttributes(match: "final")),
                    contentState: Self.state("0:0"), alert: PushAlert(title: "It begins"), input: .channel(channel.id))
                let token = try #require(try simulator.tokens(of: phone).pushToStart)
                try await client.send(.start(start, to: token, route.envelope()))
                try await client.broadcast(BroadcastRequest(Self.update("1:0", at: 1), to: channel))
                #expect(try Self.score(simulator, phone) == "1:0")
            }
        }
    }

    // MARK: Refusals

    @Test func `what Apple refuses comes with Apple's reason`() async throws {
        let (team, narrow) = (
            SimulatedAPNS.Key(), SimulatedAPNS.Key(keyID: "NARROW0001", topics: [try SimulatedAPNS.bundleID("com.a")])
        )
        let bundleID = try SimulatedAPNS.bundleID()
        try await SimulatedAPNS.run(
            [team, narrow],
            {
                $0.channelRules.channelsPerApp = 2
                $0.channelRules.broadcastApps = [bundleID]
            }
        ) { apns in
            let app = try apns.route(team)
            let rest = [
                try apns.route(team, "com.example.other"),
                try apns.route(team, "com.example.pizza.push-type.liveactivity"), try apns.route(narrow, "com.b"),
            ]
            try await apns.withClient([app] + rest) { client in
                let channels = client.channels(of: bundleID, in: .sandbox)
                func reason(_ body: () async throws(BroadcastError) -> Void) async -> BroadcastReason.Known? {
                    await Self.error(body)?.reason
                }
                let kept = try await channels.create(storing: .none)
                _ = try await channels.create(storing: .mostRecent)
                #expect(
                    await reason { () async throws(BroadcastError) in _ = try await channels.create(storing: .none) }
                        == .cannotCreateChannelConfig)
                for (route, expected) in zip(
                    rest, [BroadcastReason.Known.featureNotEnabled, .topicDisallowed, .topicMismatch])
                {
                    #expect(
                        await reason { () async throws(BroadcastError) in
                            _ = try await client.channels(of: route.bundleID, in: .sandbox).list()
                        } == expected)
                }
                // The client believes that the channel keeps messages, and it does not.
                let mistaken = BroadcastChannel(
                    id: kept.id, bundleID: bundleID, environment: .sandbox, policy: .mostRecent)
                let late = try BroadcastRequest(
                    Self.update("1:0"), to: mistaken, storedUntil: UnixTime(seconds: 1_900_000_000))
                #expect(
                    await reason { () async throws(BroadcastError) in _ = try await client.broadcast(late) }
                        == .badExpirationDate)
                try await channels.delete(kept.id)
                let gone = try BroadcastRequest(Self.update("1:0"), to: kept)
                #expect(
                    await reason { () async throws(BroadcastError) in _ = try await client.broadcast(gone) }
                        == .channelNotRegistered)
            }
        }
    }
}
