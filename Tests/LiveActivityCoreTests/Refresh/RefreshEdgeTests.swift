import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Tests of answers that come at the wrong moment or ask for the impossible.
struct RefreshEdgeTests {
    @Test func `what a run says while another one is under way is not written`() throws {
        var scene = RefreshScene()
        try scene.register()
        let lost = try #require(try scene.claim().first)
        scene.node = 2
        let run = try #require(try scene.claim().first)
        let late = try scene.finish(lost) { _ in RefreshScene.show(1) }
        #expect(late.isLate && scene.activity() == nil)
        let reply = try scene.finish(run) { _ in RefreshScene.show(2) }
        #expect(!reply.isLate && scene.state() == .object(Sample.state(2)))
    }

    @Test func `a provider that wants to be asked again in the past is asked a second later`() throws {
        var scene = RefreshScene()
        try scene.register()
        var answer = RefreshAnswer(state: Sample.state(1))
        answer.askAgainAt = scene.now - .seconds(60)
        try scene.compute { _ in .show(answer) }
        #expect(scene.record?.dueAt == scene.now + .seconds(1))
        answer.askAgainAt = scene.now + .seconds(60)
        scene.now = scene.now + .seconds(1)
        try scene.compute { _ in .show(answer) }
        #expect(scene.record?.dueAt == scene.now + .seconds(59))
    }

    @Test func `who moved while it was computed is not shown another zone's day`() throws {
        var scene = RefreshScene()
        try scene.register()
        try scene.register("tablet")
        let run = try #require(try scene.claim().first)
        try scene.register("tablet", zone: "Asia/Tokyo")
        try scene.finish(run) { _ in RefreshScene.show(1) }
        #expect(scene.state(on: "phone") == .object(Sample.state(1)))
        #expect(scene.activity(on: "tablet") == nil)
        // The device's move has asked for another refresh.
        let next = try #require(try scene.claim().first)
        #expect(next.zones.map(\.name) == ["Asia/Tokyo", "Europe/Berlin"])
    }

    @Test func `no more people are computed at once than there is room for, those of lost processes among them`() throws
    {
        var scene = RefreshScene()
        for user in ["ann", "bob", "cleo"] { try scene.register("\(user)'s", user: user) }
        #expect(try scene.claim(limit: 2).count == 2)
        scene.node = 2
        #expect(try scene.claim(limit: 1).count == 1)
        #expect(try scene.claim(limit: 9).count == 2)
    }

    @Test func `a lease is long enough for each zone to be asked about in turn`() throws {
        var scene = RefreshScene()
        try scene.register()
        try scene.register("tablet", zone: "Asia/Tokyo")
        let run = try #require(try scene.claim().first)
        #expect(run.zones.count == 2)
        #expect(scene.record?.dueAt == scene.now + .seconds(10 * 2 + 10))
    }
}
