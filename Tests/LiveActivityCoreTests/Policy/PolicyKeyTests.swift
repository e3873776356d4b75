import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Tests of the policy keys that shape a push. Keys with rules of their own have their own tests.
struct PolicyKeyTests {
    private static let state: JSONObject = ["status": "ready", "step": 1]

    /// Returns the body of the push that is decided for a situation.
    private func body(_ situation: Situation) throws -> JSONValue {
        guard case .send(let plan) = situation.decision else { throw Scene.NotFound() }
        let content = ContentRecord(
            activity: 1, revision: 3, state: EncodedObject(Self.state), digest: 1,
            attributes: EncodedObject(["order": "12345"]), attributesDigest: 2)
        let request = try PushBuilder.request(
            plan, desired: situation.desired, content: content, phone: situation.phone,
            timestamp: situation.now.seconds, id: PushID(random: 1, 2))
        return try JSONValue(parsing: try #require(request).payload)
    }

    @Test(arguments: [
        (nil, DismissalWish.systemDefault, nil), (Duration.seconds(1800), .systemDefault, 1740),
        (.seconds(0), .systemDefault, -60), (.seconds(1800), .at(Sample.now + .seconds(5)), 5),
        (.seconds(1800), .immediate, 0),
    ])
    func `dismissAfter counts from the end, and the end's own wish goes before`(
        after: Duration?, wish: DismissalWish, seconds: Int64?
    ) throws {
        var situation = Situation("ended")
        situation.makeLive()
        situation.desired.type.policy.dismissAfter = after
        situation.desired.activity.phase = .ended
        situation.desired.activity.endedAt = Sample.now - .seconds(60)
        situation.desired.activity.dismissal = wish
        let date = try body(situation)[Sample.pointer("/aps/dismissal-date")]?.int.map(Int64.init)
        if wish == .immediate {
            #expect(date.map { $0 <= Sample.now.seconds } == true)
        } else {
            #expect(date == seconds.map { Sample.now.seconds + $0 })
        }
    }

    @Test func `startAlert says values of the state and the attributes, unless the state brings an alert`() throws {
        var situation = Situation("start")
        situation.desired.type.policy.startAlert = try AlertTemplate(
            title: .text(Phrase("Order {/order} is {/status}")), body: .text(Phrase("{/eta|soon}")))
        let body = try body(situation)
        #expect(body[Sample.pointer("/aps/alert/title")] == "Order 12345 is ready")
        #expect(body[Sample.pointer("/aps/alert/body")] == "soon")
        situation.alert()
        #expect(try self.body(situation)[Sample.pointer("/aps/alert/title")] == "Order")
    }

    @Test(arguments: [(nil as Duration?, nil as Int64?), (.seconds(600), 540), (.seconds(30), nil)])
    func `staleAfter counts from the last accepted call, and a date that is past is left out`(
        after: Duration?, seconds: Int64?
    ) throws {
        var situation = Situation("update")
        situation.makeLive()
        situation.desired.type.policy.staleAfter = after
        situation.desired.activity.acceptedAt = Sample.now - .seconds(60)
        let date = try body(situation)[Sample.pointer("/aps/stale-date")]?.int.map(Int64.init)
        #expect(date == seconds.map { Sample.now.seconds + $0 })
    }

    @Test(arguments: [(Duration.seconds(300), Duration.seconds(900)), (.seconds(60), .seconds(120))])
    func `startWindow and startStaleAfter bound a start`(window: Duration, stale: Duration) throws {
        var situation = Situation("start")
        situation.desired.type.policy.startWindow = window
        situation.desired.type.policy.startStaleAfter = stale
        guard case .send(let plan) = situation.decision else { throw Scene.NotFound() }
        #expect(plan.expiresAt == Sample.now + window)
        let date = try body(situation)[Sample.pointer("/aps/stale-date")]?.int.map(Int64.init)
        #expect(date == (Sample.now + stale).seconds)
    }

    @Test(arguments: [(false, PushPriority.low), (true, .high)])
    func `frequentPushesEnabled chooses the budget`(frequent: Bool, priority: PushPriority) {
        var situation = Situation("urgent")
        situation.makeLive()
        situation.desired.activity.priority = .high
        situation.phone.device.frequentPushesEnabled = frequent
        let limit = situation.desired.type.policy.budgets.high
        let key = BudgetKey(7, .high)
        for _ in 0..<limit.perHour / 2 {
            situation.phone.highBudget = limit.spent(situation.phone.highBudget, key, now: Sample.now)
        }
        guard case .send(let plan) = situation.decision else {
            Issue.record("nothing is sent")
            return
        }
        #expect(plan.priority == priority)
    }
}
