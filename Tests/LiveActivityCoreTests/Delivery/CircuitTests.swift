import APNSModel
import LiveActivityCore
import TestSupport
import Testing

struct CircuitTests {
    private let well = PushAnswer(status: 200)

    // MARK: - Opening

    @Test func `three flights in a row that fail on three phones open the circuit`() {
        let scene = CircuitScene()
        #expect(scene.flight(CircuitScene.unwell) == nil)
        #expect(scene.flight(CircuitScene.unwell) == nil)
        let next = scene.now + .milliseconds(1250)
        let trouble = RouteTrouble.service(status: 503, reason: "ServiceUnavailable")
        #expect(scene.flight(CircuitScene.unwell) == .opened(trouble, next: next))
        #expect(!scene.claim().left && !scene.claim(.start).left)
    }

    @Test func `fifty failing pushes of one flight open it`() {
        var scene = CircuitScene()
        #expect(scene.flight(CircuitScene.unwell, phones: 49) == nil)
        scene = CircuitScene()
        #expect(scene.flight(CircuitScene.unwell, phones: 50) != nil)
    }

    @Test func `one phone that always meets a fault does not`() {
        let scene = CircuitScene()
        for _ in 0..<200 { #expect(scene.flight(CircuitScene.unwell, samePhone: true) == nil) }
    }

    @Test(arguments: [
        PushAnswer(status: 200), PushAnswer(status: 410, reason: .known(.unregistered)),
        PushAnswer(status: 400, reason: .known(.badDeviceToken)), PushAnswer(status: 413),
        PushAnswer(status: 429, reason: .known(.tooManyRequests)),
    ]) func `any answer that shows APNs to be well breaks the row`(answer: PushAnswer) {
        let scene = CircuitScene()
        for _ in 0..<20 {
            for _ in 0..<2 { #expect(scene.flight(CircuitScene.unwell) == nil) }
            #expect(scene.flight(answer) == nil)
        }
    }

    @Test(arguments: [
        PushFailure.Code.cannotConnect, .refusedByPeer, .unknownFate, .notSentInTime,
    ]) func `lost and refused connections open it as a 5xx does`(code: PushFailure.Code) {
        let scene = CircuitScene()
        for count in 1...3 {
            let change = scene.answer(scene.claim(), .failure(PushFailure(code, "")))
            #expect((change != nil) == (count == 3))
        }
    }

    @Test(arguments: [PushFailure.Code.overloaded, .stopping])
    func `what is our own matter says nothing`(code: PushFailure.Code) {
        let scene = CircuitScene()
        for _ in 0..<100 { #expect(scene.answer(scene.claim(), .failure(PushFailure(code, "")), phones: 60) == nil) }
    }

    @Test func `a halt opens it at once`() {
        var scene = CircuitScene()
        #expect(
            scene.flight(CircuitScene.halt)
                == .opened(
                    .halted(status: 403, reason: "InvalidProviderToken", scope: "key"),
                    next: scene.now + .milliseconds(1250)))
        scene = CircuitScene()
        let claim = scene.claim()
        #expect(scene.answer(claim, .failure(PushFailure(.notConfigured, ""))) != nil)
        #expect(scene.board.status(at: scene.now)[CircuitScene.route]?.isHalt == true)
    }

    // MARK: - Probing

    @Test func `one probe leaves when its time has come, never a start or an alert, and its answer closes it`() {
        let scene = CircuitScene.opened()
        scene.wait(1.2)
        #expect(!scene.claim().left)
        scene.wait(0.1)
        #expect(!scene.claim(.start).left && !scene.claim(alert: true).left && !scene.claim(.end, alert: true).left)
        let probe = scene.claim(.end)
        #expect(probe.left && probe.isProbe)
        #expect(!scene.claim().left)
        #expect(scene.answer(probe, .success(well)) == .closed(openFor: .milliseconds(1300)))
        #expect(scene.claim(.start).left)
    }

    @Test func `a probe that fails is followed by the next after 4, 16 and then 60 seconds`() {
        let scene = CircuitScene.opened()
        for seconds in [4.0, 16, 60, 60, 60] {
            scene.wait(61)
            let probe = scene.claim()
            #expect(probe.isProbe)
            #expect(scene.answer(probe, .success(CircuitScene.unwell)) == nil)
            #expect(scene.nextProbe == .seconds(seconds))
        }
    }

    @Test func `a probe whose answer never comes is followed by another after 15 seconds`() {
        let scene = CircuitScene.opened()
        scene.wait(2)
        #expect(scene.claim().isProbe)
        scene.wait(14.9)
        #expect(!scene.claim().left)
        scene.wait(0.1)
        #expect(scene.claim().isProbe)
    }

    @Test func `what left before it opened neither closes it nor counts as its probe`() {
        let scene = CircuitScene()
        let early = scene.claim()
        for _ in 0..<3 { scene.flight(CircuitScene.unwell) }
        #expect(scene.answer(early, .success(well)) == nil && scene.isOpen)
        scene.wait(2)
        let probe = scene.claim()
        #expect(scene.answer(early, .success(CircuitScene.unwell), phones: 60) == nil)
        #expect(scene.answer(probe, .success(well)) != nil)
        #expect(scene.answer(early, .success(CircuitScene.unwell), phones: 60) == nil && !scene.isOpen)
    }

    @Test func `a fleet of nothing but starts risks one of them after a minute`() {
        let scene = CircuitScene.opened()
        scene.wait(1.25)
        #expect(!scene.claim(.start).left)
        scene.wait(59.9)
        #expect(!scene.claim(.start).left)
        scene.wait(0.1)
        #expect(scene.claim(.start).isProbe)
        #expect(!scene.claim(.start).left && !scene.claim().left)
    }

    // MARK: - Waiting

    @Test func `who is held back looks again when it can matter`() {
        let scene = CircuitScene.opened()
        func until() -> Duration? {
            scene.board.gate(at: scene.now).closed[CircuitScene.route].map { $0.until - scene.now }
        }
        #expect(until() == .milliseconds(1250))
        scene.wait(1.25)
        #expect(until() == CircuitBoard.probeAnswer)
        _ = scene.claim(.start)
        #expect(until() == CircuitBoard.probeSearch)
        scene.wait(50)
        #expect(until() == .seconds(10))
        _ = scene.claim()
        #expect(until() == CircuitBoard.probeAnswer)
    }

    @Test func `who stands behind the probe in one claim learns of its answer soon`() {
        let scene = CircuitScene.opened()
        scene.wait(1.25)
        _ = scene.claim(.start)
        var gate = scene.board.gate(at: scene.now)
        let plan = PushPlan(
            kind: .update, revision: 1, priority: .low, alertRevision: 0, expiresAt: scene.now,
            reason: Reason(.newState))
        let first = gate.admit(plan, to: CircuitScene.route)
        guard first == .go, case .hold(let closure) = gate.admit(plan, to: CircuitScene.route) else {
            Issue.record("a second push left")
            return
        }
        #expect(closure.until == scene.now + CircuitBoard.probeAnswer)
        #expect(gate.probed == [CircuitScene.route] && gate.held == [CircuitScene.route])
    }

    @Test func `a clock that is set back makes nobody wait longer than a minute`() {
        let scene = CircuitScene.opened()
        scene.wait(-7200)
        #expect(scene.nextProbe == .seconds(60))
        #expect(!scene.claim().isProbe)
        scene.wait(60)
        #expect(scene.claim().isProbe)
        scene.wait(-7200)
        #expect(scene.nextProbe == CircuitBoard.probeLimit)
    }

    @Test func `routes do not touch one another`() {
        var board = CircuitBoard()
        var tally = RouteTally()
        for phone in 1...50 { tally.add(.success(CircuitScene.unwell), of: DeviceKey(phone), to: .sandbox) }
        let sandbox = PushRoute(Sample.bundleID, .sandbox)
        let change = board.record(sandbox, tally, under: .open, at: Sample.now, dice: 0)
        #expect(change != nil)
        #expect(Set(board.gate(at: Sample.now).closed.keys) == [sandbox])
        #expect(board.nextChangeAt(after: Sample.now) == Sample.now + .milliseconds(750))
    }
}
