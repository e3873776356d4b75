import APNSModel
import JSONText
import LiveActivityAPI
import Testing

@testable import APNSSimulator

/// Cards and tokens that change without a push, and the app's reports about them.
struct PhoneLifeTests {
    static let now = Fixture.start.seconds

    @Test
    func `a card becomes stale at its date and an update takes that back`() throws {
        var bench = try PhoneBench { $0.appState = .foreground }
        bench.push(Fixture.startBody(at: Self.now, ["stale-date": .init(Int(Self.now) + 60)]))
        bench.pass(.seconds(59))
        #expect(bench.phone.cards.first?.state == .active)
        bench.pass(.seconds(1))
        #expect(bench.phone.cards.first?.state == .stale)
        #expect(bench.instances.last?.state == .stale)
        try bench.pushToCard(Fixture.updateBody(at: Self.now + 60))
        #expect(bench.phone.cards.first?.state == .active)
        #expect(bench.phone.cards.first?.staleDate == nil)
        try bench.pushToCard(Fixture.updateBody(at: Self.now + 61, Fixture.state(), ["stale-date": 5]))
        #expect(bench.phone.cards.first?.state == .stale)
    }

    @Test
    func `after eight hours iOS ends a card and four hours later it is gone, in order, however far time jumps`() throws
    {
        var bench = try PhoneBench { $0.appState = .foreground }
        bench.push(Fixture.startBody(at: Self.now, ["stale-date": .init(Int(Self.now) + 60)]))
        let token = try #require(bench.phone.cards.first?.token)
        bench.pass(.seconds(13 * 3600))
        #expect(bench.phone.cards.isEmpty)
        #expect(bench.phone.dismissed.first?.ending == .eightHours)
        #expect(bench.instances.map(\.state) == [.active, .stale, .ended])
        #expect(bench.ends.map(\.hex) == [token.hex])
        #expect(bench.ends.first?.at == Fixture.start + .seconds(8 * 3600))
        #expect(bench.codes == [.eightHourLimit])
    }

    static let swipes: [(AppState, InstanceRequest.State)] = [
        (.foreground, .dismissed), (.background, .dismissed), (.killed, .gone),
    ]

    @Test(arguments: swipes)
    func `a swipe is reported as a dismissal only if the app's process was there`(
        appState: AppState, state: InstanceRequest.State
    ) throws {
        var bench = try PhoneBench()
        bench.push(Fixture.startBody())
        switch appState {
        case .foreground: try bench.act(.foreground)
        case .killed: try bench.act(.kill)
        case .background, .forceQuit: break
        }
        try bench.act(.swipe(localID: nil))
        #expect(bench.phone.cards.isEmpty)
        if appState != .foreground { #expect(bench.states == [.active]) }
        try bench.act(.foreground)
        // A card that iOS does not list counts as gone once the app has looked again.
        bench.pass(.seconds(3))
        #expect(bench.instances.last?.state == state)
        #expect(bench.ends.map(\.end) == [.over])
    }

    @Test
    func `an app that notices in the background reports a swipe at once`() throws {
        var bench = try PhoneBench { $0.noticesInBackground = true }
        bench.push(Fixture.startBody())
        try bench.act(.swipe(localID: bench.phone.cards.first?.localID))
        #expect(bench.instances.last?.state == .dismissed)
    }

    @Test
    func `a swipe of an ended card says nothing new`() throws {
        var bench = try PhoneBench { $0.appState = .foreground }
        bench.push(Fixture.startBody())
        try bench.pushToCard(Fixture.endBody(at: Self.now))
        try bench.act(.swipe(localID: nil))
        #expect(bench.instances.map(\.state) == [.active, .ended])
    }

    @Test
    func `without Allow there is a card but no token, with it every token comes`() throws {
        var bench = try PhoneBench { $0.asksToAllow = true }
        bench.push(Fixture.startBody())
        #expect(bench.phone.cards.first?.token == nil)
        #expect(bench.instances.allSatisfy { $0.token == nil } && bench.instances.count == 1)
        #expect(bench.codes == [.tokenWithheld])
        try bench.act(.allow)
        #expect(bench.phone.cards.first?.token != nil)
        #expect(bench.instances.last?.token == TokenText(bench.phone.cards.first?.token))
        bench.push(Fixture.startBody())
        #expect(bench.phone.cards.last?.token != nil)
    }

    @Test
    func `a force-quit app shows the card and reports it only when the person opens it`() throws {
        var bench = try PhoneBench()
        try bench.act(.forceQuit)
        let before = bench.reports.count
        bench.push(Fixture.startBody())
        #expect(bench.phone.cards.count == 1)
        #expect(bench.reports.count == before)
        #expect(bench.codes == [.notAwakened])
        try bench.act(.foreground)
        guard case .inventory(let inventory)? = bench.reports.last(where: \.isInventory) else {
            Issue.record("no inventory")
            return
        }
        #expect(inventory.instances.map(\.instance.token) == [TokenText(bench.phone.cards.first?.token)])
    }

    @Test
    func `a rotated update token replaces the old one, which is dead at once`() throws {
        var bench = try PhoneBench()
        bench.push(Fixture.startBody())
        let old = try #require(bench.phone.cards.first?.token)
        try bench.act(.rotateUpdateToken(localID: nil))
        let new = try #require(bench.phone.cards.first?.token)
        #expect(old != new)
        #expect(bench.ends.map(\.hex) == [old.hex])
        #expect(bench.ends.map(\.end) == [.replaced])
        #expect(bench.instances.last?.token == TokenText(new))
    }

    @Test
    func `push-to-start tokens rotate, are reported per type, and are missing below iOS 17.2`() throws {
        var bench = try PhoneBench()
        let old = try #require(bench.phone.pushToStartToken)
        #expect(old.hex.count == 128)
        try bench.act(.rotatePushToStartToken)
        let new = try #require(bench.phone.pushToStartToken)
        #expect(bench.ends.map(\.hex) == [old.hex])
        let text = try #require(TokenText(new))
        #expect(bench.reports.last == .pushToStartToken(type: "OrderAttributes", token: text))
        var older = try PhoneBench { $0.iOS = IOSVersion(17, 1) }
        #expect(older.phone.pushToStartToken == nil)
        #expect(throws: SimulatorError.self) { try older.act(.rotatePushToStartToken) }
    }

    @Test
    func `switching Live Activities off ends every card and takes the tokens, on brings a new one`() throws {
        var bench = try PhoneBench()
        bench.push(Fixture.startBody())
        let token = bench.phone.pushToStartToken
        try bench.act(.setActivitiesEnabled(false))
        #expect(bench.phone.cards.isEmpty)
        #expect(bench.phone.pushToStartToken == nil)
        #expect(bench.instances.last?.state == .gone)
        bench.push(Fixture.startBody())
        #expect(bench.codes == [.activitiesDisabled])
        try bench.act(.setActivitiesEnabled(true))
        #expect(bench.phone.pushToStartToken != token)
    }

    @Test
    func `switching frequent updates ends every card too`() throws {
        var bench = try PhoneBench()
        bench.push(Fixture.startBody())
        try bench.act(.setFrequentPushes(true))
        #expect(bench.phone.cards.isEmpty)
        let registrations = bench.reports.compactMap { if case .register(let report) = $0 { report } else { nil } }
        #expect(registrations.last?.frequentPushesEnabled == true)
    }

    @Test
    func `the app starts, updates and ends a card itself`() throws {
        var bench = try PhoneBench { $0.appState = .foreground }
        let localID = try #require(
            try bench.act(
                .startLocally(
                    .init(
                        attributesType: "OrderAttributes", attributes: ["orderId": "A1"],
                        contentState: ["step": "cooking", "eta": 5], activity: "order-A1"))))
        #expect(bench.instances.map(\.state) == [.requesting, .active])
        #expect(bench.instances.last?.activity == "order-A1")
        #expect(bench.instances.last?.token != nil)
        bench.pass(.seconds(10))
        try bench.act(.updateLocally(.init(localID: localID, contentState: ["step": "delivering", "eta": 1])))
        #expect(bench.instances.last?.contentState?["eta"]?.int == 1)
        try bench.pushToCard(Fixture.updateBody(at: Self.now + 5, Fixture.state("cooking")))
        #expect(bench.codes == [.olderThanShown])
        try bench.act(.endLocally(localID: localID, isImmediate: true))
        #expect(bench.phone.cards.isEmpty)
        #expect(bench.instances.last?.state == .ended)
    }

    @Test
    func `ActivityKit's refusals of a local start are refusals here`() throws {
        let start = PhoneAction.startLocally(
            .init(
                attributesType: "OrderAttributes", attributes: ["orderId": "A1"],
                contentState: ["step": "cooking", "eta": 5]))
        var sleeping = try PhoneBench()
        #expect(throws: SimulatorError.self) { try sleeping.act(start) }
        var disabled = try PhoneBench {
            $0.appState = .foreground
            $0.activitiesEnabled = false
        }
        #expect(throws: SimulatorError.self) { try disabled.act(start) }
        var full = try PhoneBench { $0.appState = .foreground }
        for _ in 0..<5 { try full.act(start) }
        #expect(throws: SimulatorError.self) { try full.act(start) }
        let wrong = PhoneAction.startLocally(
            .init(attributesType: "OrderAttributes", attributes: [:], contentState: ["step": "cooking", "eta": 5]))
        var other = try PhoneBench { $0.appState = .foreground }
        #expect(throws: SimulatorError.self) { try other.act(wrong) }
    }

    @Test
    func `a phone whose clock is behind finds honest timestamps too far ahead`() throws {
        var bench = try PhoneBench { $0.clockSkew = .seconds(-9 * 3600) }
        bench.push(Fixture.startBody())
        #expect(bench.codes == [.timestampAhead])
        var ahead = try PhoneBench { $0.clockSkew = .seconds(3600) }
        ahead.push(Fixture.startBody(at: Self.now, ["stale-date": .init(Int(Self.now) + 60)]))
        #expect(ahead.codes == [.staleAtStart])
    }

    @Test
    func `the most relevant card is on top, of equals the first`() throws {
        var bench = try PhoneBench()
        for score in [50, 100, 50] as [JSONValue] {
            bench.push(Fixture.startBody(at: Self.now, ["relevance-score": score]))
            bench.pass(.seconds(1))
        }
        #expect(bench.phone.lockScreen.cards.map(\.relevance) == [100, 50, 50])
        #expect(bench.phone.lockScreen.cards[1].startedAt < bench.phone.lockScreen.cards[2].startedAt)
    }

    @Test
    func `signing out tells the backend, and nobody speaks for nobody`() throws {
        var bench = try PhoneBench { $0.appState = .foreground }
        try bench.act(.signIn(user: nil))
        #expect(bench.reports.last == .signOut)
        let count = bench.reports.count
        bench.push(Fixture.startBody())
        #expect(bench.reports.count == count)
        try bench.act(.signIn(user: "bob"))
        #expect(bench.reports.count > count)
    }

    @Test
    func `removing the app kills its tokens`() throws {
        var bench = try PhoneBench()
        bench.push(Fixture.startBody())
        try bench.act(.uninstall)
        #expect(bench.ends.count == 3)
        #expect(bench.ends.allSatisfy { $0.end == .uninstalled })
        #expect(throws: SimulatorError.self) { try bench.act(.rotateDeviceToken) }
    }
}
