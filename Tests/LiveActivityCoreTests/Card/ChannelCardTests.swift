import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Tests of cards on a broadcast channel. iOS gives them no update token, so the server tracks them and sends
/// nothing.
struct ChannelCardTests {
    private let channel = Sample.channel

    /// A phone whose app has started a card on the channel, while the server has a newer state.
    private func onChannel(_ type: ActivityType = Sample.type()) throws -> Scene {
        var scene = Scene(type)
        try scene.register()
        try scene.report { $0.channel = channel }
        try scene.put(users: ["ann"])
        return scene
    }

    private func card(_ local: String, _ scene: Scene, token: String? = nil) -> CardReport {
        var report = CardReport(localID: Sample.local(local), type: scene.type, state: .active)
        report.activity = Sample.activityID("a")
        report.token = token.map { Sample.token($0) }
        report.channel = token == nil ? channel : nil
        return report
    }

    @Test func `is sent no start, no state and no end, and the reason names the channel`() throws {
        var scene = try onChannel()
        #expect(try scene.deliver().isEmpty)
        #expect(try scene.decision() == .nothing(Reason(.onChannel, "dHN0LXNyY2gtY2hubA==")))
        scene.wait(.seconds(60))
        try scene.put("a", 2)
        scene.wait(.seconds(60))
        #expect(try scene.deliver().isEmpty)
        try scene.end()
        #expect(try scene.deliver().isEmpty)
        #expect(try scene.decision().reason.code == .onChannel && scene.card().state == .live)
        try scene.report("phone", .ended)
        #expect(try scene.decision().reason.code == .cardEnded)
    }

    @Test func `that shows the state says so, and is up to date`() throws {
        var scene = try onChannel()
        try scene.report { report in
            report.channel = channel
            report.contentState = Sample.state(1)
        }
        #expect(try scene.decision() == .nothing(Reason(.upToDate)))
    }

    @Test func `is started anew by its app alone`() throws {
        var scene = try onChannel(Sample.type { $0.renewal = true })
        for _ in 0..<9 {
            scene.wait(.seconds(3_600))
            #expect(try scene.deliver().isEmpty)
        }
        #expect(try scene.card().state == .live)
    }

    @Test func `keeps its channel where a report says neither, and loses it to a token`() throws {
        var scene = try onChannel()
        try scene.report("phone", .stale)
        #expect(try scene.card().channel == channel)
        try scene.report(token: "u1")
        #expect(try scene.card().channel == nil)
        #expect(try scene.deliver().map(\.plan.kind) == [.update])
    }

    @Test func `ends with the run that it was in, or when iOS has taken it away`() throws {
        var scene = try onChannel(Sample.type { $0.isReusable = true })
        try scene.end()
        scene.wait(.seconds(60))
        try scene.put("a", 2) { $0.reopen = true }
        scene.wait(.seconds(60))
        #expect(try scene.deliver().isEmpty)
        #expect(try scene.decision().reason.code == .onChannel)
        scene.wait(.seconds(13 * 3_600))
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
    }

    // MARK: - Beside a card with a token

    @Test(arguments: [true, false])
    func `and one with a token are no duplicates: the server goes by the token, and ends neither`(
        inInventory: Bool
    ) throws {
        for channelFirst in [true, false] {
            var scene = try Scene.live()
            if channelFirst {
                scene = try onChannel()
                _ = try scene.deliver()
            }
            let both = [card("on-channel", scene), card(channelFirst ? "with-token" : "card", scene, token: "u1")]
            for sequence in Int64(1)...3 {
                scene.wait(.seconds(60))
                for cards in [both, both.reversed()] {
                    if inInventory {
                        _ = try scene.inventory(sequence: sequence, cards)
                    } else {
                        for report in cards { try scene.report(local: report.localID.text) { $0 = report } }
                    }
                }
                #expect(try !scene.deliver().contains { $0.plan.kind != .update })
                #expect(try scene.card().localID == both[1].localID && scene.card().channel == nil)
            }
            #expect(scene.store.rows.updateTokens.values.allSatisfy { $0.predecessor == nil })
        }
    }

    @Test func `takes the place of one with a token that is over`() throws {
        var scene = try Scene.live()
        try scene.report(local: "on-channel") { $0.channel = channel }
        #expect(try scene.card().localID == Sample.local("card"))
        try scene.report("phone", .gone)
        try scene.report(local: "on-channel") { $0.channel = channel }
        #expect(try scene.card().channel == channel && scene.card().state == .live)
    }

    @Test func `that a card with a token had taken the place of is there again when that is over`() throws {
        for end in [CardReport.State.gone, .ended, .dismissed] {
            var scene = try onChannel()
            try scene.report(local: "with-token", token: "u1")
            #expect(try scene.card().localID == Sample.local("with-token"))
            scene.wait(.seconds(60))
            try scene.deliver()
            try scene.report(local: "with-token", end)
            #expect(try !scene.card().state.mayHaveCard)
            _ = try scene.inventory(sequence: 1, [card("card", scene)])
            #expect(try scene.card().channel == channel && scene.card().state == .live)
        }
    }

    @Test func `takes the place of one with a token that an inventory lacks, and no other is started`() throws {
        var scene = try Scene.live(Sample.type { $0.restart = .always })
        scene.wait(.seconds(60))
        _ = try scene.inventory(sequence: 1, [card("on-channel", scene)])
        #expect(try scene.card().channel == channel)
        scene.wait(.seconds(600))
        try scene.put("a", 2)
        scene.wait(.seconds(60))
        #expect(try scene.deliver().isEmpty)
    }

    @Test func `is not brought back by a late report after its end`() throws {
        var scene = try onChannel()
        try scene.changeAudience(remove: ["ann"])
        try scene.report("phone", .ended)
        try scene.changeAudience(add: ["ann"])
        try scene.report { $0.channel = channel }
        #expect(try scene.card().state == .absent)
    }

    @Test func `that an inventory lacked and a later one lists lives on`() throws {
        var scene = try onChannel()
        scene.wait(.seconds(60))
        _ = try scene.inventory(sequence: 1, [])
        #expect(try scene.card().state == .gone)
        scene.wait(.seconds(60))
        _ = try scene.inventory(sequence: 2, [card("card", scene)])
        #expect(try scene.card().state == .live && scene.card().channel == channel)
    }
}
