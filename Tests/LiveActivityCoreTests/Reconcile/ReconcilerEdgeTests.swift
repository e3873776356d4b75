import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Tests of decisions that depend on a single condition.
struct ReconcilerEdgeTests {
    private static let hour = Duration.seconds(3600)

    @Test func `who joins an activity that has run for long has the start's grace all the same`() {
        let joined = Situation("joined just now") {
            $0.phone.card.columns.createdAt = Sample.now - .seconds(5)
            $0.phone.device.contactAt = Sample.now - .seconds(5)
        }
        #expect(joined.decision.reason.code == .startGrace)
    }

    @Test func `a card that cannot be ended makes no room, and of the others the oldest goes, wherever it is listed`() {
        func card(_ activity: ActivityNumber, age: Int, canBeEnded: Bool = true, relevance: Double = 0) -> DeviceCard {
            DeviceCard(
                activity: activity, relevance: relevance, startedAt: Sample.now - .seconds(age), canBeEnded: canBeEnded)
        }
        var full = Situation("at the ceiling") {
            $0.desired.type.policy.atCeiling = .endOldest
            $0.desired.type.policy.ceiling = 3
            $0.phone.deviceCards = [card(2, age: 10), card(3, age: 99, canBeEnded: false), card(4, age: 50)]
        }
        #expect(Reconciler.cardToEvict(full.desired, full.phone)?.activity == 4)
        #expect(full.decision.reason.code == .evicting)
        full.phone.deviceCards = [2, 3, 4].map { card($0, age: 10, canBeEnded: false) }
        #expect(Reconciler.cardToEvict(full.desired, full.phone) == nil)
        #expect(full.decision.reason.code == .atCeiling)
        full.desired.type.policy.atCeiling = .endLeastRelevant
        full.phone.deviceCards = [
            card(2, age: 10), card(3, age: 99, canBeEnded: false), card(4, age: 50, relevance: -1),
        ]
        #expect(Reconciler.cardToEvict(full.desired, full.phone)?.activity == 4)
    }

    @Test func `a stale date that is past by now is told to no phone`() {
        var renewed = Situation("set again") {
            $0.makeLive(sent: 3)
            $0.desired.type.policy.staleAfter = Self.hour
            $0.phone.card.columns.timestamp = Sample.now.seconds - 7200
            $0.desired.activity.acceptedAt = Sample.now - .seconds(1800)
            $0.desired.activity.refreshedSince = Sample.now - .seconds(1800)
        }
        #expect(renewed.decision.reason.code == .staleDateRenewed)
        renewed.now = Sample.now + .seconds(1800)
        #expect(renewed.decision.reason.code == .upToDate)
    }

    @Test func `a card that was ended for another one says no alert, though its activity ends with one`() {
        for (isEvicted, isWanted, carries) in [(false, true, true), (true, true, false), (false, false, false)] {
            let over = Situation("evicted \(isEvicted), wanted \(isWanted)") {
                $0.makeLive()
                $0.alert()
                $0.desired.activity.phase = .ended
                $0.desired.activity.endedAt = Sample.now
                $0.phone.card.columns.isEvicted = isEvicted
                $0.phone.card.columns.isWanted = isWanted
            }
            guard case .send(let plan) = over.decision else {
                Issue.record("\(over.name): \(over.decision)")
                continue
            }
            #expect(plan.kind == .end && plan.carriesAlert == carries, "\(over.name)")
        }
    }

    @Test func `a renewal that could only be tried after 7 hours 50 is not waited for`() {
        for (wait, code) in [(Duration.seconds(60), Reason.Code.retryLater), (.seconds(3600), .upToDate)] {
            let due = Situation("retry in \(wait)") {
                $0.makeLive(sent: 3)
                $0.desired.type.policy.renewal = true
                $0.phone.card.columns.startedAt = Sample.now - Reconciler.renewalAge - .seconds(60)
                $0.phone.card.columns.dueAt = Sample.now + wait
            }
            #expect(due.decision.reason.code == code, "\(due.name)")
        }
    }

    @Test func `in place of a card one phone of a person is told, not the others`() {
        for mayStart in [true, false] {
            let old = Situation("iOS 16.4, may start \(mayStart)") {
                $0.desired.type.policy.fallback = AlertTemplate(Sample.alert)
                $0.phone.device.osVersion = OSVersion(16, 4)
                $0.phone.card.columns.mayStart = mayStart
                $0.phone.deviceToken = DeviceTokenRecord(
                    device: 7, kind: .device, type: "", generation: 1, environment: .production,
                    value: TokenValue(Sample.token("device", as: DeviceTokenKind.self)), firstSeenAt: Sample.now)
            }
            #expect((old.decision == .fallBack(Reason(.belowPushToStart, "16.4"))) == mayStart)
            #expect(old.decision.reason.code == .belowPushToStart)
        }
    }

    @Test func `a notification in place of a card is worth delivering as long as the alert it stands for`() {
        var told = Situation("an alert")
        #expect(Fallback.expiration(told.desired, now: Sample.now) == Sample.now + Self.hour)
        told.alert(expiresAt: Sample.now + .seconds(600))
        #expect(Fallback.expiration(told.desired, now: Sample.now) == Sample.now + .seconds(600))
        told.alert(expiresAt: Sample.now + .seconds(1))
        #expect(Fallback.expiration(told.desired, now: Sample.now) == Sample.now + .seconds(300))
    }

    @Test func `a card that is ended for another goes at once, though a retry waits, and only one that is there`()
        throws
    {
        var scene = try Scene.live()
        scene.wait(.seconds(60))
        try scene.put("a", 2)
        try scene.settle(try scene.onlyFlight(), dice: 1) { _ in
            .answered(.success(PushAnswer(status: 429, reason: APNSReason("TooManyRequests"))))
        }
        let number = try scene.activity().number
        #expect(try scene.deliver().isEmpty)
        #expect(try scene.run(EvictCard(app: scene.app, activity: number, device: 7, now: scene.now)))
        #expect(try scene.deliver().map(\.plan.kind) == [.end])
        // The card is ending already. A card that was swiped away is not there.
        #expect(try !scene.run(EvictCard(app: scene.app, activity: number, device: 7, now: scene.now)))
        var swiped = try Scene.live()
        try swiped.report("phone", .dismissed)
        let its = try swiped.activity().number
        #expect(try !swiped.run(EvictCard(app: swiped.app, activity: its, device: 7, now: swiped.now)))
        #expect(try !swiped.card().isEvicted)
    }
}
