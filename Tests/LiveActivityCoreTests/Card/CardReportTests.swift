import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

struct CardReportTests {
    private func started(_ type: ActivityType = Sample.type()) throws -> Scene {
        var scene = Scene(type)
        try scene.register()
        try scene.put(users: ["ann"]) { $0.attributes = ["shop": "here"] }
        scene.wait(.seconds(20))
        try scene.deliver()
        #expect(try scene.card().state == .unconfirmed)
        return scene
    }

    private func tombstone(_ scene: Scene, _ local: String) -> CardState? {
        scene.store.rows.tombstones[.init(7, Sample.local(local))]?.state
    }

    @Test func `a card is known by its tag, by the attribute that the type names, or by what it carries`() throws {
        var tagged = try started()
        try tagged.report(activity: nil, token: "u1") { $0.attributes = ["islet": ["activity": "a"]] }
        #expect(try tagged.card().state == .live)
        var named = try started(Sample.type("order", activityIDAttribute: "/id"))
        try named.report(activity: nil, token: "u1") { $0.attributes = ["shop": "here", "id": "a"] }
        #expect(try named.card().localID?.text == "card")
        var matched = try started()
        try matched.report(activity: nil, token: "u1") { $0.attributes = ["shop": "here"] }
        #expect(try matched.card().state == .live)
        #expect(throws: Refusal.activityNotNamed) { try matched.report(local: "x", activity: nil) }
        #expect(throws: Refusal.activityNotNamed) {
            try matched.report(local: "x", activity: nil) { $0.attributes = ["shop": "elsewhere"] }
        }
    }

    @Test func `a UUID that Swift wrote in capitals is the activity that was named in small letters`() throws {
        let id = "0e984725-c51c-4bf4-9960-e1c80e27aba0"
        var scene = Scene(Sample.type("order", activityIDAttribute: "/id"))
        try scene.register()
        try scene.put(id, users: ["ann"]) { $0.attributes = [:] }
        scene.wait(.seconds(20))
        try scene.deliver()
        try scene.report(activity: nil, token: "u1") { $0.attributes = ["id": .string(id.uppercased())] }
        #expect(scene.store.rows.activities.count == 1)
        #expect(try scene.card(of: id).state == .live)
    }

    @Test func `a card that the app reports in capitals first is the activity that is set in small letters`() throws {
        let id = "0e984725-c51c-4bf4-9960-e1c80e27aba0"
        var scene = Scene(Sample.type("order", activityIDAttribute: "/id"))
        try scene.register()
        try scene.report(activity: nil, token: "u1") { $0.attributes = ["id": .string(id.uppercased())] }
        #expect(try scene.activity(id).phase == .announced)
        scene.wait(.seconds(20))
        try scene.put(id, 2, users: ["ann"]) { $0.attributes = ["id": .string(id)] }
        #expect(scene.store.rows.activities.values.map(\.id.text) == [id])
        #expect(try scene.deliver().map(\.plan.kind) == [.update])
        try scene.end(id.uppercased())
        #expect(try scene.activity(id).phase == .ended)
    }

    @Test func `a card of another type does not become this activity's`() throws {
        var scene = Scene(Sample.type(), Sample.type("ride"))
        try scene.register()
        try scene.put(users: ["ann"])
        #expect(throws: Refusal.typeDiffers(Sample.activityID("a"), is: "order")) {
            try scene.report(type: Sample.type("ride"))
        }
        var stray = CardReport(localID: Sample.local("x"), type: Sample.type("ride"), state: .active)
        stray.activity = Sample.activityID("a")
        var good = CardReport(localID: Sample.local("y"), type: Sample.type(), state: .active)
        good.activity = Sample.activityID("a")
        _ = try scene.inventory(sequence: 1, [stray, good])
        #expect(try scene.card().localID?.text == "y")
    }

    @Test func `a card that is reported before the first state keeps its token for it`() throws {
        var scene = Scene()
        try scene.register()
        try scene.report(token: "u1") { $0.attributes = ["shop": "here"] }
        #expect(try scene.activity().phase == .announced)
        #expect(try scene.deliver().isEmpty)
        #expect(throws: Refusal.notAnActivityYet(Sample.activityID("a"))) { try scene.end() }
        scene.wait(.seconds(5))
        try scene.put { $0.alert = SetDesiredState.AlertWish(Sample.alert) }
        let sent = try scene.deliver()
        #expect(sent.map(\.plan.kind) == [.update] && sent.first?.plan.carriesAlert == true)
        // A second registration replaces the token (B3).
        try scene.report(token: "u2")
        scene.wait(.seconds(2))
        let again = try scene.deliver()
        #expect(again.first?.phone.updateToken?.value == TokenValue(Sample.token("u2", as: UpdateTokenKind.self)))
        #expect(again.first?.plan.carriesAlert == false)
    }

    @Test func `news of a card that is over touches nothing`() throws {
        for state in [CardReport.State.ended, .dismissed, .gone] {
            var scene = try Scene.live()
            try scene.report("phone", state)
            let over = try scene.card()
            #expect(over.state.isTombstone && tombstone(scene, "card") == over.state)
            try scene.report(token: "u9")
            #expect(try scene.card() == over)
            #expect(scene.store.rows.updateTokens.isEmpty)
        }
    }

    @Test func `the person's word outranks a guess, and a guess nothing`() throws {
        var scene = try Scene.live()
        try scene.report("phone", .gone)
        try scene.report("phone", .dismissed)
        #expect(tombstone(scene, "card") == .dismissed)
        try scene.report(local: "next")
        #expect(tombstone(scene, "card") == .dismissed)
        #expect(try scene.card().state == .live)
    }

    @Test func `a card that replaces another is told from it`() throws {
        var scene = try Scene.live()
        try scene.put("a", 2)
        scene.wait(.seconds(2))
        let flight = try scene.onlyFlight()
        // Without a token the new card cannot be pushed to, and the first one may still be there.
        try scene.report(local: "new")
        #expect(try scene.card().localID == Sample.local("card"))
        try scene.report(local: "new", token: "u2")
        #expect(tombstone(scene, "card") == .ended)
        // The old card's 410 does not affect the new card. It shows that the old card needs no end.
        try scene.settle(flight) { _ in .answered(.success(PushAnswer(status: 410, reason: APNSReason("Unregistered"))))
        }
        #expect(try scene.card().state == .live)
        scene.wait(.seconds(2))
        #expect(try scene.deliver().map(\.plan.reason.code) == [.freshToken])
        // A late report of an older card does not put it back.
        try scene.report(local: "older", token: "u3") { $0.startedAt = Sample.now - .seconds(900) }
        #expect(try scene.card().localID?.text == "new" && tombstone(scene, "older") == .gone)
    }

    @Test func `late news of an earlier run does not touch the next`() throws {
        var scene = try Scene.live()
        try scene.end()
        scene.wait(.seconds(2))
        try scene.deliver()
        scene.wait(.seconds(60))
        try scene.put("a", 2) { $0.reopen = true }
        try scene.report("phone", .dismissed)
        scene.wait(.seconds(90))
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
        // A card of the first run that was never reported, with and without its start time.
        try scene.report(local: "lost", .dismissed) { $0.startedAt = Sample.now }
        try scene.report(local: "lost2", .dismissed)
        #expect(try scene.card().state == .unconfirmed && scene.card().run == 2)
        #expect(tombstone(scene, "lost") == .ended && tombstone(scene, "lost2") == .dismissed)
        try scene.report(local: "second", token: "u2")
        #expect(try scene.card().state == .live)
    }

    @Test func `an activity that is opened anew before its card was ended never has two cards`() throws {
        for token in ["u1", "u2"] {
            var scene = try Scene.live()
            try scene.end()
            try scene.put("a", 2) { $0.reopen = true }
            // The old card's token may still rotate. Its end goes to the newest token.
            if token == "u2" { try scene.report(token: token) }
            scene.wait(.seconds(90))
            let sent = try scene.deliver()
            #expect(sent.map(\.plan.kind) == [.end, .start])
            #expect(sent.map(\.plan.reason.code) == [.earlierRun, .firstState])
            #expect(sent.first?.phone.updateToken?.value == TokenValue(Sample.token(token, as: UpdateTokenKind.self)))
            #expect(try scene.card().run == 2 && scene.card().state == .unconfirmed)
        }
    }

    @Test func `an open start of an earlier run holds the next run's`() throws {
        var scene = Scene()
        try scene.register()
        try scene.put(users: ["ann"])
        scene.wait(.seconds(90))
        try scene.deliver()
        try scene.end()
        try scene.put("a", 2) { $0.reopen = true }
        scene.wait(.seconds(90))
        #expect(try scene.deliver().isEmpty)
        // The card is reported after all. It is ended, and then the new one starts.
        try scene.report(local: "late", token: "u1") { $0.startedAt = Sample.now }
        scene.wait(.seconds(90))
        #expect(try scene.deliver().map(\.plan.kind) == [.end, .start])
    }

    @Test func `a contradicted state is sent again, three times a revision`() throws {
        var scene = try Scene.live()
        for revision in 2...3 {
            try scene.put("a", revision)
            scene.wait(.seconds(2))
            #expect(try scene.deliver().count == 1)
            var repeats = 0
            for _ in 0..<6 {
                try scene.report { $0.contentState = Sample.state(99) }
                scene.wait(.seconds(2))
                let sent = try scene.deliver()
                repeats += sent.count
                #expect(sent.allSatisfy { $0.plan.reason.code == .phoneBehind && $0.plan.priority == .low })
            }
            #expect(repeats == 3)
        }
        try scene.report { $0.contentState = Sample.state(3) }
        #expect(try scene.card().shownRevision == 3 && scene.card().revisions.contradictions == 0)
    }

    @Test func `a timestamp of the phone's binds ours unless it is far ahead`() throws {
        var scene = try Scene.live()
        let before = try scene.card().timestamp
        let now = scene.now.seconds
        // A timestamp that no push can reach is ignored.
        try scene.report { $0.lastTimestamp = now + 25_200 }
        #expect(try scene.card().timestamp == before)
        try scene.report { $0.lastTimestamp = now + 25_199 }
        try scene.put("a", 2)
        scene.wait(.seconds(2))
        #expect(try scene.deliver().first?.timestamp == now + 25_200)
    }

    // MARK: - Inventory

    @Test func `a start is absent only from an inventory three minutes after its expiration`() throws {
        for isAwaited in [false, true] {
            var scene = Scene()
            try scene.register()
            try scene.put(users: ["ann"])
            scene.wait(.seconds(20))
            let flight = try scene.onlyFlight()
            let until = scene.now + .seconds(20)
            try scene.settle(flight) { _ in
                isAwaited ? .awaited(until: until) : .answered(.success(PushAnswer(status: 200)))
            }
            scene.wait(.seconds(300))
            _ = try scene.inventory(sequence: 1)
            #expect(try scene.deliver().isEmpty)
            // The inventory was made before the start came, and took two minutes to arrive.
            scene.wait(.seconds(122))
            _ = try scene.inventory(sequence: 2)
            #expect(try scene.deliver().isEmpty)
            scene.wait(.seconds(58) + .milliseconds(1))
            _ = try scene.inventory(sequence: 3)
            #expect(try scene.card().state == .absent)
            #expect(scene.store.rows.deviceTokens[.init(7, .pushToStart, "order")]?.missedStarts == 1)
            #expect(try scene.deliver().map(\.plan.kind) == [.start])
        }
    }

    @Test func `what an inventory does not list is gone, or ended where that was asked`() throws {
        var live = try Scene.live()
        #expect(try live.inventory(sequence: 5).supersededBy == nil)
        #expect(try live.card().state == .gone && tombstone(live, "card") == .gone)
        #expect(try live.inventory(sequence: 5).supersededBy == 5)
        var ending = try Scene.live()
        try ending.end()
        ending.wait(.seconds(2))
        try ending.deliver()
        _ = try ending.inventory(sequence: 1)
        #expect(try ending.card().state == .ended)
    }

    @Test func `the app's word holds a start back for two minutes`() throws {
        var scene = Scene()
        try scene.register()
        try scene.put(users: ["ann"])
        try scene.report(local: "soon", .requesting)
        scene.wait(.seconds(119))
        #expect(try scene.deliver().isEmpty && scene.decision().reason.code == .requesting)
        scene.wait(.seconds(1))
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
    }

    @Test func `a card that the app could not start is started by a push at once, unless it has spoken since`() throws {
        var scene = Scene()
        try scene.register()
        try scene.put(users: ["ann"])
        try scene.report(local: "soon", .requesting) { $0.sequence = 3 }
        scene.wait(.seconds(20))
        #expect(try scene.deliver().isEmpty)
        try scene.report(local: "soon", .notStarted) { $0.sequence = 2 }
        #expect(try scene.deliver().isEmpty, "an older word is not about this start")
        try scene.report(local: "soon", .notStarted) { $0.sequence = 4 }
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
        // A late report changes nothing.
        try scene.report(local: "soon", .notStarted) { $0.sequence = 5 }
        #expect(try scene.card().hasOpenStart)
    }

    @Test func `the app's word holds back the start of the next run as long`() throws {
        var scene = Scene()
        try scene.register()
        try scene.put(users: ["ann"])
        try scene.report(local: "soon", .requesting)
        scene.wait(.seconds(5))
        try scene.end()
        scene.wait(.seconds(5))
        try scene.put("a", 2) { $0.reopen = true }
        scene.wait(.seconds(109))
        #expect(try scene.deliver().isEmpty && scene.decision().reason.code == .requesting)
        scene.wait(.seconds(1))
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
    }

    @Test func `a start held behind another goes when that one's card is matched`() throws {
        var scene = Scene()
        try scene.register()
        try scene.put("a", users: ["ann"])
        try scene.put("b", users: ["ann"])
        scene.wait(.seconds(20))
        // Both are due in one claim, but only one is sent.
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
        let first = try scene.card(of: "a").state == .unconfirmed ? "a" : "b"
        let second = first == "a" ? "b" : "a"
        #expect(try scene.decision(of: second).reason.code == .otherStartOpen)
        try scene.report(activity: first, token: "u1")
        scene.wait(.seconds(1))
        try scene.deliver()
        #expect(try scene.card(of: second).state == .unconfirmed)
    }
}
