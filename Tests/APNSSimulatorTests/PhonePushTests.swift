import APNSModel
import IsletBasics
import JSONText
import LiveActivityAPI
import Testing

@testable import APNSSimulator

/// Handling of Live Activity pushes in iOS.
struct PhonePushTests {
    static let now = Fixture.start.seconds

    struct Case: Sendable, CustomTestStringConvertible {
        let code: DeviceLogEntry.Code
        let body: JSONObject
        var testDescription: String { code.rawValue }

        init(_ code: DeviceLogEntry.Code, _ body: JSONObject) {
            self.code = code
            self.body = body
        }
    }

    static let starts: [Case] = {
        let now = Fixture.start.seconds
        var beside = Fixture.startBody(at: now, ["attributes": .some(nil)])
        beside["attributes"] = ["orderId": "A1"]
        return [
            Case(.timestampMissing, Fixture.startBody(at: now, ["timestamp": .some(nil)])),
            Case(.timestampMissing, Fixture.startBody(at: now, ["timestamp": "1800000000"])),
            Case(.timestampAhead, Fixture.startBody(at: now + 8 * 3600 + 1)),
            Case(.timestampAhead, Fixture.startBody(at: now * 1000)),
            Case(.eventMissing, Fixture.startBody(at: now, ["event": .some(nil)])),
            Case(.eventUnfit, Fixture.startBody(at: now, ["event": "update"])),
            Case(.attributesTypeMissing, Fixture.startBody(at: now, ["attributes-type": .some(nil)])),
            Case(.attributesMissing, Fixture.startBody(at: now, ["attributes": .some(nil)])),
            Case(.misplacedKeys, beside),
            Case(.contentStateMissing, Fixture.startBody(at: now, ["content-state": .some(nil)])),
            Case(.alertMissing, Fixture.startBody(at: now, ["alert": .some(nil)])),
            Case(.alertMissing, Fixture.startBody(at: now, ["alert": ["title": ""]])),
            Case(.alertMissing, Fixture.startBody(at: now, ["alert": "Order"])),
            Case(.unknownAttributesType, Fixture.startBody(at: now, ["attributes-type": "Orders"])),
            Case(.attributesUndecodable, Fixture.startBody(at: now, ["attributes": ["orderID": "A1"]])),
            Case(.contentStateUndecodable, Fixture.startBody(at: now, ["content-state": Fixture.state(eta: 5.5)])),
            Case(.contentStateUndecodable, Fixture.startBody(at: now, ["content-state": Fixture.state(eta: "5")])),
            Case(.contentStateUndecodable, Fixture.startBody(at: now, ["content-state": Fixture.state("boiling")])),
            Case(.staleAtStart, Fixture.startBody(at: now, ["stale-date": .init(Int(now))])),
        ]
    }()

    @Test(arguments: starts)
    func `a start that iOS drops leaves no card and a line in the log`(_ item: Case) throws {
        var bench = try PhoneBench()
        bench.push(item.body)
        #expect(bench.phone.cards.isEmpty)
        #expect(bench.codes == [item.code])
    }

    @Test
    func `the log names the place of a mistake and never the value`() throws {
        var bench = try PhoneBench()
        bench.push(Fixture.startBody(at: Self.now, ["content-state": Fixture.state("secret-step")]))
        bench.push(Fixture.startBody(at: Self.now, ["content-state": Fixture.state(eta: "secret-eta")]))
        #expect(bench.phone.log.map(\.words).allSatisfy { !$0.contains("secret") })
        #expect(bench.phone.log.first?.words.contains("/step") == true)
        #expect(bench.phone.log.last?.words.contains("/eta") == true)
    }

    @Test
    func `a type may decode as whoever installs it says`() throws {
        let type = InstalledActivityType(
            named: "OrderAttributes", attributes: { _ in nil },
            contentState: { $0["step"] == "burnt" ? "`/step`: a dish that can be eaten expected" : nil })
        var bench = try PhoneBench { $0.installs(type) }
        bench.push(Fixture.startBody(at: Self.now, ["content-state": ["step": "burnt"]]))
        #expect(bench.codes == [.contentStateUndecodable])
        bench.push(Fixture.startBody(at: Self.now, ["content-state": ["step": "anything"]]))
        #expect(bench.phone.cards.count == 1)
    }

    @Test
    func `a start makes a card with its alert, wakes the app, and the app reports the token`() throws {
        var bench = try PhoneBench { $0.appState = .killed }
        bench.push(Fixture.startBody(at: Self.now, ["relevance-score": 50, "content-state": Fixture.state(eta: 5.0)]))
        let card = try #require(bench.phone.cards.first)
        #expect(card.state == .active)
        #expect(card.alert?.title == "Order")
        #expect(card.relevance == 50)
        #expect(card.token?.hex.count == 160)
        #expect(bench.phone.profile.appState == .background)
        guard case .inventory(let inventory)? = bench.reports.last(where: \.isInventory) else {
            Issue.record("no inventory")
            return
        }
        #expect(inventory.instances.map(\.instance.token) == [TokenText(card.token)])
        #expect(bench.codes.isEmpty)
    }

    @Test
    func `two starts of one activity are two cards`() throws {
        var bench = try PhoneBench()
        bench.push(Fixture.startBody())
        bench.push(Fixture.startBody())
        #expect(bench.phone.lockScreen.running.count == 2)
    }

    @Test
    func `starts beyond the budget are ignored in silence until an hour has passed`() throws {
        var limits = DeviceLimits()
        limits.startsPerHour = 2
        var bench = try PhoneBench(limits: limits)
        for _ in 0..<3 { bench.push(Fixture.startBody()) }
        #expect(bench.phone.cards.count == 2)
        #expect(bench.codes == [.pushToStartBudget])
        bench.pass(.seconds(3600))
        bench.push(Fixture.startBody())
        #expect(bench.phone.cards.count == 3)
    }

    @Test
    func `a sixth running activity of the app is not started`() throws {
        var bench = try PhoneBench()
        for _ in 0..<6 { bench.push(Fixture.startBody()) }
        #expect(bench.phone.cards.count == 5)
        #expect(bench.codes == [.tooManyActivities])
    }

    @Test
    func `a card on a channel has no token, also when the person allows`() throws {
        var bench = try PhoneBench { $0.iOS = IOSVersion(18, 0) }
        bench.push(Fixture.startBody(at: Self.now, ["input-push-channel": "abcd"]))
        try bench.act(.allow)
        #expect(bench.phone.cards.map(\.channel?.text) == ["abcd"] && bench.phone.cards.map(\.token) == [nil])
    }

    @Test
    func `below iOS 18 a start with a channel fails`() throws {
        var bench = try PhoneBench { $0.iOS = IOSVersion(17, 4) }
        bench.push(Fixture.startBody(at: Self.now, ["input-push-channel": "abcd"]))
        #expect(bench.codes == [.channelUnsupported])
    }

    @Test(arguments: [
        Case(.olderThanShown, Fixture.updateBody(at: now - 1)),
        Case(.timestampAhead, Fixture.updateBody(at: now + 8 * 3600 + 1)),
        Case(.timestampMissing, Fixture.updateBody(at: now, Fixture.state(), ["timestamp": .some(nil)])),
        Case(.contentStateMissing, Fixture.updateBody(at: now, "text")),
        Case(.contentStateUndecodable, Fixture.updateBody(at: now, ["step": "cooking"])),
        Case(.eventUnfit, Fixture.startBody(at: now)),
        Case(.eventMissing, Fixture.updateBody(at: now, Fixture.state(), ["event": "refresh"])),
        Case(.contentStateUndecodable, Fixture.endBody(at: now, ["content-state": ["step": 1]])),
    ])
    func `a push to a card that iOS drops changes nothing`(_ item: Case) throws {
        var bench = try PhoneBench()
        bench.push(Fixture.startBody())
        let before = bench.phone.cards
        try bench.pushToCard(item.body)
        #expect(bench.phone.cards == before)
        #expect(bench.codes == [item.code])
    }

    @Test(arguments: [0, 1, 8 * 3600])
    func `an equal or newer timestamp is applied`(ahead: Int64) throws {
        var bench = try PhoneBench()
        bench.push(Fixture.startBody())
        try bench.pushToCard(Fixture.updateBody(at: Self.now + ahead))
        #expect(bench.phone.cards.first?.contentState["step"] == "delivering")
        #expect(bench.codes.isEmpty)
    }

    @Test
    func `an end with an old timestamp ends, without its old state`() throws {
        var bench = try PhoneBench()
        bench.push(Fixture.startBody())
        try bench.pushToCard(Fixture.endBody(at: Self.now - 100, ["content-state": Fixture.state("delivered")]))
        #expect(bench.phone.cards.first?.state == .ended)
        #expect(bench.phone.cards.first?.contentState["step"] == "cooking")
        try bench.pushToCard(Fixture.updateBody(at: Self.now + 5))
        #expect(bench.codes == [.activityOver])
    }

    /// A dismissal date in seconds since 1970, and how long the card stays, in seconds. A date of 0 stands for none.
    static let dismissals: [(date: Int64, stays: Int64)] = [
        (0, 4 * 3600), (now - 1, 0), (now + 60, 60), (now + 9 * 3600, 4 * 3600), (now * 1000, 4 * 3600),
    ]

    @Test(arguments: dismissals)
    func `an ended card leaves at its dismissal date, four hours after the end at the latest`(
        date: Int64, seconds: Int64
    ) throws {
        var bench = try PhoneBench()
        bench.push(Fixture.startBody())
        try bench.pushToCard(
            Fixture.endBody(at: Self.now, ["dismissal-date": date == 0 ? .some(nil) : .init(Int(date))]))
        if seconds > 0 {
            bench.pass(.seconds(seconds - 1))
            #expect(bench.phone.cards.first?.state == .ended)
            bench.pass(.seconds(1))
        }
        #expect(bench.phone.cards.isEmpty)
        #expect(bench.phone.dismissed.first?.ending == .push)
    }

    @Test
    func `over the high-priority budget pushes are delayed, or dropped, and low priority is free`() throws {
        var limits = DeviceLimits()
        limits.highPriorityPerHour = 1
        limits.frequentHighPriorityPerHour = 3
        limits.throttling = .delayed(.seconds(60))
        var bench = try PhoneBench(limits: limits)
        bench.push(Fixture.startBody())
        try bench.pushToCard(Fixture.updateBody(at: Self.now + 1), priority: 10)
        try bench.pushToCard(Fixture.updateBody(at: Self.now + 2, Fixture.state("delivered")), priority: 10)
        #expect(bench.phone.cards.first?.contentState["step"] == "delivering")
        bench.pass(.seconds(60))
        #expect(bench.phone.cards.first?.contentState["step"] == "delivered")
        #expect(bench.codes == [.highPriorityBudget, .deliveredLate])
        for second in 3..<20 { try bench.pushToCard(Fixture.updateBody(at: Self.now + Int64(second))) }
        #expect(bench.codes.count == 2)

        limits.throttling = .dropped
        var other = try PhoneBench(limits: limits) { $0.frequentPushesEnabled = true }
        other.push(Fixture.startBody())
        for second in 1...4 { try other.pushToCard(Fixture.updateBody(at: Self.now + Int64(second)), priority: 10) }
        #expect(other.codes == [.highPriorityBudget])
        other.pass(.seconds(120))
        #expect(other.phone.cards.first?.timestamp.seconds == Self.now + 3)
    }

    @Test
    func `ordinary notifications are shown and background pushes wake the app`() throws {
        var bench = try PhoneBench { $0.appState = .killed }
        bench.push(
            ["aps": ["alert": ["title": "Hi", "body": "there"], "sound": "default"]], to: .device, type: .alert)
        #expect(bench.phone.notifications.map(\.title) == ["Hi"])
        let before = bench.reports.count
        bench.push(["aps": ["content-available": 1]], to: .device, type: .background)
        #expect(bench.reports.count > before)
        try bench.act(.forceQuit)
        bench.push(["aps": ["content-available": 1]], to: .device, type: .background)
        #expect(bench.codes == [.notAwakened])
    }

    @Test(arguments: 0..<100)
    func `whatever arrives in whatever order, the newest decodable state is shown`(seed: UInt64) throws {
        print("seed \(seed)")
        var dice = SplitMix64(seed: seed)
        var bench = try PhoneBench(seed: seed)
        bench.push(Fixture.startBody())
        var best = (timestamp: Self.now, eta: 5)
        for number in 0..<30 {
            let ahead = Int64(dice.next() % 12) - 3
            let decodable = dice.next() % 4 != 0
            let eta = 100 + number
            try bench.pushToCard(
                Fixture.updateBody(at: Self.now + ahead, Fixture.state(eta: decodable ? .init(eta) : .string("x"))))
            if decodable, Self.now + ahead >= best.timestamp { best = (Self.now + ahead, eta) }
            bench.pass(.milliseconds(Int64(dice.next() % 300)))
        }
        #expect(bench.phone.cards.first?.contentState["eta"]?.int == best.eta)
        #expect(bench.phone.cards.first?.timestamp.seconds == best.timestamp)
    }
}
