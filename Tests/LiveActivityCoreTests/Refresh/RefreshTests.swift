import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

struct RefreshTests {
    @Test func `a device that appears asks by itself, and each of its person's devices has an activity of its own`()
        throws
    {
        var scene = RefreshScene()
        try scene.register()
        try scene.register("tablet")
        let runs = try scene.claim()
        #expect(runs.count == 1)
        #expect(runs[0].zones.map(\.name) == ["Europe/Berlin"])
        #expect(runs[0].zones[0].devices == [Sample.device("phone"), Sample.device("tablet")])
        let reply = try scene.finish(runs[0]) { _ in RefreshScene.show(1) }
        #expect(reply.changed == 2)
        #expect(scene.activity()?.id.text == "focus/ann/phone")
        #expect(scene.activity(on: "tablet")?.phase == .active)
        // A device has no card of the other device's activity.
        #expect(scene.store.rows.cards.count == 2)
        #expect(scene.activity()?.priority == .low)
    }

    @Test func `N2: one question for each time zone, and each device shows what its own zone's answer says`() throws {
        var scene = RefreshScene()
        try scene.register("phone", zone: "Europe/Berlin")
        try scene.register("watch", zone: nil)
        try scene.register("tablet", zone: "Asia/Tokyo")
        try scene.register("laptop", zone: "Asia/Tokyo")
        let run = try #require(try scene.claim().first)
        #expect(run.zones.map(\.name) == ["Asia/Tokyo", "Europe/Berlin", "UTC"])
        try scene.finish(run) { $0.name == "Asia/Tokyo" ? RefreshScene.show(2) : RefreshScene.show(1) }
        #expect(scene.state(on: "tablet") == .object(Sample.state(2)))
        #expect(scene.state(on: "laptop") == .object(Sample.state(2)))
        #expect(scene.state(on: "phone") == .object(Sample.state(1)))
        #expect(scene.state(on: "watch") == .object(Sample.state(1)))
    }

    @Test func `N4: the same content again changes nothing, and nothing due ends the card and forgets the memo`() throws
    {
        var scene = RefreshScene()
        try scene.register()
        try scene.compute { _ in RefreshScene.show(1, memo: "lock") }
        #expect(scene.store.rows.memos.count == 1)
        try scene.ask()
        let again = try scene.compute { zone in
            #expect(zone.memo.map { String(decoding: $0, as: UTF8.self) } == "\"lock\"")
            return RefreshScene.show(1, memo: "lock")
        }
        #expect(again.map(\.unchanged) == [1])
        #expect(scene.activity()?.revision == 1)
        try scene.ask()
        let ended = try scene.compute { _ in .nothing }
        #expect(ended.map(\.ended) == [1])
        #expect(scene.activity()?.phase == .ended)
        #expect(scene.store.rows.memos.isEmpty)
        try scene.ask()
        try scene.compute { zone in
            #expect(zone.memo == nil)
            return RefreshScene.show(1)
        }
        #expect(scene.activity()?.run == 2)
    }

    @Test func `nothing due for one who never had a card writes no activity`() throws {
        var scene = RefreshScene()
        try scene.register()
        try scene.compute { _ in .nothing }
        #expect(scene.activity() == nil)
        #expect(scene.record?.dueAt != nil)
    }

    @Test func `many asks are one run, and an ask during a run runs again`() throws {
        var scene = RefreshScene()
        try scene.register()
        for _ in 1...20 { try scene.ask() }
        let first = try scene.claim()
        #expect(first.count == 1)
        for _ in 1...5 { try scene.ask() }
        #expect(try scene.claim().isEmpty)
        try scene.finish(first[0]) { _ in RefreshScene.show(1) }
        let second = try scene.claim()
        #expect(second.count == 1)
        try scene.finish(second[0]) { _ in RefreshScene.show(2) }
        #expect(try scene.claim().isEmpty)
        #expect(scene.record?.done == scene.record?.asked)
    }

    @Test func `a person without a device, or signed out everywhere, has nothing to compute`() throws {
        var scene = RefreshScene()
        #expect(try scene.ask(.prompt, "nobody") == 0)
        try scene.register()
        try scene.run(SignOutDevice(app: scene.app.bundleID, id: Sample.device("phone"), now: scene.now))
        #expect(try scene.ask() == 0)
        #expect(try scene.claim().isEmpty)
        #expect(scene.record?.dueAt == nil)
        try scene.register()
        #expect(try scene.claim().count == 1)
    }

    @Test func `what a lost process had begun is begun anew, and what it says later counts no more`() throws {
        var scene = RefreshScene()
        try scene.register()
        let lost = try #require(try scene.claim().first)
        scene.node = 2
        let rescued = try #require(try scene.claim().first)
        try scene.finish(rescued) { _ in RefreshScene.show(2) }
        #expect(try scene.finish(lost) { _ in RefreshScene.show(1) }.isLate)
        #expect(scene.state() == .object(Sample.state(2)))
    }

    @Test func `a run whose lease is over is begun anew`() throws {
        var scene = RefreshScene()
        try scene.register()
        let slow = try #require(try scene.claim().first)
        scene.now = scene.now + .seconds(19)
        #expect(try scene.claim().isEmpty)
        scene.now = scene.now + .seconds(1)
        #expect(try scene.claim().first?.fence == slow.fence + 1)
    }

    @Test func `a failure is visible, waits longer each time, and an ask does not shorten the wait`() throws {
        var scene = RefreshScene()
        try scene.register()
        var waits: [Duration] = []
        for _ in 1...4 {
            let reply = try #require(
                try scene.compute { _ in .failed(RefreshFailure(.refused, "HTTP 500")) }.first)
            #expect(reply.failure?.code == .refused)
            let due = try #require(scene.record?.dueAt)
            waits.append(due - scene.now)
            try scene.ask()
            #expect(try scene.claim().isEmpty)
            scene.now = due
        }
        #expect(scene.record?.failure == "refused: HTTP 500")
        #expect(waits == waits.sorted())
        #expect(waits[0] >= .seconds(1))
        try scene.compute { _ in RefreshScene.show(1) }
        #expect(scene.record?.failure == nil)
        #expect(scene.record?.tries == 0)
        #expect(scene.record?.done == scene.record?.asked)
    }

    @Test func `one zone's failure does not keep the other's answer from being shown`() throws {
        var scene = RefreshScene()
        try scene.register("phone", zone: "Europe/Berlin")
        try scene.register("tablet", zone: "Asia/Tokyo")
        try scene.compute { zone in
            zone.name == "Asia/Tokyo" ? .failed(RefreshFailure(.timeout, "slow")) : RefreshScene.show(1)
        }
        #expect(scene.state() == .object(Sample.state(1)))
        #expect(scene.activity(on: "tablet") == nil)
        #expect(scene.record?.tries == 1)
    }

    @Test func `an answer that cannot be shown is a failure of this person alone, and leaves the rest`() throws {
        var scene = RefreshScene()
        try scene.register()
        try scene.compute { _ in RefreshScene.show(1) }
        try scene.ask()
        let reply = try scene.compute { _ in
            .show(RefreshAnswer(state: ["text": .string(String(repeating: "x", count: 5000))]))
        }
        #expect(reply.map(\.failure?.code) == [.rejected])
        #expect(scene.state() == .object(Sample.state(1)))
        #expect(scene.store.rows.laneFaults.isEmpty)
    }

    @Test func `an answer is checked against the type's contract: what the app could not decode is not shown`() throws {
        var scene = RefreshScene()
        var type = scene.type
        type.contract = try Contract(
            JSONValue(
                parsing: #"""
                    {"attributesType": "focusAttributes", "contentState": {"type": "object", "required": ["step"],
                      "properties": {"step": {"type": "integer", "x-swift": "Int"},
                        "since": {"type": ["number", "null"], "x-swift": "Date"}}}}
                    """#))
        scene.app = Sample.app(type)
        try scene.register()
        try scene.compute { _ in RefreshScene.show(1) }
        let number = scene.activity()?.revision
        for wrong: JSONObject in [["step": "secret"], ["step": 1.5], [:], ["step": 1, "since": "secret"]] {
            scene.now = scene.now + .seconds(600)
            try scene.ask()
            let reply = try #require(try scene.compute { _ in .show(RefreshAnswer(state: wrong)) }.first)
            #expect(reply.failure?.code == .rejected)
            let detail = reply.failure?.detail ?? ""
            #expect(detail.contains("/step") || detail.contains("/since"), "\(detail)")
            #expect(!detail.contains("secret"), "nothing of what the other side sent")
            #expect(scene.state() == .object(Sample.state(1)) && scene.activity()?.revision == number)
        }
        // A date is sent in the form that the phone decodes.
        scene.now = scene.now + .seconds(600)
        try scene.ask()
        try scene.compute { _ in .show(RefreshAnswer(state: ["step": 2, "since": "2026-03-01T12:00:00Z"])) }
        #expect(scene.state() == .object(["step": 2, "since": 794_059_200]))
    }

    @Test func `prompt asks go before paced ones, which go no faster than they may`() throws {
        var scene = RefreshScene()
        for person in 1...5 { try scene.register("d\(person)", user: "p\(person)") }
        try scene.compute { _ in RefreshScene.show(1) }
        for person in 1...5 { try scene.ask(.paced, "p\(person)") }
        try scene.ask(.prompt, "p4")
        let runs = try scene.claim(limit: 3, paced: 2)
        #expect(runs.map(\.user.text) == ["p4", "p1", "p2"])
        #expect(runs.map(\.pace) == [.prompt, .paced, .paced])
        #expect(try scene.claim(limit: 3, paced: 0).isEmpty)
    }

    @Test func `attributes belong to a run: others count from the next`() throws {
        var scene = RefreshScene()
        try scene.register()
        func answer(_ step: Int, _ name: String) -> FinishRefresh.Zone.Outcome {
            var answer = RefreshAnswer(state: Sample.state(step))
            answer.attributes = ["name": .string(name)]
            return .show(answer)
        }
        try scene.compute { _ in answer(1, "old") }
        try scene.ask()
        let reply = try scene.compute { _ in answer(2, "new") }
        #expect(reply.map(\.failure) == [nil])
        #expect(scene.state() == .object(Sample.state(2)))
    }
}
