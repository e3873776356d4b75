import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Tests of a second card that the app has ended. Its reports do not affect the activity's own card.
struct DuplicateCardTests {
    private func tombstone(_ scene: Scene, _ local: String) -> CardState? {
        scene.store.rows.tombstones[.init(7, Sample.local(local))]?.state
    }

    private func reports(_ scene: Scene) throws -> [String] {
        let number = try scene.activity().number
        return scene.store.history.filter { $0.activity == number }.flatMap(\.entries)
            .filter { $0.kind == .reported }.map(\.detail)
    }

    @Test(arguments: [CardState.live, .ending, .ended, .dismissed, .gone])
    func `it neither ends nor dismisses nor revives the activity's own`(state: CardState) throws {
        var scene = try Scene.live()
        switch state {
        case .ending:
            try scene.end()
            try scene.deliver()
        case .ended: try scene.report(local: "card", .ended)
        case .dismissed: try scene.report(local: "card", .dismissed)
        case .gone: try scene.report(local: "card", .gone)
        default: break
        }
        let before = try scene.card()
        #expect(before.state == state)
        try scene.report(local: "twin", .duplicate, token: "u9")
        #expect(try scene.card() == before)
        #expect(tombstone(scene, "twin") == .ended)
        #expect(try reports(scene).filter { $0 == "duplicate" }.count == 1)
        // Late reports of the duplicate change nothing.
        for late in [CardReport.State.active, .dismissed, .duplicate] {
            try scene.report(local: "twin", late, token: "u9")
        }
        #expect(try scene.card() == before)
        #expect(try reports(scene).filter { $0 == "duplicate" }.count == 1, "told once")
    }

    @Test func `in an inventory it counts as a card that is not there`() throws {
        var scene = try Scene.live()
        var own = CardReport(localID: Sample.local("card"), type: scene.type, state: .active)
        own.activity = Sample.activityID("a")
        var twin = CardReport(localID: Sample.local("twin"), type: scene.type, state: .duplicate)
        twin.activity = Sample.activityID("a")
        _ = try scene.inventory(sequence: 1, [twin, own])
        #expect(try scene.card().localID?.text == "card" && scene.card().state == .live)
        #expect(tombstone(scene, "twin") == .ended)
    }

    @Test func `where the server took the twin for the card, the one that stays takes over, however old it is`() throws
    {
        var scene = try Scene.live()
        try scene.report(local: "card", .duplicate)
        #expect(try scene.card().state == .live && scene.card().localID == nil)
        try scene.put("a", 2)
        scene.wait(.seconds(70))
        #expect(try scene.deliver().isEmpty, "the twin's token is not used again")
        try scene.report(local: "stays", token: "u2") { $0.startedAt = Sample.now - .seconds(900) }
        #expect(try scene.card().localID?.text == "stays")
        scene.wait(.seconds(2))
        #expect(try scene.deliver().map(\.plan.kind) == [.update])
    }

    @Test func `where no card stays after all, an inventory says so`() throws {
        var scene = try Scene.live()
        try scene.report(local: "card", .duplicate)
        _ = try scene.inventory(sequence: 1)
        #expect(try scene.card().state == .gone)
    }

    @Test func `an open start stays open: the card of it may be the one that stays`() throws {
        var scene = Scene(Sample.type())
        try scene.register()
        try scene.put(users: ["ann"])
        scene.wait(.seconds(20))
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
        try scene.report(local: "twin", .duplicate)
        #expect(try scene.card().state == .unconfirmed)
        try scene.report(local: "own", token: "u1")
        #expect(try scene.card().state == .live && scene.card().localID?.text == "own")
    }

    @Test func `of an activity that nobody knows it makes none`() throws {
        var scene = Scene(Sample.type())
        try scene.register()
        try scene.report(local: "card", .duplicate, activity: "never-heard-of")
        #expect(scene.store.rows.activities.isEmpty)
        try scene.report(local: "card", .duplicate, activity: nil)
        #expect(scene.store.rows.cards.isEmpty)
    }
}
