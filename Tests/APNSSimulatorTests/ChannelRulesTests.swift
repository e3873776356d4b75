import APNSModel
import JSONText
import Testing

@testable import APNSSimulator

/// Behavior of APNs and iOS with broadcasts and channels, one switch at a time.
struct ChannelRulesTests {
    // MARK: Order

    /// A rule that delays the next broadcast to the channel by 3 s.
    private static func delay(_ channel: ChannelID) -> FaultRule {
        var rule = FaultRule(.delay(.seconds(3)))
        rule.channel = channel
        rule.count = 1
        return rule
    }

    @Test func `a broadcast that is overtaken arrives late, and the phone keeps the newer state`() throws {
        var bench = ChannelBench()
        let (channel, other) = (try bench.channel(), try bench.channel())
        let (phone, stranger) = (try bench.fan(of: channel), try bench.fan(of: other))
        bench.world.faults = FaultList([Self.delay(channel)], at: bench.now)
        bench.pass(.seconds(1))
        #expect(try bench.send("delivering", to: other) == 200)
        #expect(try bench.step(of: stranger) == "delivering", "the rule is for the other channel")
        #expect(try bench.send("delivering", to: channel) == 200)
        #expect(try bench.step(of: phone) == "cooking")
        bench.pass(.seconds(1))
        #expect(try bench.send("delivered", to: channel) == 200)
        #expect(try bench.step(of: phone) == "delivered")
        bench.pass(.milliseconds(1999))
        #expect(try bench.codes(of: phone).isEmpty)
        bench.pass(.milliseconds(1))
        #expect(try bench.step(of: phone) == "delivered")
        #expect(try bench.codes(of: phone) == [.olderThanShown])
    }

    @Test func `a delayed broadcast arrives at its own time, however far the clock jumps`() throws {
        var bench = ChannelBench()
        let channel = try bench.channel()
        let phone = try bench.fan(of: channel)
        bench.world.faults = FaultList([Self.delay(channel)], at: bench.now)
        try bench.send("delivering", to: channel)
        bench.pass(.seconds(3600))
        #expect(try bench.step(of: phone) == "delivering")
        #expect(try bench.world.lockScreen(of: phone).cards.map(\.updatedAt) == [Fixture.start + .seconds(3)])
    }

    @Test func `a late broadcast does not replace a newer one that is stored`() throws {
        var bench = ChannelBench()
        let channel = try bench.channel()
        let phone = try bench.fan(of: channel)
        bench.world.faults = FaultList([Self.delay(channel)], at: bench.now)
        try bench.act(.offline, on: phone)
        try bench.send("delivering", to: channel, kept: 60)
        bench.pass(.seconds(1))
        try bench.send("delivered", to: channel, kept: 60)
        bench.pass(.seconds(10))
        try bench.act(.online, on: phone)
        #expect(try bench.step(of: phone) == "delivered")
    }

    // MARK: Late subscribers

    @Test(arguments: [false, true], [false, true])
    func `whether a late subscriber gets the stored message is a switch`(isOn: Bool, startsByPush: Bool) throws {
        var rules = ChannelRules()
        rules.lateSubscribersGetStored = isOn
        var bench = ChannelBench(rules)
        let channel = try bench.channel()
        try bench.send("delivering", to: channel, ahead: 5, kept: 60)
        let phone = try startsByPush ? bench.fanByPush(of: channel) : bench.fan(of: channel)
        #expect(try bench.step(of: phone) == (isOn ? "delivering" : "cooking"))
        try bench.send("delivered", to: channel, ahead: 6)
        #expect(try bench.step(of: phone) == "delivered", "every later message arrives")
    }

    @Test func `a late subscriber ignores a stored message that is older than its card, and gets none that expired`()
        throws
    {
        var rules = ChannelRules()
        rules.lateSubscribersGetStored = true
        var bench = ChannelBench(rules)
        let channel = try bench.channel()
        try bench.send("delivering", to: channel, kept: 60)
        bench.pass(.seconds(59))
        let early = try bench.fanByPush(of: channel)
        #expect(try bench.step(of: early) == "cooking")
        #expect(try bench.codes(of: early) == [.olderThanShown])
        bench.pass(.seconds(1))
        let late = try bench.fanByPush(of: channel)
        #expect(try bench.step(of: late) == "cooking")
        #expect(try bench.codes(of: late).isEmpty)
    }

    // MARK: Limits

    @Test func `more broadcasts in a second than a channel takes are refused, and reach no phone`() throws {
        var rules = ChannelRules()
        rules.broadcastsPerSecond = 2
        var bench = ChannelBench(rules)
        let (channel, other) = (try bench.channel(), try bench.channel())
        let phone = try bench.fan(of: channel)
        for step in ["delivering", "delivered"] { #expect(try bench.send(step, to: channel) == 200) }
        let refused = try bench.broadcast(channel.text)
        #expect(refused?.status == 429 && refused?.reason == "TooManyRequests")
        #expect(try bench.step(of: phone) == "delivered")
        #expect(try bench.send("delivering", to: other) == 200, "each channel has its own limit")
        bench.pass(.seconds(1))
        #expect(try bench.send("delivering", to: channel) == 200)
        bench.world.set(ChannelRules())
        for _ in 0..<100 { #expect(try bench.send("delivering", to: channel) == 200) }
    }

    @Test func `a smaller quota refuses the next channel, and the channels that are there stay`() throws {
        var bench = ChannelBench()
        let channel = try bench.channel()
        _ = try bench.channel()
        var rules = ChannelRules()
        rules.channelsPerApp = 1
        bench.world.set(rules)
        #expect(try bench.create()?.reason == "CannotCreateChannelConfig")
        #expect(try bench.send("delivering", to: channel) == 200)
        #expect(try bench.manage("DELETE") { $0.channelID = channel.text }?.status == 204)
        #expect(try bench.create()?.reason == "CannotCreateChannelConfig", "one is left, and one is allowed")
        rules.channelsPerApp = 2
        bench.world.set(rules)
        #expect(try bench.create()?.status == 201)
    }

    // MARK: Channels that go

    @Test func `of a channel that APNs forgot the cards stay and get nothing, not even what was stored`() throws {
        var bench = ChannelBench()
        let channel = try bench.channel()
        let (phone, away) = (try bench.fan(of: channel), try bench.fan(of: channel))
        try bench.act(.offline, on: away)
        try bench.send("delivering", to: channel, kept: 60)
        try bench.world.forget(channel)
        #expect(try bench.broadcast(channel.text)?.reason == "ChannelNotRegistered")
        #expect(try bench.manage("GET") { $0.channelID = channel.text }?.reason == "ChannelNotRegistered")
        try bench.act(.online, on: away)
        #expect(try bench.step(of: phone) == "delivering")
        #expect(try bench.step(of: away) == "cooking")
        let card = try #require(try bench.world.lockScreen(of: phone).running.first)
        #expect(card.channel == channel && card.token == nil)
        let error = #expect(throws: SimulatorError.self) { try bench.world.forget(channel) }
        #expect(error?.code == .unknownChannel)
    }

    @Test func `without the capability every call is refused, and the app's channels are gone for good`() throws {
        var bench = ChannelBench()
        let channel = try bench.channel()
        var rules = ChannelRules()
        rules.broadcastApps = []
        bench.world.set(rules)
        #expect(try bench.create()?.reason == "FeatureNotEnabled")
        #expect(try bench.manage("GET", "all-channels")?.reason == "FeatureNotEnabled")
        #expect(try bench.broadcast(channel.text)?.reason == "FeatureNotEnabled")
        rules.broadcastApps = [Fixture.bundleID]
        bench.world.set(rules)
        #expect(try bench.broadcast(channel.text)?.reason == "ChannelNotRegistered")
        #expect(try bench.create()?.status == 201)
    }

    // MARK: Time

    /// Seconds for which a message is kept, seconds until the phone is back, and whether it then gets the message.
    static let returns: [(kept: Int64, back: Int64, arrives: Bool)] = [
        (60, 59, true), (60, 60, false), (30 * 86_400, 8 * 3600 - 1, true), (30 * 86_400, 8 * 3600, false),
        (0, 1, false),
    ]

    @Test(arguments: returns)
    func `a phone that comes back gets the stored message until it expires by the clock, 8 hours at most`(
        kept: Int64, back: Int64, arrives: Bool
    ) throws {
        var bench = ChannelBench()
        let channel = try bench.channel()
        var limits = DeviceLimits()
        limits.activeFor = .seconds(86_400)
        let phone = try bench.fan(of: channel, limits: limits)
        try bench.act(.offline, on: phone)
        try bench.send("delivering", to: channel, kept: kept)
        bench.pass(.seconds(back))
        try bench.act(.online, on: phone)
        #expect(try bench.step(of: phone) == (arrives ? "delivering" : "cooking"))
        let codes: [DeviceLogEntry.Code] = arrives ? [] : [kept == 0 ? .notStored : .expired]
        #expect(try bench.codes(of: phone) == codes)
    }
}
