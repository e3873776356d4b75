import APNSModel
import IsletBasics
import JSONText
import LiveActivityRegistration
import Testing

@testable import APNSSimulator

/// APNs and phones together, without a network.
struct WorldTests {
    let team = Team()

    /// A world with one phone, and a sender with one connection.
    struct Bench {
        var world: World
        var session = ProviderSession()
        var now = Fixture.start
        let phone: PhoneID
        let team: Team

        init(
            _ team: Team, limits: World.Limits = .init(), _ change: (inout PhoneSpecification) -> Void = { _ in }
        ) throws {
            self.team = team
            world = World(seed: 3, limits: limits)
            world.directory.keys[team.keyID] = team.key()
            phone = try world.add(Fixture.specification(change), limits: DeviceLimits(), now: now)
        }

        var virtualPhone: VirtualPhone { get throws { try world.slot(of: phone).phone } }

        @discardableResult
        mutating func push(
            _ hex: String?, _ body: JSONObject, _ change: (inout PushArrival) -> Void = { _ in }
        ) throws
            -> FrontDecision
        {
            // A token must be young. The sender makes a new one, on a new connection, when an hour has passed.
            let iat = JSONValue(Int(now.seconds))
            var arrival = InspectionTests.arrival(try team.authorization(iat: iat), change)
            session = ProviderSession()
            arrival.path = "/3/device/" + (try #require(hex))
            arrival.body = body
            return world.accept(arrival, session: &session, now: now)
        }

        mutating func act(_ action: PhoneAction) throws {
            _ = try world.perform(action, on: phone, now: now)
        }

        mutating func pass(_ duration: Duration) {
            now = now + duration
            world.advance(to: now)
        }

        /// Delivers the phone's calls, as the shell does, until it has no more or an answer is lost.
        mutating func calls(answering: Bool = true) -> [String] {
            var said: [String] = []
            while world.takeEffects().contains(.carryCalls(phone)), let call = world.takeCall(of: phone) {
                said.append(call.call.path)
                let isThere = answering && world.isOnline(phone)
                let answer = PhoneAnswer(status: 200, body: Array(#"{"activities":[]}"#.utf8), date: Int(now.seconds))
                world.answer(call, of: phone, isThere ? answer : nil, now: now)
                if !isThere { break }
            }
            return said
        }
    }

    static let now = Fixture.start.seconds

    @Test
    func `the token of a card that is over answers 200 for a while and then 410 with the time it ended`() throws {
        var bench = try Bench(team)
        try bench.push(bench.virtualPhone.pushToStartToken?.hex, Fixture.startBody())
        let token = try bench.virtualPhone.cards.first?.token?.hex
        bench.pass(.seconds(10))
        try bench.push(token, Fixture.endBody(at: Self.now + 10, ["dismissal-date": 1]))
        #expect(try bench.push(token, Fixture.updateBody(at: Self.now + 11)).answer?.status == 200)
        #expect(try bench.virtualPhone.log.map(\.code) == [.activityOver])
        bench.pass(.seconds(1800))
        let answer = try #require(try bench.push(token, Fixture.updateBody(at: Self.now + 12)).answer)
        #expect(answer.status == 410)
        #expect(answer.reason == "ExpiredToken")
        #expect(answer.timestamp == Fixture.start + .seconds(10))
    }

    @Test
    func `APNs keeps only the latest push of an offline phone, until its expiration`() throws {
        var bench = try Bench(team)
        let token = try bench.virtualPhone.pushToStartToken?.hex
        let later = String(Self.now + 60)
        try bench.act(.offline)
        try bench.push(token, Fixture.startBody()) { $0.expiration = "0" }
        for order in ["A1", "A2"] {
            try bench.push(token, Fixture.startBody(at: Self.now, ["attributes": ["orderId": .string(order)]])) {
                $0.expiration = later
            }
        }
        #expect(try bench.virtualPhone.cards.isEmpty)
        try bench.act(.online)
        #expect(try bench.virtualPhone.cards.map { $0.attributes["orderId"] } == ["A2"])
        #expect(try bench.virtualPhone.log.map(\.code) == [.notStored, .replacedInStore])
        try bench.act(.offline)
        try bench.push(token, Fixture.startBody()) { $0.expiration = later }
        bench.pass(.seconds(60))
        try bench.act(.online)
        #expect(try bench.virtualPhone.cards.count == 1)
        #expect(try bench.virtualPhone.log.last?.code == .expired)
    }

    @Test
    func `a replaced token is refused, a switched-off phone's push-to-start token is over`() throws {
        var bench = try Bench(team)
        let old = try bench.virtualPhone.pushToStartToken?.hex
        try bench.act(.rotatePushToStartToken)
        #expect(try bench.push(old, Fixture.startBody()).answer?.reason == "Unregistered")
        let new = try bench.virtualPhone.pushToStartToken?.hex
        try bench.act(.setActivitiesEnabled(false))
        #expect(try bench.push(new, Fixture.startBody()).answer?.status == 200)
        #expect(try bench.virtualPhone.log.map(\.code) == [.activitiesDisabled])
    }

    @Test
    func `the first rule that fits decides, and counts, skips and matches are kept`() throws {
        var bench = try Bench(team)
        let token = try #require(try bench.virtualPhone.pushToStartToken?.hex)
        var first = FaultRule(.refuse(status: 429, reason: "TooManyRequests"))
        first.skip = 1
        first.count = 2
        var second = FaultRule(.refuse(status: 500, reason: "InternalServerError"))
        second.event = "update"
        var third = FaultRule(.refuse(status: 503, reason: "ServiceUnavailable"))
        third.phone = bench.phone
        third.tokenPrefix = token.prefix(8).uppercased()
        third.topic = Fixture.topic
        third.skip = 1
        var never = FaultRule(.stall)
        never.probability = 0
        bench.world.faults = FaultList([first, second, never, third], at: bench.now)
        var statuses: [Int?] = []
        for body in [
            Fixture.startBody(), Fixture.startBody(), Fixture.startBody(), Fixture.startBody(),
            Fixture.updateBody(at: Self.now),
        ] {
            statuses.append(try bench.push(token, body).answer?.status)
        }
        #expect(statuses == [200, 429, 429, 503, 500])
        #expect(bench.session.isAuthenticated)
        #expect(try bench.virtualPhone.cards.count == 1)
        #expect(Array(bench.world.received.latest).map(\.hadFault) == [false, true, true, true, true])
    }

    @Test
    func `a delayed push is accepted at once, and reaches the phone at its own time`() throws {
        var bench = try Bench(team)
        let token = try bench.virtualPhone.pushToStartToken?.hex
        var rule = FaultRule(.delay(.seconds(10)))
        rule.count = 1
        bench.world.faults = FaultList([rule], at: bench.now)
        #expect(try bench.push(token, Fixture.startBody()).answer?.status == 200)
        #expect(try bench.virtualPhone.cards.isEmpty)
        #expect(try bench.push(token, Fixture.startBody()).answer?.status == 200)
        bench.pass(.seconds(60))
        #expect(try bench.virtualPhone.cards.map(\.startedAt) == [Fixture.start, Fixture.start + .seconds(10)])
    }

    @Test
    func `a rule meets each push of its ordinal after those it skips, for as long as it lasts`() {
        var third = FaultRule(.loseAnswer(.silence))
        third.every = 3
        third.skip = 1
        third.after = .seconds(10)
        third.lasting = .seconds(50)
        var faults = FaultList([third], at: Fixture.start)
        var dice = SplitMix64(seed: 1)
        func meets(_ seconds: Int64) -> Bool {
            let arrival = PushArrival(environment: .sandbox)
            return faults.effect(on: arrival, phone: nil, dice: &dice, now: Fixture.start + .seconds(seconds)) != nil
        }
        #expect((0..<8).allSatisfy { _ in !meets(9) })
        #expect((0..<8).map { _ in meets(59) } == [false, false, false, true, false, false, true, false])
        #expect((0..<8).allSatisfy { _ in !meets(60) })
    }

    @Test(arguments: 0..<100)
    func `a probability is met about as often as it says, the same way for the same seed`(seed: UInt64) {
        print("seed \(seed)")
        func run() -> [Bool] {
            var dice = SplitMix64(seed: seed)
            var rule = FaultRule(.stall)
            rule.probability = 0.25
            var faults = FaultList([rule], at: Fixture.start)
            return (0..<400).map { _ in
                faults.effect(on: PushArrival(environment: .sandbox), phone: nil, dice: &dice, now: Fixture.start)
                    != nil
            }
        }
        let met = run()
        #expect((50...150).contains(met.count(where: \.self)))
        #expect(met == run())
    }

    @Test
    func `calls go out in order, one at a time, wait while offline, and come again after growing pauses`() throws {
        var bench = try Bench(team)
        #expect(bench.calls().map { $0.split(separator: "/").count } == [3, 4, 5], "device, inventory, token")
        #expect(try bench.world.lockScreen(of: bench.phone).waitingReports == 0)
        try bench.act(.offline)
        try bench.act(.rotateDeviceToken)
        #expect(bench.calls() == ["/v1/devices/phone-1"], "it tries, and nothing comes back")
        #expect(try bench.world.lockScreen(of: bench.phone).waitingReports == 1)
        try bench.act(.online)
        #expect(bench.calls(answering: false).count == 1, "at once when the network is back")
        bench.pass(.milliseconds(999))
        #expect(bench.calls(answering: false).isEmpty)
        // A pause is between half of its length and all of it.
        bench.pass(.milliseconds(1001))
        #expect(bench.calls().count == 1)
        #expect(try bench.world.lockScreen(of: bench.phone).waitingReports == 0)
    }

    @Test
    func `an answer to a process that has ended is nobody's, and the next process says everything anew`() throws {
        var bench = try Bench(team)
        let call = bench.world.takeCall(of: bench.phone)
        let late = try #require(call)
        try bench.act(.kill)
        try bench.act(.launch)
        _ = bench.world.takeEffects()
        let answer = PhoneAnswer(status: 200, body: Array(#"{"activities":[]}"#.utf8), date: Int(Self.now))
        bench.world.answer(late, of: bench.phone, answer, now: bench.now)
        #expect(bench.world.takeEffects().contains(.carryCalls(bench.phone)) == false)
        #expect(try bench.world.lockScreen(of: bench.phone).waitingReports == 1)
    }

    @Test
    func `without a backend nothing leaves, nothing waits, and the app's own card is there at once`() throws {
        var limits = World.Limits()
        limits.hasBackend = false
        var bench = try Bench(team, limits: limits) { $0.appState = .foreground }
        let start = PhoneAction.startLocally(
            .init(
                attributesType: "OrderAttributes", attributes: ["orderId": "A1"],
                contentState: ["step": "cooking", "eta": 5]))
        let localID = try bench.world.perform(start, on: bench.phone, now: bench.now)
        #expect(try bench.virtualPhone.cards.map(\.localID) == [localID])
        #expect(bench.calls().isEmpty)
        #expect(try bench.world.lockScreen(of: bench.phone).waitingReports == 0)
    }

    @Test
    func `ids are unique and phones are limited`() throws {
        var limits = World.Limits()
        limits.phones = 2
        var bench = try Bench(team, limits: limits)
        let same = Fixture.specification { $0.id = bench.phone }
        #expect(throws: SimulatorError(.phoneExists, "there is a phone `phone-1` already")) {
            _ = try bench.world.add(same, limits: DeviceLimits(), now: Fixture.start)
        }
        _ = try bench.world.add(Fixture.specification(), limits: DeviceLimits(), now: Fixture.start)
        #expect(throws: SimulatorError.self) {
            _ = try bench.world.add(Fixture.specification(), limits: DeviceLimits(), now: Fixture.start)
        }
    }

    @Test(arguments: 0..<100)
    func `the agenda wakes in order, once for each phone and time that is still wanted`(seed: UInt64) {
        print("seed \(seed)")
        var dice = SplitMix64(seed: seed)
        var agenda = Agenda()
        var wanted: [Int: UnixTime] = [:]
        for _ in 0..<200 {
            let slot = Int(dice.next() % 20)
            let due = Fixture.start + .seconds(Int64(dice.next() % 1000))
            agenda.schedule(slot, at: due)
            wanted[slot] = min(wanted[slot] ?? due, due)
        }
        var woken: [UnixTime] = []
        while let (due, slot) = agenda.next(until: Fixture.start + .seconds(1000)) {
            #expect(wanted.removeValue(forKey: slot) == due)
            woken.append(due)
        }
        #expect(wanted.isEmpty)
        #expect(woken == woken.sorted())
    }

    @Test
    func `dates are written as HTTP wants them`() {
        #expect(UnixTime(seconds: 784_111_777).httpDate == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(UnixTime(seconds: 0).httpDate == "Thu, 01 Jan 1970 00:00:00 GMT")
    }
}
