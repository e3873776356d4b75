import APNSModel
import IsletBasics
import JSONText
import Testing

@testable import APNSSimulator

/// A crowd behind APNs, without a network.
struct CrowdTests {
    static let now = Fixture.start.seconds

    /// A world with one crowd, and a sender with one connection.
    struct Bench {
        var world: World
        var session = ProviderSession()
        var now = Fixture.start
        private let authorization: String

        init(members: Int = 3, limits: World.Limits = .init()) throws {
            let team = Team()
            authorization = try team.authorization()
            world = World(seed: 3, limits: limits)
            world.directory.keys[team.keyID] = team.key()
            try world.add(CrowdTests.crowd(members))
        }

        @discardableResult
        mutating func push(
            _ kind: CrowdTokens.Kind, _ member: Int, _ body: JSONObject,
            _ change: (inout PushArrival) -> Void = { _ in }
        ) -> FrontAnswer? {
            var arrival = InspectionTests.arrival(authorization)
            arrival.path = "/3/device/" + CrowdTokens(crowd: "c1", kind: kind).hex(of: member)
            arrival.body = body
            change(&arrival)
            return world.accept(arrival, session: &session, now: now).answer
        }

        mutating func start(_ member: Int, at seconds: Int64 = CrowdTests.now, _ changes: [String: JSONValue?] = [:]) {
            push(.pushToStart, member, Fixture.startBody(at: seconds, changes))
        }

        mutating func update(_ member: Int, at seconds: Int64, _ state: JSONValue = Fixture.state("delivering")) {
            push(.update, member, Fixture.updateBody(at: seconds, state))
        }

        var totals: CrowdTotals { get throws { try world.crowd("c1").totals } }

        func member(_ index: Int) throws -> CrowdMember { try #require(try world.crowd("c1").member(index)) }

        /// Ends the waits whose time is over.
        mutating func over() -> [World.Effect] {
            world.takeEffects().filter {
                switch $0 {
                case .waitOver, .waitLost: true
                case .changed, .received, .carryCalls: false
                }
            }
        }
    }

    static func crowd(_ members: Int, name: String = "c1") -> CrowdSpecification {
        CrowdSpecification(
            name: name, count: members, bundleID: Fixture.bundleID, attributesType: "OrderAttributes")
    }

    static func digest(_ state: JSONValue) throws -> ContentDigest { ContentDigest(try #require(state.object)) }

    @Test
    func `a card is started, updated and ended, and a new start makes another`() throws {
        var bench = try Bench()
        bench.start(1)
        #expect(try bench.member(1).isRunning)
        #expect(try bench.member(1).digest == Self.digest(Fixture.state()))
        bench.update(1, at: Self.now + 1)
        #expect(try bench.member(1).digest == Self.digest(Fixture.state("delivering")))
        bench.push(.update, 1, Fixture.endBody(at: Self.now + 2, ["content-state": Fixture.state("delivered")]))
        #expect(try bench.member(1).digest == Self.digest(Fixture.state("delivered")))
        #expect(try bench.member(1).hasEnded)
        bench.update(1, at: Self.now + 3)
        #expect(try bench.totals.dropped == 1)
        bench.start(1, at: Self.now + 4)
        #expect(try bench.member(1).isRunning)
        let totals = try bench.totals
        #expect((totals.starts, totals.updates, totals.ends, totals.secondCards) == (2, 1, 1, 0))
        #expect((totals.accepted, totals.reached, totals.running, totals.refused) == (5, 1, 1, 0))
        #expect(totals.acceptedByPriority == [10: 5])
        #expect(
            try bench.member(0)
                == CrowdMember(
                    accepted: 0, isRunning: false, hasEnded: false, timestamp: nil, digest: nil))
    }

    @Test
    func `a second start while a card is there is a second card`() throws {
        var bench = try Bench()
        bench.start(0)
        bench.start(0, at: Self.now + 1)
        #expect(try bench.totals.secondCards == 1)
        #expect(try bench.totals.running == 1)
    }

    @Test
    func `a card that the app started shows with its first update`() throws {
        var bench = try Bench()
        bench.update(2, at: Self.now)
        #expect(try bench.member(2).isRunning)
        bench.start(2, at: Self.now + 1)
        #expect(try bench.totals.secondCards == 1)
    }

    @Test(arguments: [(0, 1), (-1, 1), (1, 0)] as [(Int64, Int)])
    func `an older or equal timestamp is answered with 200 and ignored`(later: Int64, ignored: Int) throws {
        var bench = try Bench()
        bench.update(0, at: Self.now)
        let answer = bench.push(.update, 0, Fixture.updateBody(at: Self.now + later, Fixture.state("delivered")))
        #expect(answer?.status == 200)
        #expect(try bench.totals.staleIgnored == ignored)
        let shown = ignored == 1 ? Fixture.state("delivering") : Fixture.state("delivered")
        #expect(try bench.member(0).digest == Self.digest(shown))
    }

    @Test
    func `an end with an old timestamp ends and keeps the newer state`() throws {
        var bench = try Bench()
        bench.update(0, at: Self.now)
        bench.push(.update, 0, Fixture.endBody(at: Self.now - 1, ["content-state": Fixture.state("delivered")]))
        #expect(try bench.member(0).hasEnded)
        #expect(try bench.member(0).digest == Self.digest(Fixture.state("delivering")))
    }

    static let undecodable: [(CrowdTokens.Kind, JSONObject)] = [
        (.update, Fixture.updateBody(at: now, "text")), (.update, Fixture.updateBody(at: now, [1])),
        (.update, ["aps": ["event": "update", "content-state": [:]]]), (.update, Fixture.startBody()),
        (.update, Fixture.updateBody(at: now + 9 * 3600)), (.update, Fixture.updateBody(at: -1)),
        (.pushToStart, Fixture.updateBody(at: now)),
        (.pushToStart, Fixture.startBody(at: now, ["attributes-type": "Other"])),
        (.pushToStart, Fixture.startBody(at: now, ["alert": nil])),
        (.pushToStart, Fixture.startBody(at: now, ["attributes": nil])),
        (.pushToStart, Fixture.startBody(at: now, ["content-state": nil])), (.update, ["aps": ["event": "stop"]]),
    ]

    @Test(arguments: undecodable.indices)
    func `what a phone drops is answered with 200 and counted as dropped`(index: Int) throws {
        var bench = try Bench()
        let (kind, body) = Self.undecodable[index]
        #expect(bench.push(kind, 0, body)?.status == 200)
        #expect(try bench.totals.dropped == 1)
        #expect(try !bench.member(0).isRunning)
    }

    static let refusals: [(String, @Sendable (inout PushArrival) -> Void)] = [
        ("DeviceTokenNotForTopic", { $0.topic = "com.other.push-type.liveactivity" }),
        ("DeviceTokenNotForTopic", { ($0.topic, $0.pushType) = (Fixture.bundle, "alert") }),
        ("PayloadTooLarge", { $0.bodyBytes = 4097 }), ("BadPriority", { $0.priority = "7" }),
        ("PayloadEmpty", { $0.body = nil }),
    ]

    @Test(arguments: refusals.indices)
    func `APNs checks a push to a member as any other, and records what it refuses`(index: Int) throws {
        var bench = try Bench()
        let (reason, change) = Self.refusals[index]
        #expect(bench.push(.update, 0, Fixture.updateBody(at: Self.now), change)?.reason == reason)
        #expect(try bench.totals.refused == 1)
        #expect(try bench.totals.accepted == 0)
        #expect(bench.world.received.latest.map(\.reason) == [reason])
    }

    @Test
    func `what is taken is counted and not recorded`() throws {
        var bench = try Bench()
        bench.update(0, at: Self.now)
        #expect(bench.world.receivedCount == 1)
        #expect(bench.world.received.latest.isEmpty)
        #expect(bench.world.takeEffects().isEmpty)
    }

    @Test
    func `a device token takes notifications and background pushes`() throws {
        var bench = try Bench()
        let answer = bench.push(.device, 0, ["aps": ["alert": "Hi"]]) {
            ($0.topic, $0.pushType) = (Fixture.bundle, "alert")
        }
        #expect(answer?.status == 200)
        #expect(try bench.totals.notifications == 1)
    }

    @Test
    func `nobody has the token of a member too many, of another crowd, or of one that is gone`() throws {
        var bench = try Bench(members: 3)
        #expect(bench.push(.update, 3, Fixture.updateBody(at: Self.now))?.reason == "BadDeviceToken")
        #expect(bench.push(.update, -1, Fixture.updateBody(at: Self.now))?.reason == "BadDeviceToken")
        try bench.world.removeCrowd("c1")
        #expect(bench.push(.update, 0, Fixture.updateBody(at: Self.now))?.reason == "BadDeviceToken")
        try bench.world.add(Self.crowd(1, name: "c2"))
        #expect(bench.push(.update, 0, Fixture.updateBody(at: Self.now))?.reason == "BadDeviceToken")
    }

    @Test
    func `there are only so many crowds and members`() throws {
        var limits = World.Limits()
        limits.crowdMembers = 10
        var bench = try Bench(members: 9, limits: limits)
        func code(_ crowd: CrowdSpecification) -> SimulatorError.Code? {
            do {
                try bench.world.add(crowd)
                return nil
            } catch { return error.code }
        }
        #expect(code(Self.crowd(2, name: "c2")) == .tooManyPhones)
        #expect(code(Self.crowd(.max, name: "c2")) == .tooManyPhones)
        #expect(code(Self.crowd(1)) == .crowdExists)
        #expect(code(Self.crowd(0, name: "c2")) == .badValue)
        #expect(code(Self.crowd(1, name: "a/b")) == .badValue)
        #expect(code(Self.crowd(1, name: "c2")) == nil)
    }

    @Test
    func `a wait is over with the push that makes it true, and told once`() throws {
        var bench = try Bench()
        let state = try Self.digest(Fixture.state("delivering"))
        bench.update(0, at: Self.now)
        try bench.world.wait(1, CrowdWait(pushes: 3), in: "c1")
        try bench.world.wait(2, CrowdWait(state: state, members: 2), in: "c1")
        try bench.world.wait(3, CrowdWait(pushes: 1), in: "c1")
        #expect(bench.over() == [.waitOver(3)])
        bench.update(0, at: Self.now + 1, Fixture.state("delivered"))
        bench.update(1, at: Self.now)
        #expect(bench.over() == [.waitOver(1)])
        bench.update(2, at: Self.now)
        #expect(bench.over() == [.waitOver(2)])
        try bench.world.wait(4, CrowdWait(pushes: 99), in: "c1")
        try bench.world.removeCrowd("c1")
        #expect(bench.over() == [.waitLost(4)])
    }

    @Test
    func `only so many wait at once, and who leaves makes room`() throws {
        var bench = try Bench()
        for number in 0..<Crowd.waiters { try bench.world.wait(number, CrowdWait(pushes: 1), in: "c1") }
        #expect(throws: SimulatorError.self) { try bench.world.wait(99, CrowdWait(pushes: 1), in: "c1") }
        bench.world.endWait(5, in: "c1")
        try bench.world.wait(99, CrowdWait(pushes: 1), in: "c1")
    }

    /// Random pushes to many members, compared with a model that remembers everything.
    @Test(arguments: 0..<100)
    func `members and holders are what a plain model says`(seed: UInt64) throws {
        print("seed \(seed)")
        var dice = SplitMix64(seed: seed)
        var crowd = Crowd(Self.crowd(8))
        var newest: [Int: (timestamp: UInt32, state: ContentDigest)] = [:]
        let states = try (0..<4).map { try Self.digest(["n": .init($0)]) }
        let wanted = Int.random(in: 1...6, using: &dice)
        var isOver = !crowd.add(7, CrowdWait(state: states[0], members: wanted))
        for _ in 0..<200 {
            let member = Int.random(in: 0..<8, using: &dice)
            let timestamp = UInt32.random(in: 1...50, using: &dice)
            let state = states[Int.random(in: 0..<4, using: &dice)]
            let push = CrowdPush(kind: .update, event: "update", priority: 5, timestamp: timestamp, state: state)
            isOver = crowd.receive(push, member: member) == [7] || isOver
            if timestamp > newest[member]?.timestamp ?? 0 { newest[member] = (timestamp, state) }
            let holders = newest.values.count { $0.state == states[0] }
            if holders >= wanted { #expect(isOver) }
        }
        for (member, shown) in newest {
            #expect(crowd.member(member)?.digest == shown.state)
            #expect(crowd.member(member)?.timestamp == Int(shown.timestamp))
        }
        #expect(crowd.totals.updates + crowd.totals.staleIgnored == 200)
    }

    @Test
    func `a token takes only so many pushes in a minute when there is a limit`() throws {
        var limits = World.Limits()
        limits.pushesPerTokenAndMinute = 2
        var bench = try Bench(limits: limits)
        func push(_ member: Int) -> String? {
            bench.push(.update, member, Fixture.updateBody(at: Self.now))?.reason
        }
        #expect([push(0), push(0), push(0), push(1)] == [nil, nil, "TooManyRequests", nil])
        bench.now = bench.now + .seconds(60)
        #expect(push(0) == nil)
    }
}
