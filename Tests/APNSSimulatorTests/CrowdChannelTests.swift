import APNSModel
import JSONText
import Testing

@testable import APNSSimulator

/// Members of a crowd whose cards are on broadcast channels.
struct CrowdChannelTests {
    private static func channel(_ text: String = "abcd") throws -> ChannelID { try #require(ChannelID(text)) }

    private static func push(
        _ event: String, at timestamp: UInt32, _ step: String, on channel: ChannelID? = nil
    ) throws -> CrowdPush {
        var push = CrowdPush(kind: event == "start" ? .pushToStart : .update, event: event, priority: 5)
        push.timestamp = timestamp
        push.state = try CrowdTests.digest(Fixture.state(step))
        push.canStart = event == "start"
        push.channel = channel
        return push
    }

    @Test
    func `a start puts a member on its channel, and one broadcast changes all who are there`() throws {
        var crowd = Crowd(CrowdTests.crowd(4))
        let (channel, another) = (try Self.channel(), try Self.channel("wxyz"))
        let channels: [ChannelID?] = [channel, channel, nil, another]
        for (member, own) in channels.enumerated() {
            _ = crowd.receive(try Self.push("start", at: 1, "cooking", on: own), member: member)
        }
        let update = try Self.push("update", at: 2, "delivering")
        let wait = crowd.add(7, CrowdWait(state: update.state, members: 2))
        let over = crowd.receive(broadcast: update, of: channel)
        #expect(wait && over == [7])
        #expect((0..<4).map { crowd.member($0)?.timestamp } == [2, 2, 1, 1])
        #expect((crowd.totals.broadcasts, crowd.totals.updates, crowd.totals.accepted) == (1, 2, 4))
        // An older broadcast is ignored, and the end ends every card of the channel.
        _ = crowd.receive(broadcast: update, of: channel)
        #expect(crowd.totals.staleIgnored == 2)
        _ = crowd.receive(broadcast: try Self.push("end", at: 3, "delivered"), of: channel)
        #expect((crowd.totals.ends, crowd.totals.running) == (2, 2))
        // Those cards are over.
        _ = crowd.receive(broadcast: try Self.push("update", at: 4, "cooking"), of: channel)
        #expect((crowd.totals.updates, crowd.totals.dropped) == (2, 0))
    }

    @Test
    func `a card on a channel has no update token, and the next one may have`() throws {
        var crowd = Crowd(CrowdTests.crowd(2))
        let channel = try Self.channel()
        crowd.startCards(1..<2, on: channel)
        #expect(crowd.totals.running == 1 && crowd.totals.starts == 0)
        let update = try Self.push("update", at: 5, "delivering")
        _ = crowd.receive(update, member: 1)
        #expect(crowd.totals.dropped == 1)
        _ = crowd.receive(broadcast: update, of: channel)
        #expect(crowd.member(1)?.timestamp == 5 && crowd.member(0)?.timestamp == nil)
        _ = crowd.receive(broadcast: try Self.push("end", at: 6, "delivered"), of: channel)
        _ = crowd.receive(try Self.push("start", at: 7, "cooking"), member: 1)
        _ = crowd.receive(broadcast: try Self.push("update", at: 8, "delivered"), of: channel)
        #expect(crowd.member(1)?.timestamp == 7)
        _ = crowd.receive(try Self.push("update", at: 9, "delivering"), member: 1)
        #expect(crowd.member(1)?.timestamp == 9)
    }

    @Test
    func `a broadcast that nobody follows counts nowhere`() throws {
        var crowd = Crowd(CrowdTests.crowd(1))
        _ = crowd.receive(broadcast: try Self.push("update", at: 1, "delivering"), of: try Self.channel())
        #expect(crowd.totals.broadcasts == 0)
    }

    @Test
    func `APNs passes a broadcast on to the members of its app and its environment alone`() throws {
        let team = Team()
        let authorization = try team.authorization()
        var (world, session) = (World(seed: 3, limits: .init()), ProviderSession())
        world.directory.keys[team.keyID] = team.key()
        var other = CrowdTests.crowd(2, name: "c2")
        other.environment = .production
        for crowd in [CrowdTests.crowd(2), other] { try world.add(crowd) }
        func ask(_ arrival: PushArrival) -> FrontAnswer? {
            var arrival = arrival
            arrival.authorization = authorization
            return world.accept(arrival, session: &session, now: Fixture.start).answer
        }
        var creation = PushArrival(environment: .sandbox, path: "/1/apps/com.acme.pizza/channels")
        creation.isManagement = true
        creation.body = ["message-storage-policy": 1, "push-type": "LiveActivity"]
        creation.bodyBytes = 1
        let id = try #require(ask(creation)?.channelID.flatMap { ChannelID($0) })
        for name in ["c1", "c2"] { try world.startCards(of: name, on: id, members: nil) }
        #expect(throws: SimulatorError.self) { try world.startCards(of: "c1", on: id, members: 1..<3) }
        var broadcast = PushArrival(environment: .sandbox, path: "/4/broadcasts/apps/com.acme.pizza")
        broadcast.channelID = id.text
        broadcast.pushType = "liveactivity"
        broadcast.expiration = "0"
        broadcast.priority = "5"
        broadcast.body = Fixture.updateBody(at: Fixture.start.seconds)
        broadcast.bodyBytes = 1
        #expect(ask(broadcast)?.status == 200)
        let totals = try ["c1", "c2"].map { try world.crowd($0).totals }
        #expect(totals.map(\.broadcasts) == [1, 0] && totals.map(\.updates) == [2, 0])
    }
}
