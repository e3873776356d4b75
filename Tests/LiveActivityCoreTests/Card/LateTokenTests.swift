import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Tests of a card that counts as over because of a 410 alone. It may be alive, since iOS replaces tokens before the
/// app can report them.
///
/// Only another token of that card that is not known to be dead brings it back.
struct LateTokenTests {
    /// The card `card` had the tokens u0 and u1, and APNs has refused u1.
    private func buried() throws -> Scene {
        var scene = Scene(Sample.type { $0.restart = .onAlert })
        try scene.register()
        try scene.put(users: ["ann"])
        scene.wait(.seconds(20))
        try scene.deliver()
        try scene.report(token: "u0")
        try scene.report(token: "u1")
        try scene.put("a", 2)
        scene.wait(.seconds(70))
        try refuse(&scene)
        #expect(try scene.card().state == .gone)
        return scene
    }

    private func refuse(_ scene: inout Scene) throws {
        try scene.deliver(PushAnswer(status: 410, reason: APNSReason("ExpiredToken"), inactiveSince: scene.now))
    }

    @Test func `a late report of the same token, of one that it had replaced, or of none brings nothing back`() throws {
        for token in ["u1", "u0", nil] {
            var scene = try buried()
            let before = try scene.card()
            try scene.report(token: token)
            _ = try scene.inventory(sequence: 1, [report(scene, token)])
            #expect(try scene.card() == before, "\(token ?? "none")")
        }
    }

    private func report(_ scene: Scene, _ token: String?) -> CardReport {
        var report = CardReport(localID: Sample.local("card"), type: scene.type, state: .active)
        report.activity = Sample.activityID("a")
        report.token = token.map { Sample.token($0) }
        return report
    }

    @Test func `a newer token of the card brings it back, and then nothing starts a second one beside it`() throws {
        var scene = try buried()
        _ = try scene.inventory(sequence: 1, [report(scene, "u2")])
        #expect(try scene.card().state == .live)
        try scene.put("a", 3) { $0.alert = .init(PushAlert(title: .text("Look"), body: nil)) }
        scene.wait(.seconds(70))
        #expect(try scene.deliver().map(\.plan.kind) == [.update])
    }

    @Test func `one that nobody had named and that is as dead costs one push, and starts nothing`() throws {
        var scene = try buried()
        try scene.report(token: "never-named")
        #expect(try scene.card().state == .live)
        scene.wait(.seconds(70))
        try refuse(&scene)
        #expect(try scene.card().state == .gone)
        scene.wait(.seconds(3_600))
        #expect(try scene.deliver().isEmpty)
        try scene.report(token: "never-named")
        #expect(try scene.card().state == .gone)
    }

    @Test func `after an inventory that lacks it nothing does`() throws {
        var scene = try buried()
        scene.wait(ReportInventory.travel)
        _ = try scene.inventory(sequence: 1)
        try scene.report(token: "u2")
        #expect(try scene.card().state == .gone)
    }

    @Test(arguments: [CardReport.State.dismissed, .ended, .gone])
    func `what the phone itself has said is over stays over`(state: CardReport.State) throws {
        var scene = try Scene.live()
        try scene.report(local: "card", state)
        let before = try scene.card()
        try scene.report(token: "u2")
        #expect(try scene.card() == before)
    }

    @Test func `a reinstalled app is another device, whatever local id its card has`() throws {
        var scene = try buried()
        let before = try scene.card()
        try scene.register("phone-2", startToken: "p2", key: 8)
        try scene.report("phone-2", token: "u2")
        #expect(try scene.card() == before)
        #expect(try scene.card("phone-2").state == .live)
    }

    @Test func `a report under that local id that names another activity is of the card that it was, or of none`()
        throws
    {
        var scene = try buried()
        try scene.put("b", 1, users: ["ann"])
        try scene.report(activity: "b", token: "u2")
        #expect(try scene.card().state == .live, "a local id is one card, whatever it is called")
        #expect(try scene.card(of: "b").localID == nil)
    }
}
