import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Tests of an app that changes its card itself. The state it was based on is not pushed, and the next one replaces
/// it.
struct LocalAheadTests {
    /// A phone that shows a state of its own, based on the newest revision.
    private func scene(_ type: ActivityType = Sample.type(), after: Duration = .seconds(5)) throws -> Scene {
        var scene = try Scene.live(type)
        scene.wait(after)
        try scene.deliver()
        try change(&scene, basedOn: try scene.activity().revision)
        return scene
    }

    private func change(_ scene: inout Scene, basedOn: Revision, lasts: Bool = true) throws {
        let time = scene.now.seconds
        try scene.report(token: "u1") { report in
            report.contentState = ["status": "by the app", "at": .number(JSONNumber(Int(time)))]
            report.basedOn = basedOn
            report.lastTimestamp = lasts ? time : nil
        }
    }

    @Test func `A state that the app set itself stays for a minute, then the server's returns at low priority`() throws
    {
        var scene = try scene()
        #expect(try scene.deliver().isEmpty)
        #expect(try scene.decision().reason.code == .localAhead)
        scene.wait(.seconds(59))
        #expect(try scene.deliver().isEmpty)
        scene.wait(.seconds(1))
        let sent = try scene.deliver()
        #expect(sent.map(\.plan.kind) == [.update])
        #expect(sent.first?.plan.priority == .low)
        #expect(sent.first?.plan.reason.code == .localAheadOver)
        #expect(try scene.card().lead == nil)
        scene.wait(.seconds(600))
        #expect(try scene.deliver().isEmpty)
    }

    @Test func `An alert that was due meanwhile comes with the server's state, in one push`() throws {
        var scene = try Scene.live()
        scene.wait(.seconds(5))
        try scene.deliver()
        try scene.put("a", 2) { $0.alert = SetDesiredState.AlertWish(Sample.alert) }
        try change(&scene, basedOn: 2)
        #expect(try scene.deliver().isEmpty)
        scene.wait(.seconds(60))
        let sent = try scene.deliver()
        #expect(sent.map(\.plan.alertRevision) == [2])
        #expect(sent.map(\.plan.priority) == [.high])
        #expect(sent.map(\.plan.reason.code) == [.localAheadOver])
        scene.wait(.seconds(600))
        #expect(try scene.deliver().isEmpty)
    }

    @Test func `The next state wins at once, above the app's timestamp`() throws {
        var scene = try scene()
        let last = try scene.card().timestamp
        try scene.put("a", 2)
        scene.wait(.seconds(1))
        let sent = try scene.deliver()
        #expect(sent.map(\.plan.reason.code) == [.newState])
        #expect(sent.first.map { $0.timestamp > last } == true)
        #expect(try scene.card().lead == nil)
    }

    @Test func `Its end is not sent again while the answer is awaited`() throws {
        var scene = try scene()
        try scene.put("a", 1, users: ["bob"])
        let flight = try scene.onlyFlight()
        #expect(flight.seats.map(\.plan.kind) == [.end])
        let until = scene.now + .seconds(13)
        try scene.settle(flight) { _ in .awaited(until: until) }
        scene.wait(.seconds(12))
        #expect(try scene.claim().flights.isEmpty)
        scene.wait(.seconds(1))
        #expect(try scene.deliver().map(\.plan.kind) == [.end])
    }

    @Test func `With the app's authority its state stays until the server sets a newer one`() throws {
        var scene = try scene(Sample.type { $0.authority = .app })
        scene.wait(.seconds(7200))
        #expect(try scene.deliver().isEmpty)
        #expect(try scene.decision().reason.code == .localAhead)
        #expect(scene.store.nextWakeAt == nil)
        try scene.put("a", 2)
        scene.wait(.seconds(1))
        #expect(try scene.deliver().map(\.plan.kind) == [.update])
    }

    @Test func `The same change reported again does not prolong its minute`() throws {
        var scene = try scene()
        let time = scene.now.seconds
        for _ in 0..<5 {
            scene.wait(.seconds(10))
            try scene.report(token: "u1") { report in
                report.contentState = ["status": "by the app"]
                report.basedOn = 1
                report.lastTimestamp = time
            }
            #expect(try scene.deliver().isEmpty)
        }
        scene.wait(.seconds(10))
        #expect(try scene.deliver().map(\.plan.reason.code) == [.localAheadOver])
        // The report may be from before that push, so it does not put the app ahead again.
        try scene.report(token: "u1") { report in
            report.contentState = ["status": "by the app"]
            report.basedOn = 1
            report.lastTimestamp = time
        }
        #expect(try scene.card().lead == nil)
    }

    @Test func `Another change of the app's begins another minute`() throws {
        var scene = try scene()
        scene.wait(.seconds(50))
        try change(&scene, basedOn: 1)
        scene.wait(.seconds(50))
        #expect(try scene.deliver().isEmpty)
        scene.wait(.seconds(10))
        #expect(try scene.deliver().map(\.plan.reason.code) == [.localAheadOver])
    }

    @Test func `A change that was based on an older state is overtaken by the newest at once`() throws {
        var scene = try Scene.live()
        scene.wait(.seconds(5))
        try scene.put("a", 2)
        try scene.deliver()
        scene.wait(.seconds(5))
        try change(&scene, basedOn: 1)
        let sent = try scene.deliver()
        #expect(sent.map(\.plan.revision) == [2])
        #expect(sent.first.map { $0.timestamp > scene.now.seconds - 1 } == true)
    }

    @Test func `A push that was on its way when the app changed its card is sent again, since the phone ignored it`()
        throws
    {
        var scene = try Scene.live()
        scene.wait(.seconds(5))
        try scene.put("a", 2)
        let flight = try scene.onlyFlight()
        scene.wait(.seconds(3))
        try change(&scene, basedOn: 1)
        try scene.settle(flight) { _ in .answered(.success(PushAnswer(status: 200))) }
        scene.wait(.seconds(1))
        #expect(try scene.deliver().map(\.plan.revision) == [2])
    }

    @Test func `A phone that shows the newest state again is not ahead any more`() throws {
        var scene = try scene()
        try scene.report(token: "u1") { $0.contentState = Sample.state(1) }
        #expect(try scene.card().lead == nil)
        scene.wait(.seconds(120))
        #expect(try scene.deliver().isEmpty)
    }

    @Test func `Without timestamps the same report is believed three times a state`() throws {
        var scene = try Scene.live()
        scene.wait(.seconds(5))
        try scene.deliver()
        var returns = 0
        for _ in 0..<8 {
            try change(&scene, basedOn: 1, lasts: false)
            scene.wait(.seconds(61))
            returns += try scene.deliver().count
        }
        #expect(returns == Reconciler.maximumContradictions)
    }

    @Test func `What the app changed before it was pushed does not count as sent`() throws {
        var scene = try Scene.live()
        scene.wait(.seconds(5))
        try scene.deliver()
        try scene.put("a", 2)
        try change(&scene, basedOn: 2)
        let card = try scene.card()
        #expect(card.sentRevision == 1 && card.shownRevision == 2)
    }

    @Test func `A revision that was never set is the newest one`() throws {
        var scene = try Scene.live()
        scene.wait(.seconds(5))
        try scene.deliver()
        try change(&scene, basedOn: 4711)
        #expect(try scene.card().shownRevision == scene.activity().revision)
        try scene.put("a", 2)
        scene.wait(.seconds(1))
        #expect(try scene.deliver().map(\.plan.kind) == [.update])
    }
}
