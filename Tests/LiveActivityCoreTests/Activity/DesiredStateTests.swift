import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

struct DesiredStateTests {
    @Test func `the same content in other words changes nothing`() throws {
        var scene = Scene()
        func put(_ text: String) throws -> SetDesiredState.Reply {
            let state = try #require(try JSONValue(parsing: Array(text.utf8)).object)
            return try scene.put { $0.state = state }
        }
        #expect(try put(#"{"a":5,"b":[1,{"c":"é"}]}"#).changed)
        scene.wait(.seconds(9))
        for text in [#"{"b":[1.0,{"c":"\u00e9"}],"a":5.0}"#, #"{ "a" : 5e0, "b" : [1, {"c":"é"}] }"#] {
            let reply = try put(text)
            #expect(!reply.changed && reply.revision == 1)
        }
        #expect(try scene.activity().acceptedAt == scene.now)
        #expect(try put(#"{"a":5,"b":[{"c":"é"},1]}"#).revision == 2)
        #expect(try put(#"{"a":"5","b":[1,{"c":"é"}]}"#).revision == 3)
    }

    @Test func `other attributes are refused while the run lasts, and kept for the next`() throws {
        var scene = Scene()
        try scene.put { $0.attributes = ["shop": "one", "n": 1] }
        try scene.put { $0.attributes = ["n": 1.0, "shop": "one"] }
        try scene.put("a", 2)
        #expect(throws: Refusal.attributesDiffer(Sample.activityID("a"))) {
            try scene.put { $0.attributes = ["shop": "two"] }
        }
        try scene.end()
        let kept = try #require(scene.store.rows.contents[1]).attributes
        try scene.put { $0.reopen = true }
        #expect(scene.store.rows.contents[1]?.attributes == kept)
        try scene.end()
        try scene.put {
            $0.reopen = true; $0.attributes = ["shop": "two"]
        }
        #expect(scene.store.rows.contents[1]?.attributes != kept)
    }

    @Test func `an ended activity stays ended unless it is reopened or reusable`() throws {
        var scene = Scene()
        try scene.put()
        try scene.end()
        #expect(throws: Refusal.activityEnded(Sample.activityID("a"))) { try scene.put("a", 2) }
        let reply = try scene.put("a", 2) { $0.reopen = true }
        #expect(reply.run == 2 && reply.revision == 3 && reply.changed && reply.phase == .active)
        #expect(scene.store.history.last?.entries.map(\.kind) == [.reopened])
        try scene.end()
        #expect(try scene.put(type: Sample.type { $0.isReusable = true }).run == 3)
    }

    @Test func `a type does not change, and an unknown activity is not ended`() throws {
        var scene = Scene()
        try scene.put()
        #expect(throws: Refusal.typeDiffers(Sample.activityID("a"), is: "order")) {
            try scene.put(type: Sample.type("ride"))
        }
        #expect(throws: Refusal.unknownActivity(Sample.activityID("b"))) { try scene.end("b") }
    }

    @Test func `a change touches one activity and its content, however many phones watch`() throws {
        var scene = Scene()
        for index in 0..<200 {
            try scene.register(
                "d\(index)", user: "u\(index % 50)", startToken: "p\(index)", key: DeviceKey(index + 1))
        }
        try scene.put(users: (0..<50).map { "u\($0)" }) { $0.devices = .all }
        #expect(scene.store.lastChanges.cards.count == 200)
        scene.wait(.seconds(20))
        try scene.deliver()
        scene.wait(.seconds(5))
        try scene.put("a", 2)
        let changes = scene.store.lastChanges
        #expect(changes.activities == [1] && changes.contents == [1] && changes.history.count == 1)
        #expect(changes.cards.isEmpty && changes.lanes.isEmpty && changes.devices.isEmpty && changes.owners.isEmpty)
        // A call that names the current audience does not change it either.
        try scene.put("a", 2, users: (0..<50).map { "u\($0)" })
        #expect(scene.store.lastChanges.cards.isEmpty && scene.store.lastChanges.addedMembers.isEmpty)
    }

    @Test func `an audience is replaced: who leaves is ended, who comes back begins anew`() throws {
        var scene = try Scene.live()
        try scene.register("bobs", user: "bob", startToken: "p2s-bob", key: 9)
        scene.wait(.seconds(120))
        try scene.put(users: ["bob"])
        #expect(try !scene.card().isWanted)
        let sent = try scene.deliver()
        #expect(sent.map(\.plan.kind) == [.end, .start] && sent.first?.plan.reason.code == .leftAudience)
        // A person who left gets no later states.
        try scene.put("a", 5)
        scene.wait(.seconds(2))
        #expect(try scene.deliver().isEmpty)
        try scene.report("phone", .ended)
        try scene.put(users: ["ann", "bob"])
        scene.wait(.seconds(120))
        #expect(try scene.deliver().map(\.phone.device.key) == [7])
        #expect(try scene.card().state == .unconfirmed)
    }

    @Test func `over a thousand people are refused at once`() throws {
        var scene = Scene()
        #expect(throws: Refusal.audienceTooLarge(limit: 1000)) { try scene.put(users: (0...1000).map { "u\($0)" }) }
        #expect(scene.store.rows.activities.isEmpty && scene.store.rows.users.isEmpty)
    }

    @Test func `a later state drops an unsent alert, or keeps it where asked, or where it names it again`() throws {
        var scene = Scene()
        func alert(_ id: String?, keep: Bool) -> SetDesiredState.AlertWish {
            var wish = SetDesiredState.AlertWish(Sample.alert)
            wish.id = id
            wish.keep = keep
            return wish
        }
        try scene.put { $0.alert = alert("x", keep: false) }
        #expect(try !scene.put { $0.alert = alert("x", keep: false) }.changed)
        try scene.put("a", 2) { $0.alert = alert("x", keep: false) }
        #expect(try scene.activity().alert?.revision == 1)
        try scene.put("a", 3)
        #expect(try scene.activity().alert == nil)
        try scene.put("a", 4) { $0.alert = alert("y", keep: true) }
        try scene.put("a", 5)
        #expect(try scene.activity().alert?.id == "y" && scene.activity().alert?.revision == 4)
        try scene.put("a", 5) { $0.alert = alert("z", keep: false) }
        #expect(try scene.activity().alert?.id == "z" && scene.activity().revision == 6)
    }

    @Test func `what could not be built later is refused at the door`() throws {
        var scene = Scene()
        func isTooLarge(_ work: () throws -> Void) -> Bool {
            do { try work() } catch Refusal.payloadTooLarge(.tooLarge, _) { return true } catch { return false }
            return false
        }
        let large: JSONObject = ["x": .string(String(repeating: "y", count: 3500))]
        #expect(isTooLarge { try scene.put { $0.state = ["x": .string(String(repeating: "y", count: 4096))] } })
        #expect(scene.store.rows.activities.isEmpty)
        #expect(
            isTooLarge {
                try scene.put {
                    $0.state = large; $0.attributes = ["y": .string(String(repeating: "z", count: 600))]
                }
            })
        // The limit also applies to a later state with the kept alert.
        try scene.put { body in
            var wish = SetDesiredState.AlertWish(PushAlert(title: .text(String(repeating: "t", count: 700))))
            wish.keep = true
            body.alert = wish
        }
        #expect(isTooLarge { try scene.put { $0.state = large } })
        #expect(isTooLarge { try scene.end("a", ["x": .string(String(repeating: "y", count: 4096))]) })
        #expect(throws: Refusal.payloadTooLarge(.badRelevanceScore)) { try scene.put { $0.relevance = .infinity } }
    }

    @Test func `an end that could not be built later is refused at the door, whatever makes it too large`() throws {
        func text(_ bytes: Int) -> JSONObject { ["x": .string(String(repeating: "y", count: bytes))] }
        func wish(_ bytes: Int, keep: Bool = false) -> SetDesiredState.AlertWish {
            var wish = SetDesiredState.AlertWish(PushAlert(title: .text(String(repeating: "t", count: bytes))))
            wish.keep = keep
            return wish
        }
        func end(
            _ scene: inout Scene, _ state: JSONObject? = nil, _ alert: SetDesiredState.AlertWish? = nil
        ) throws -> Bool {
            do { return try scene.end("a", state, alert: alert).changed } catch Refusal.payloadTooLarge(.tooLarge, _) {
                return false
            }
        }
        // The current state counts with the end's own alert.
        var scene = try Scene.live()
        try scene.put { $0.state = text(3600) }
        scene.wait(.seconds(2))
        try scene.deliver()
        #expect(try !end(&scene, nil, wish(400)))
        #expect(try scene.activity().phase == .active)
        #expect(try end(&scene, nil, wish(40)))
        scene.wait(.seconds(2))
        let sent = try scene.onlyFlight()
        #expect(try sent.request(of: try #require(sent.seats.first)) != nil)
        // The end's state counts with a kept alert that has not reached everybody.
        scene = try Scene.live()
        try scene.put("a", 2) { $0.alert = wish(1000, keep: true) }
        #expect(try !end(&scene, text(3000)))
        #expect(try scene.activity().phase == .active)
        #expect(try end(&scene, text(2000)))
        // An expired alert goes to nobody, so it does not count.
        scene = try Scene.live()
        try scene.put("a", 2) { $0.alert = wish(1000, keep: true) }
        scene.wait(SetDesiredState.AlertWish.lifetime)
        #expect(try end(&scene, text(3000)))
        #expect(try scene.deliver().map(\.plan.carriesAlert) == [false])
    }

    @Test func `an end is said once, and again only with other words`() throws {
        var scene = Scene()
        try scene.put()
        #expect(try scene.end().changed)
        #expect(try !scene.end().changed)
        #expect(try !scene.end("a", Sample.state(1)).changed)
        #expect(try scene.end("a", Sample.state(2)).revision == 3)
        #expect(try scene.end("a", Sample.state(2), dismissal: .immediate).revision == 4)
        #expect(try scene.activity().endedAt == scene.now)
    }

    @Test func `allowing a start later wakes the phones that wait for it`() throws {
        var scene = Scene()
        try scene.register()
        try scene.put(users: ["ann"]) { $0.start = .never }
        scene.wait(.seconds(200))
        #expect(try scene.deliver().isEmpty)
        #expect(try !scene.put { $0.start = .ifPossible }.changed)
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
    }

    @Test func `the activity's id is put where the type names it, and a conflict is refused`() throws {
        var scene = Scene(Sample.type("order", activityIDAttribute: "/order/id"))
        try scene.put { $0.attributes = ["shop": "one"] }
        let text = String(decoding: try #require(scene.store.rows.contents[1]).attributes.bytes, as: UTF8.self)
        #expect(text == #"{"shop":"one","order":{"id":"a"}}"#)
        #expect(throws: Refusal.activityIDConflict(pointer: "/order/id")) {
            try scene.put("b") { $0.attributes = ["order": ["id": "c"]] }
        }
        try scene.put("77") { $0.attributes = ["order": ["id": 77]] }
        var tagged = Scene()
        try tagged.put { $0.attributes = ["shop": "one"] }
        #expect(
            String(decoding: try #require(tagged.store.rows.contents[1]).attributes.bytes, as: UTF8.self)
                == #"{"shop":"one","islet":{"activity":"a"}}"#)
    }
}
