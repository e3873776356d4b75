import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Tests of days, midnights, and cards that apps started themselves.
struct RefreshDayTests {
    @Test func `N2: the refresh is due again at the earliest local midnight, or when the provider wants it`() throws {
        var scene = RefreshScene()
        scene.zones.zones["Ahead"] = ZoneRules(offset: 9 * 3600)
        try scene.register("phone", zone: "UTC")
        try scene.register("tablet", zone: "Ahead")
        try scene.compute { _ in RefreshScene.show(1) }
        // 14:32 in UTC is 23:32 there.
        #expect(scene.record?.dueAt == scene.now + .seconds(28 * 60))
        #expect(scene.record?.pace == .paced)
        try scene.ask()
        let soon = scene.now + .seconds(60)
        try scene.compute { _ in
            var answer = RefreshAnswer(state: Sample.state(1))
            answer.askAgainAt = soon
            return .show(answer)
        }
        #expect(scene.record?.dueAt == soon)
        scene.now = soon
        #expect(try scene.claim().count == 1)
    }

    @Test func `a new day begins a new life where yesterday's card is over, not where it still runs`() throws {
        var scene = RefreshScene()
        try scene.register()
        try scene.compute { _ in RefreshScene.show(1) }
        try scene.report(shows: 1)
        try scene.report(state: .dismissed, shows: nil)
        try scene.ask()
        try scene.compute { _ in RefreshScene.show(2) }
        // On the same day, a card that was swiped away is not started again.
        #expect(scene.activity()?.run == 1)
        #expect(scene.card()?.state == .dismissed)
        scene.now = try #require(scene.record?.dueAt)
        try scene.compute { _ in RefreshScene.show(2) }
        #expect(scene.activity()?.run == 2)
        #expect(scene.activity()?.phase == .active)
        try scene.report("second", shows: 2)
        scene.now = scene.now + .seconds(86_400)
        try scene.compute { _ in RefreshScene.show(3) }
        #expect(scene.activity()?.run == 2)
    }

    @Test func `N7: a card that the app started itself is the device's card: equal content sends nothing`() throws {
        var scene = RefreshScene()
        try scene.register()
        try scene.report(shows: 1)
        #expect(scene.activity()?.phase == .announced)
        try scene.compute { _ in RefreshScene.show(1) }
        #expect(scene.activity()?.phase == .active)
        #expect(scene.card()?.shownRevision == 1)
        #expect(scene.store.rows.activities.count == 1)
        scene.now = scene.now + .seconds(60)
        #expect(try scene.pushes().isEmpty)
    }

    @Test func `N7: where app and server differ, the app's own card is updated and no second one is started`() throws {
        var scene = RefreshScene()
        try scene.register()
        try scene.report(shows: 1)
        try scene.compute { _ in RefreshScene.show(2) }
        scene.now = scene.now + .seconds(60)
        #expect(try scene.pushes().map(\.kind) == [.update])
    }

    @Test func `N7: a card the app started after the server had computed the same is adopted without a push`() throws {
        var scene = RefreshScene()
        try scene.register()
        try scene.compute { _ in RefreshScene.show(1) }
        try scene.report(shows: 1)
        scene.now = scene.now + .seconds(60)
        #expect(try scene.pushes().isEmpty)
        #expect(scene.card()?.state == .live)
        #expect(scene.store.rows.activities.count == 1)
    }

    @Test func `a card that shows something else than was computed is computed anew`() throws {
        var scene = RefreshScene()
        try scene.register()
        try scene.compute { _ in RefreshScene.show(1) }
        #expect(try scene.claim().isEmpty)
        try scene.report(shows: 2)
        #expect(try scene.claim().count == 1)
    }

    @Test func `an app's own card of something that is not due is ended`() throws {
        var scene = RefreshScene()
        try scene.register()
        try scene.report(shows: 1)
        try scene.compute { _ in .nothing }
        #expect(scene.activity()?.phase == .ended)
        scene.now = scene.now + .seconds(60)
        #expect(try scene.pushes().map(\.kind) == [.end])
    }

    @Test func `another owner of the phone gets another activity, and the first one's card is ended`() throws {
        var scene = RefreshScene()
        try scene.register()
        try scene.compute { _ in RefreshScene.show(1) }
        try scene.report(shows: 1)
        try scene.register("phone", user: "bob")
        try scene.compute { _ in RefreshScene.show(2) }
        #expect(scene.activity(of: "bob")?.phase == .active)
        #expect(scene.card()?.isWanted == false)
    }

    @Test func `a device that moves to another zone asks anew, and its memo there is its own`() throws {
        var scene = RefreshScene()
        try scene.register()
        try scene.compute { _ in RefreshScene.show(1, memo: 1) }
        try scene.register("phone", zone: "Asia/Tokyo")
        try scene.compute { zone in
            #expect(zone.name == "Asia/Tokyo")
            #expect(zone.memo == nil)
            return RefreshScene.show(1, memo: 2)
        }
        // The memo is kept for the rest of the day in case the person comes back. The next day it is deleted.
        #expect(scene.store.rows.memos.count == 2)
        scene.now = scene.now + .seconds(86_400)
        try scene.compute { _ in RefreshScene.show(1, memo: 3) }
        #expect(scene.store.rows.memos.map(\.key.zone) == ["Asia/Tokyo"])
    }

    @Test(arguments: [
        ("focus", "ann", "phone", "focus/ann/phone"), ("a/b", "c%d", "e", "a%2Fb/c%25d/e"),
        ("a", "b/c", "d", "a/b%2Fc/d"), ("a", "b", "c/d", "a/b/c%2Fd"),
    ])
    func `the id of a provided activity names type, person and device, and no two are one`(
        type: String, user: String, device: String, id: String
    ) {
        #expect(ProvidedActivity.id(type: type, user: Sample.user(user), device: Sample.device(device)).text == id)
    }

    @Test func `an id that would be too long is a digest`() throws {
        let long = String(repeating: "u", count: 250)
        let id = ProvidedActivity.id(type: "focus", user: Sample.user(long), device: Sample.device("d"))
        #expect(id.text.utf8.count == 33)
        #expect(id != ProvidedActivity.id(type: "focus", user: Sample.user(long), device: Sample.device("e")))
        _ = try ActivityID(id.text)
    }
}
