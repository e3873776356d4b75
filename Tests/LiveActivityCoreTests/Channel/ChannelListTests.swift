import APNSModel
import LiveActivityCore
import TestSupport
import Testing

/// APNs's list of channels, and what it tells about creations whose answers were lost.
struct ChannelListTests {
    private static let lost = BroadcastError(.unknownFate, "no answer")

    @Test func `a creation of unknown fate is found in the list, and no second channel is made`() throws {
        var scene = try Scene.onChannel()
        try scene.put(users: ["phone"])
        try scene.deliver()
        try scene.settle(try #require(try scene.claimChannels().errands.first), .failed(Self.lost))
        scene.wait(.seconds(60))
        let reply = try scene.claimChannels()
        #expect(reply.errands.isEmpty && reply.sought == [Scene.route])
        let id = try #require(ChannelID("AAAABBBB"))
        #expect(try scene.run(TakeChannelList(Scene.route, [id], now: scene.now)).found == 1)
        #expect(try scene.deliverAll().seats.first?.plan.channel == id)
    }

    @Test func `a creation that made no channel is made again`() throws {
        var scene = try Scene.onChannel()
        try scene.put(users: ["phone"])
        try scene.deliver()
        try scene.settle(try #require(try scene.claimChannels().errands.first), .failed(Self.lost))
        scene.wait(.seconds(60))
        _ = try scene.claimChannels()
        _ = try scene.run(TakeChannelList(Scene.route, [], now: scene.now))
        #expect(try scene.broadcast().map(\.flight.kind) == [.create])
    }

    @Test func `a lost creation is looked for when its call cannot be on its way any more`() throws {
        var scene = try Scene.onChannel()
        try scene.put(users: ["phone"])
        try scene.deliver()
        let errand = try #require(try scene.claimChannels().errands.first)
        scene.node = 2
        #expect(try scene.claimChannels().rescued == 1)
        scene.now = errand.flight.leaseUntil - .milliseconds(1)
        #expect(try scene.claimChannels().sought.isEmpty)
        #expect(try scene.run(TakeChannelList(Scene.route, [], now: scene.now)).found == 0)
        #expect(try scene.channel()?.life == .lost, "a list for another reason tells nothing")
        scene.now = errand.flight.leaseUntil
        #expect(try scene.claimChannels().sought == [Scene.route])
    }

    @Test func `a list tells nothing about a creation that may still be on its way, nor about unknown ids`() throws {
        var scene = try Scene.onChannel()
        try scene.put(users: ["phone"])
        try scene.deliver()
        try scene.settle(try #require(try scene.claimChannels().errands.first), .failed(Self.lost))
        scene.wait(.seconds(60))
        let id = try #require(ChannelID("AAAABBBB"))
        #expect(try scene.run(TakeChannelList(Scene.route, [id], isCertain: false, now: scene.now)).found == 0)
        #expect(try scene.channel()?.life == .lost && scene.store.rows.strangers.isEmpty)
        #expect(try scene.run(TakeChannelList(Scene.route, [id], now: scene.now)).found == 1)
    }

    @Test func `a list that a deletion overlaps tells nothing about unknown ids`() throws {
        var scene = try Scene.onChannel()
        let id = try #require(ChannelID("AAAABBBB"))
        #expect(try scene.run(TakeChannelList(Scene.route, [id], isWhole: false, now: scene.now)).foreign == 0)
        #expect(scene.store.rows.strangers.isEmpty)
        #expect(try scene.run(TakeChannelList(Scene.route, [id], now: scene.now)).foreign == 1)
        #expect(scene.store.rows.strangers.map(\.id) == [id])
    }

    @Test func `an unknown id is nobody else's while a creation is on its way`() throws {
        var scene = try Scene.onChannel()
        try scene.put(users: ["phone"])
        try scene.deliver()
        #expect(try scene.claimChannels().errands.map(\.flight.kind) == [.create])
        let id = try #require(ChannelID("AAAABBBB"))
        #expect(try scene.run(TakeChannelList(Scene.route, [id], now: scene.now)).foreign == 0)
        #expect(scene.store.rows.strangers.isEmpty)
    }

    @Test func `a channel of somebody else is never taken, and stays known`() throws {
        var scene = try Scene.onChannel()
        let theirs = try #require(ChannelID("CCCCDDDD"))
        #expect(try scene.run(TakeChannelList(Scene.route, [theirs], now: scene.now)).foreign == 1)
        try scene.put(users: ["phone"])
        try scene.deliver()
        try scene.settle(try #require(try scene.claimChannels().errands.first), .failed(Self.lost))
        scene.wait(.seconds(60))
        _ = try scene.claimChannels()
        #expect(try scene.run(TakeChannelList(Scene.route, [theirs], now: scene.now)).found == 0)
        #expect(try scene.channel()?.life == .wanted)
        // Two new ids and one lost creation: nobody can tell which is whose.
        try scene.settle(try #require(try scene.claimChannels().errands.first), .failed(Self.lost))
        scene.wait(.seconds(60))
        _ = try scene.claimChannels()
        let two = ["EEEEFFFF", "GGGGHHHH"].compactMap { ChannelID($0) }
        #expect(try scene.run(TakeChannelList(Scene.route, [theirs] + two, now: scene.now)).found == 0)
        #expect(scene.store.rows.strangers.count == 3)
        _ = try scene.run(TakeChannelList(Scene.route, [theirs], now: scene.now))
        #expect(scene.store.rows.strangers.map(\.id) == [theirs], "a channel that is gone is forgotten")
    }

    @Test func `a list that cannot tell whose its ids are says so`() throws {
        var scene = try Scene.onChannel()
        let ids = ["CCCCDDDD", "EEEEFFFF"].compactMap { ChannelID($0) }
        #expect(try !scene.run(TakeChannelList(Scene.route, ids, isWhole: false, now: scene.now)).isJudged)
        #expect(scene.store.rows.strangers.isEmpty)
        #expect(try scene.run(TakeChannelList(Scene.route, ids, now: scene.now)).isJudged)
        #expect(scene.store.rows.strangers.count == 2)
        // Of ids that are known there is nothing to tell.
        #expect(try scene.run(TakeChannelList(Scene.route, ids, isWhole: false, now: scene.now)).isJudged)
    }

    @Test func `where somebody else makes channels, or storage differs, a lost creation is made anew`() throws {
        let (theirs, new) = (try #require(ChannelID("CCCCDDDD")), try #require(ChannelID("EEEEFFFF")))
        var scene = try Scene.onChannel()
        _ = try scene.run(TakeChannelList(Scene.route, [theirs], now: scene.now))
        try scene.put(users: ["phone"])
        try scene.deliver()
        try scene.settle(try #require(try scene.claimChannels().errands.first), .failed(Self.lost))
        scene.wait(.seconds(60))
        let reply = try scene.run(TakeChannelList(Scene.route, [theirs, new], now: scene.now))
        #expect(reply.found == 0 && reply.foreign == 2)
        #expect(try scene.channel()?.life == .wanted)
    }

    @Test func `a lost creation waits until its call cannot be on its way, and only its route waits`() throws {
        var scene = try Scene.onChannel()
        try scene.put(users: ["phone"])
        try scene.deliver()
        try scene.settle(try #require(try scene.claimChannels().errands.first), .failed(Self.lost))
        scene.wait(.seconds(60))
        #expect(try scene.claimChannels(certainIn: [Scene.route: .seconds(20)]).sought.isEmpty)
        #expect(try scene.channel()?.dueAt == scene.now + .seconds(20))
        scene.wait(.seconds(20))
        let other = PushRoute(Sample.bundleID, .sandbox)
        #expect(try scene.claimChannels(certainIn: [other: .seconds(20)]).sought == [Scene.route])
    }

    @Test func `a list that stays refused is asked for after each pause, and the timeline says each reason once`()
        throws
    {
        var scene = try Scene.onChannel {
            $0.delivery = .auto
            $0.join = .open
        }
        try scene.put(users: ["phone"])
        try scene.deliver()
        let refusal = BroadcastError(.refused(status: 400, reason: .known(.featureNotEnabled)), "")
        for _ in 0..<3 {
            #expect(try scene.claimChannels(inUse: nil).unlisted == [Scene.route])
            _ = try scene.run(RefuseChannels(Scene.route, refusal, now: scene.now))
            #expect(try scene.channel()?.dueAt == scene.now + ChannelReconciler.refusalPause)
            scene.wait(ChannelReconciler.refusalPause)
        }
        #expect(scene.refusals == [Reason(.channelRefused, "FeatureNotEnabled")])
        _ = try scene.run(RefuseChannels(Scene.route, BroadcastError(.cannotConnect, "down"), now: scene.now))
        #expect(scene.refusals.count == 2)
    }
}
