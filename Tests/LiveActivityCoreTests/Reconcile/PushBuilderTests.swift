import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

struct PushBuilderTests {
    private let content = ContentRecord(
        activity: 1, revision: 3, state: EncodedObject(Sample.state(9)), digest: 1,
        attributes: EncodedObject(["shop": "here"]), attributesDigest: 1)

    private func build(_ situation: Situation) throws -> (request: PushRequest, aps: JSONObject) {
        guard case .send(let plan) = situation.decision else { throw Missing() }
        let request = try #require(
            try PushBuilder.request(
                plan, desired: situation.desired, content: content, phone: situation.phone,
                timestamp: situation.now.seconds, id: PushID(random: 1, 2)))
        return (request, try #require(JSONValue(parsing: request.payload).object?["aps"]?.object))
    }

    private struct Missing: Error {}

    @Test func `a start carries the activity as collapse id, a stale date, and asks iOS 18 for a token`() throws {
        let made = try build(Situation(""))
        #expect(made.request.collapseID?.text == "a" && made.request.expiration == .at(Sample.now + .seconds(300)))
        #expect(made.aps["stale-date"]?.int == Int(Sample.now.seconds + 900))
        #expect(made.aps["input-push-token"] == 1 && made.aps["attributes-type"] == "orderAttributes")
        let old = try build(Situation("") { $0.phone.device.osVersion = OSVersion(17, 6) })
        #expect(old.aps["input-push-token"] == nil)
    }

    @Test func `a stale date that is past is not sent`() throws {
        #expect(
            try build(
                Situation("") {
                    $0.makeLive(); $0.desired.activity.staleAt = Sample.now
                }
            ).aps["stale-date"] == nil)
        let start = try build(Situation("") { $0.desired.activity.staleAt = Sample.now - .seconds(9) })
        #expect(start.aps["stale-date"]?.int == Int(Sample.now.seconds + 900))
        let fresh = try build(
            Situation("") {
                $0.makeLive()
                $0.desired.type.policy.staleAfter = .seconds(5000)
            })
        #expect(fresh.aps["stale-date"]?.int == Int(Sample.now.seconds - 3600 + 5000))
    }

    @Test func `one who left the audience is not told the newest state`() throws {
        let made = try build(
            Situation("") {
                $0.makeLive(); $0.phone.card.columns.isWanted = false
            })
        #expect(made.aps["event"] == "end" && made.aps["content-state"] == nil && made.aps["alert"] == nil)
        #expect(made.aps["dismissal-date"]?.int == Int(Sample.now.seconds - 1))
        let ended = try build(
            Situation("") {
                $0.makeLive(); $0.desired.activity.phase = .ended
            })
        #expect(ended.aps["content-state"] == .object(Sample.state(9)) && ended.aps["dismissal-date"] == nil)
    }

    @Test func `an id that no header can carry is collapsed by its digest`() throws {
        #expect(PushBuilder.collapseID(of: Sample.activityID("order-1"))?.text == "order-1")
        for id in ["Bestellung Käse", String(repeating: "x", count: 65)] {
            let collapsed = try #require(PushBuilder.collapseID(of: Sample.activityID(id)))
            #expect(collapsed.text.hasPrefix("islet-") && collapsed.text.utf8.count <= 64)
        }
    }
}
