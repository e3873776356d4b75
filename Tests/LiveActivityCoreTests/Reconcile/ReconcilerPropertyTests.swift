import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

struct ReconcilerPropertyTests {
    private static let seed: UInt64 = 3
    private static let cases = 4000

    /// Returns a random situation, likely or not.
    static func anything(_ dice: inout SeededDice) -> Situation {
        func time(_ dice: inout SeededDice) -> UnixTime {
            Sample.now + .seconds(dice.pick([-90_000, -50_000, -4000, -70, -10, -1, 0, 1, 10, 70, 4000, 50_000]))
        }
        func maybe(_ dice: inout SeededDice) -> UnixTime? { dice.chance(50) ? time(&dice) : nil }
        return Situation("random") { one in
            one.desired.activity.phase = dice.pick(ActivityRecord.Phase.allCases)
            one.desired.activity.run = 1 + dice.roll(2)
            one.desired.activity.revision = Revision(dice.roll(5))
            one.desired.activity.priority = dice.pick(ActivityRecord.PriorityWish.allCases)
            one.desired.activity.start = dice.pick(ActivityRecord.StartMode.allCases)
            one.desired.activity.restart = dice.pick(ActivityRecord.Restart.allCases)
            one.desired.activity.staleAt = maybe(&dice)
            one.desired.activity.runStartedAt = time(&dice)
            one.desired.activity.dismissal = dice.pick([.systemDefault, .immediate, .at(time(&dice))])
            if dice.chance(50) { one.alert(revision: Revision(dice.roll(5)), expiresAt: time(&dice)) }
            if dice.chance(20) { one.desired.type.policy.startAlert = nil }
            one.desired.isHighState = dice.chance(30)
            one.phone.card.columns.state = dice.pick(CardState.allCases)
            one.phone.card.columns.run = 1 + dice.roll(2)
            one.phone.card.columns.sentRevision = Revision(dice.roll(5))
            one.phone.card.columns.shownRevision = Revision(dice.roll(3))
            one.phone.card.columns.pushedAlert = Revision(dice.roll(5))
            one.phone.card.columns.tries = dice.roll(5)
            one.phone.card.columns.contradictions = dice.roll(4)
            one.phone.card.columns.dueAt = maybe(&dice)
            one.phone.card.columns.startedAt = maybe(&dice)
            one.phone.card.columns.startExpiresAt = maybe(&dice)
            one.phone.card.columns.lastHighAt = maybe(&dice)
            one.phone.card.columns.parkedRevision = Revision(dice.roll(3))
            one.phone.card.columns.isWanted = dice.chance(80)
            one.phone.card.columns.mayStart = dice.chance(80)
            one.phone.device.activitiesEnabled = dice.pick([true, true, false, nil])
            one.phone.device.osVersion = dice.pick([OSVersion(16, 4), OSVersion(17, 2), OSVersion(18, 0), nil])
            one.phone.device.contactAt = time(&dice)
            one.phone.device.signedOutAt = dice.chance(10) ? time(&dice) : nil
            one.phone.hasOtherOpenStart = dice.chance(20)
            if dice.chance(20) { one.phone.pushToStartToken = nil }
            if dice.chance(20) { one.phone.pushToStartToken?.deadAt = time(&dice) }
            if dice.chance(70) { one.phone.updateToken = Sample.updateToken() }
            if dice.chance(20) { one.phone.updateToken?.deadAt = time(&dice) }
        }
    }

    @Test func `any situation has one decision, the same again, and one that can be carried out`() throws {
        var dice = SeededDice(seed: Self.seed)
        let content = ContentRecord(
            activity: 1, revision: 3, state: EncodedObject(Sample.state(1)), digest: 1, attributes: .empty,
            attributesDigest: 1)
        var sent = 0
        for number in 0..<Self.cases {
            let one = Self.anything(&dice)
            let label: Comment = "seed \(Self.seed), case \(number)"
            let decision = one.decision
            #expect(decision == one.decision, label)
            #expect(!decision.reason.text.isEmpty, label)
            if case .wait(let until, _) = decision { #expect(until > one.now, label) }
            guard case .send(let plan) = decision else { continue }
            sent += 1
            #expect(plan.expiresAt > one.now && plan.revision == one.desired.activity.revision, label)
            let token = plan.kind == .start ? one.phone.pushToStartToken?.deadAt : one.phone.updateToken?.deadAt
            #expect(token == nil, label)
            if plan.carriesAlert {
                #expect(one.desired.activity.alert?.revision == plan.alertRevision, label)
                if one.phone.card.run == one.desired.activity.run {
                    #expect(plan.alertRevision > one.phone.card.alerts.given, label)
                }
            }
            if plan.kind == .start, one.phone.card.run == one.desired.activity.run,
                [.starting, .unconfirmed].contains(one.phone.card.state)
            {
                let from =
                    one.phone.card.startExpiresAt ?? one.phone.card.startedAt ?? one.phone.card.createdAt
                #expect(from + .seconds(12 * 3600) <= one.now, label)
            }
            let request = try PushBuilder.request(
                plan, desired: one.desired, content: content, phone: one.phone, timestamp: one.now.seconds,
                id: PushID(random: 1, 2))
            let made = try #require(request, label)
            #expect(made.mayRepeat == (plan.kind != .start), label)
        }
        #expect(sent > Self.cases / 100)
    }
}
