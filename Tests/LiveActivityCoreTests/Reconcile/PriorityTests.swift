import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

struct PriorityTests {
    private func plan(_ change: (inout Situation) -> Void) throws -> PushPlan {
        var situation = Situation("") { $0.makeLive() }
        change(&situation)
        guard case .send(let plan) = situation.decision else { throw Missing() }
        return plan
    }

    private struct Missing: Error {}

    @Test func `auto is low for a plain update and high for what needs the person`() throws {
        #expect(try plan { _ in }.priority == .low)
        #expect(try plan { $0.alert() }.priority == .high)
        #expect(try plan { $0.desired.isHighState = true }.priority == .high)
        #expect(try plan { $0.phone.card.columns.tries = 1 }.priority == .high)
        #expect(try plan { $0.phone.card.columns.sentRevision = 0 }.priority == .high)
        #expect(try plan { $0.desired.activity.phase = .ended }.priority == .high)
    }

    @Test func `what the writer asked for goes before`() throws {
        #expect(try plan { $0.desired.activity.priority = .high }.priority == .high)
        #expect(
            try plan {
                $0.desired.activity.priority = .low; $0.alert(); $0.desired.isHighState = true
            }.priority == .low)
        #expect(
            try plan {
                $0.desired.activity.priority = .low; $0.desired.activity.phase = .ended
            }.priority == .low)
    }

    @Test func `one high push a minute, the next goes low at once`() throws {
        for (seconds, priority) in [(0, PushPriority.low), (59, .low), (60, .high), (3600, .high)] {
            let made = try plan {
                $0.desired.activity.priority = .high
                $0.phone.card.columns.lastHighAt = Sample.now - .seconds(seconds)
            }
            #expect(made.priority == priority, "\(seconds) s")
        }
    }

    @Test func `a repeat of a contradicted state is low and silent, whatever was asked`() throws {
        let made = try plan {
            $0.phone.card.columns.contradictions = 1
            $0.phone.card.columns.sentRevision = 0
            $0.phone.card.columns.last?.revision = 3
            $0.desired.activity.priority = .high
            $0.desired.isHighState = true
            $0.alert()
        }
        #expect(made.priority == .low && !made.carriesAlert && made.reason.code == .phoneBehind)
        let next = try plan {
            $0.phone.card.columns.contradictions = 1
            $0.phone.card.columns.last?.revision = 2
            $0.alert()
        }
        #expect(next.priority == .high && next.carriesAlert && next.reason.code == .newState)
    }

    @Test func `an alert goes once, in time, and not to one who joined later`() throws {
        #expect(try plan { $0.alert() }.alertRevision == 3)
        #expect(try plan { $0.alert(revision: 2) }.alertRevision == 2)
        #expect(
            try !plan {
                $0.alert(); $0.phone.card.columns.pushedAlert = 3
            }.carriesAlert)
        #expect(try !plan { $0.alert(expiresAt: Sample.now) }.carriesAlert)
        #expect(
            try plan {
                $0.alert(); $0.desired.activity.phase = .ended
            }.carriesAlert)
        // A repeated end makes no sound, and neither does an end for a person who left.
        #expect(
            try !plan {
                $0.alert(); $0.phone.card.columns.isWanted = false
            }.carriesAlert)
        var repeated = ReconcilerTests.ending("", tries: 1, due: .seconds(0))
        repeated.alert()
        guard case .send(let end) = repeated.decision else { throw Missing() }
        #expect(!end.carriesAlert && end.priority == .low)
    }

    @Test func `every push expires when it is of no more use`() throws {
        #expect(try plan { _ in }.expiresAt == Sample.now - .seconds(3000) + .seconds(8 * 3600))
        #expect(
            try plan { $0.desired.activity.staleAt = Sample.now + .seconds(500) }.expiresAt == Sample.now
                + .seconds(500))
        #expect(
            try plan { $0.desired.activity.staleAt = Sample.now - .seconds(500) }.expiresAt == Sample.now + .seconds(60)
        )
        let end = try plan {
            $0.desired.activity.phase = .ended
            $0.desired.activity.endedAt = Sample.now
            $0.desired.activity.dismissal = .at(Sample.now + .seconds(900))
        }
        #expect(end.expiresAt == Sample.now + .seconds(900))
        guard case .send(let start) = Situation("").decision else { throw Missing() }
        #expect(start.expiresAt == Sample.now + .seconds(300) && start.priority == .high)
    }

    @Test func `highWhen looks where its pointer points`() {
        let rule = TypePolicy.HighWhen(pointer: Sample.pointer("/status"), values: ["delivering", 5])
        #expect(rule.matches(["status": "delivering"]) && rule.matches(["status": .number(JSONNumber(5))]))
        #expect(!rule.matches(["status": "baking"]) && !rule.matches([:]) && !rule.matches(["status": ["delivering"]]))
    }
}
