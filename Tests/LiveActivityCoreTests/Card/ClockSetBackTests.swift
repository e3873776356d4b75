import APNSModel
import LiveActivityCore
import TestSupport
import Testing

/// Tests with a machine whose clock was ahead and is set right, so that earlier timestamps lie in the future.
struct ClockSetBackTests {
    /// A card whose phone was sent a state with a timestamp in the future.
    private func live(ahead: Duration, _ type: ActivityType = Sample.type()) throws -> Scene {
        var scene = try Scene.live(type)
        try scene.put("a", 2)
        scene.wait(.seconds(2))
        #expect(try scene.deliver().map(\.plan.revision) == [2])
        scene.wait(.seconds(2))
        scene.now = scene.now - ahead
        return scene
    }

    @Test func `a lost push does not lower the card's timestamp: the clock may be set right again`() throws {
        var scene = try live(ahead: .seconds(28_800))
        let shown = try scene.card().timestamp
        try scene.put("a", 3)
        _ = try scene.onlyFlight()
        scene.node += 1
        #expect(try scene.claim().rescued == 1)
        #expect(try scene.card().timestamp == shown)
        scene.now = scene.now + .seconds(28_600)
        let sent = try scene.deliver()
        #expect(sent.map(\.plan.revision) == [3] && sent.map(\.timestamp) == [shown + 1])
    }

    @Test(arguments: [Duration.seconds(1800), .seconds(28_800)])
    func `an accepted end counts, and is repeated in its time alone`(ahead: Duration) throws {
        var scene = try live(ahead: ahead)
        try scene.end()
        #expect(try scene.deliver().map(\.plan.kind) == [.end])
        #expect(try scene.card().state == .ending)
        #expect(try scene.card().attempts.dueAt == scene.now + Reconciler.endRepeats[0])
    }

    @Test(arguments: [Duration.seconds(1800), .seconds(28_800)])
    func `an accepted state counts`(ahead: Duration) throws {
        var scene = try live(ahead: ahead)
        try scene.put("a", 3)
        #expect(try scene.deliver().map(\.plan.revision) == [3])
        #expect(try scene.card().sentRevision == 3)
    }

    @Test(arguments: [Duration.seconds(1800), .seconds(28_800)])
    func `a refusal is waited for, and a dead token buries the card`(ahead: Duration) throws {
        var scene = try live(ahead: ahead)
        try scene.put("a", 3)
        let flight = try scene.onlyFlight()
        try scene.settle(flight) { _ in .answered(.success(.refusal(.tooManyRequests))) }
        let due = try #require(try scene.card().attempts.dueAt)
        #expect(due > scene.now && scene.store.nextWakeAt == due)
        scene.now = due
        try scene.settle(try scene.onlyFlight()) { _ in .answered(.success(.refusal(.unregistered))) }
        #expect(try scene.card().state == .gone)
        #expect(try scene.deliver().isEmpty)
    }

    @Test(arguments: [Duration.seconds(1800), .seconds(28_800)])
    func `a refusal of then is not waited for`(ahead: Duration) throws {
        var scene = try live(ahead: .zero)
        try scene.put("a", 3)
        try scene.deliver(.refusal(.tooManyRequests))
        let due = try #require(try scene.card().attempts.dueAt)
        #expect(due > scene.now)
        scene.now = scene.now - ahead
        try scene.put("a", 4)
        #expect(try scene.deliver().map(\.plan.revision) == [4])
    }

    @Test(arguments: [Duration.seconds(1800), .seconds(28_800)])
    func `what is awaited, or of unknown fate, is waited for`(ahead: Duration) throws {
        var scene = try live(ahead: ahead)
        try scene.put("a", 3)
        let flight = try scene.onlyFlight()
        let until = scene.now + .seconds(13)
        try scene.settle(flight) { _ in .awaited(until: until) }
        #expect(scene.store.nextWakeAt == until)
        scene.now = until
        try scene.settle(flight) { _ in .answered(.failure(PushFailure(.unknownFate, "no answer in time"))) }
        #expect(try #require(try scene.card().attempts.dueAt) > until)
        #expect(try scene.claim().flights.isEmpty)
    }

    @Test func `the phone's own update since the claim still overtakes what was on its way`() throws {
        var scene = try live(ahead: .zero)
        try scene.put("a", 3)
        let flight = try scene.onlyFlight()
        let stamp = try #require(flight.seats.first).timestamp
        try scene.report(token: "u1") { report in
            report.basedOn = 2
            report.lastTimestamp = stamp + 5
            report.contentState = Sample.state(-2)
        }
        #expect(try scene.settle(flight) { _ in .answered(.success(PushAnswer(status: 200))) }.overtaken == 1)
        #expect(try scene.card().sentRevision == 2)
    }

    /// Times after the phone's last push and before it.
    @Test(arguments: [Duration.seconds(100), .seconds(-1000)])
    func `a stale date that was accepted then is told once, not until the clock is there again`(
        since: Duration
    ) throws {
        var scene = try Scene.live(Sample.type { $0.staleAfter = .seconds(600) })
        let told = scene.now
        scene.wait(.seconds(300))
        try scene.put("a", 1)
        scene.now = try #require(scene.store.nextWakeAt)
        try scene.deliver(.refusal(.tooManyRequests))
        #expect(try scene.activity().refreshedSince == told + .seconds(300))
        scene.now = told + since
        try scene.report(token: "u2")
        var sent: [PushPlan] = []
        for _ in 0..<30 {
            sent += try scene.deliver().map(\.plan)
            scene.wait(.seconds(1))
        }
        #expect(sent.map(\.reason.code) == [.freshToken])
    }

    @Test(arguments: [Duration.seconds(1800), .seconds(28_800)])
    func `a settlement that comes twice says nothing of the start that followed it`(ahead: Duration) throws {
        var scene = Scene()
        try scene.register()
        try scene.put(users: ["ann"])
        scene.wait(.seconds(20))
        let first = try scene.onlyFlight()
        scene.now = scene.now - ahead
        let never = SettleFlight.Outcome.answered(.failure(PushFailure(.notSentInTime, "it waited too long")))
        try scene.settle(first) { _ in never }
        #expect(try scene.card().state == .absent)
        scene.now = try #require(scene.store.nextWakeAt)
        #expect(try scene.onlyFlight().seats.map(\.plan.kind) == [.start])
        // The first settlement's commit had an unknown outcome.
        try scene.settle(first) { _ in never }
        #expect(try scene.card().state == .starting)
    }

    @Test func `a start's grace does not last until the clock is there again`() throws {
        var scene = Scene()
        try scene.register()
        try scene.put(users: ["ann"])
        scene.now = scene.now - .seconds(1800)
        let decision = try scene.decision()
        guard case .send = decision else {
            Issue.record("\(decision)")
            return
        }
    }

    @Test func `the app's word that it starts a card does not hold until the clock is there again`() throws {
        var scene = Scene()
        try scene.register()
        try scene.put(users: ["ann"])
        try scene.report("phone", .requesting)
        scene.now = scene.now - .seconds(1800)
        let decision = try scene.decision()
        guard case .send = decision else {
            Issue.record("\(decision)")
            return
        }
    }

    /// The second run of an activity, and then a clock that shows an earlier time than the beginning of that run.
    private func secondRun(thenBack step: Duration) throws -> Scene {
        var scene = Scene()
        try scene.register()
        try scene.put(users: ["ann"])
        try scene.end()
        scene.wait(.seconds(60))
        try scene.put("a", 2) { $0.reopen = true }
        scene.now = scene.now - step
        return scene
    }

    @Test func `a card that the app starts in a run that a clock ahead had dated is of that run`() throws {
        var scene = try secondRun(thenBack: .seconds(30))
        try scene.report(local: "soon", .requesting)
        let started = scene.now
        // Its first report is lost, and the next one comes after the date that the run had.
        scene.wait(.seconds(60))
        try scene.report(token: "u1") { $0.startedAt = started }
        #expect(try scene.card().localID?.text == "card" && scene.card().state == .live)
        #expect(try !scene.deliver().contains { $0.plan.kind == .start })
    }

    @Test func `a card that began before the clock was set back does not tell its run, and is taken`() throws {
        var scene = try secondRun(thenBack: .seconds(1800))
        let started = scene.now - .seconds(5)
        try scene.report(token: "u1") { $0.startedAt = started }
        #expect(try scene.card().localID?.text == "card" && scene.card().state == .live)
    }

    @Test func `a run that is dated anew still tells an earlier run's card`() throws {
        var scene = try secondRun(thenBack: .seconds(1800))
        try scene.report(local: "soon", .requesting)
        scene.wait(.seconds(5))
        let started = scene.now - .seconds(60)
        try scene.report(token: "u1") { $0.startedAt = started }
        #expect(try scene.card().localID == nil && scene.card().state == .requesting)
    }

    @Test func `a state newer than one that a clock ahead had stamped is newer to the phone as well`() throws {
        var scene = try live(ahead: .seconds(4800))
        let shown = try scene.card().timestamp
        try scene.put("a", 3)
        #expect(try scene.deliver().map(\.timestamp) == [shown + 1])
    }

    @Test func `a start does not lower the timestamp of a card that is found alive after it`() throws {
        var scene = try Scene.live()
        scene.now = scene.now + .seconds(28_800)
        try scene.put("a", 2)
        let high = try #require(try scene.deliver().first)
        scene.now = scene.now - .seconds(28_800)
        // The end's timestamp is older than the card's, and the person rejoins the audience.
        try scene.changeAudience(remove: ["ann"])
        try scene.deliver()
        scene.wait(.seconds(5))
        try scene.changeAudience(add: ["ann"])
        scene.wait(.seconds(20))
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
        #expect(try scene.card().timestamp >= high.timestamp)
    }
}
