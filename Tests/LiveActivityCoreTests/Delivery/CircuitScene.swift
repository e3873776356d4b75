import APNSModel
import LiveActivityCore
import TestSupport

/// A circuit board with one route, its clock, and events by short names.
final class CircuitScene {
    static let route = PushRoute(Sample.bundleID, .production)
    static let unwell = PushAnswer(status: 503, reason: .known(.serviceUnavailable))
    static let halt = PushAnswer(status: 403, reason: .known(.invalidProviderToken))

    var board = CircuitBoard()
    var now = Sample.now
    private var phone: DeviceKey = 0

    /// A claim, with the gate it was given and its result.
    struct Claim {
        var gate: CircuitGate
        var left: Bool
        var isProbe: Bool
    }

    /// Claims one push.
    func claim(_ kind: PushKind = .update, alert: Bool = false) -> Claim {
        board.forgetFuture(at: now)
        let given = board.gate(at: now)
        var gate = given
        let plan = PushPlan(
            kind: kind, revision: 1, priority: .high, alertRevision: alert ? 1 : 0, expiresAt: now,
            reason: Reason(.newState))
        let left = gate.admit(plan, to: Self.route) == .go
        for route in gate.probed { board.probeSent(route, at: now) }
        for route in gate.held.subtracting(gate.probed) { board.probeNotFound(route, at: now) }
        return Claim(gate: given, left: left, isProbe: !gate.probed.isEmpty)
    }

    /// Answers the claim's flight with the same outcome for the given number of phones.
    @discardableResult
    func answer(
        _ claim: Claim, _ outcome: Result<PushAnswer, PushFailure>, phones: Int = 1, samePhone: Bool = false,
        dice: Double = 1
    ) -> CircuitBoard.Change? {
        var tally = RouteTally()
        for _ in 0..<phones {
            phone += samePhone ? 0 : 1
            tally.add(outcome, of: phone, to: .production)
        }
        return board.record(Self.route, tally, under: claim.gate, at: now, dice: dice)
    }

    @discardableResult
    func flight(
        _ answer: PushAnswer, phones: Int = 1, samePhone: Bool = false
    ) -> CircuitBoard.Change? {
        let claim = claim()
        return self.answer(claim, .success(answer), phones: phones, samePhone: samePhone)
    }

    func wait(_ seconds: Double) { now = now + .milliseconds(Int64(seconds * 1000)) }

    /// A circuit that three failed flights have opened. It wants a probe after 1.25 s.
    static func opened() -> CircuitScene {
        let scene = CircuitScene()
        for _ in 0..<3 { scene.flight(unwell) }
        return scene
    }

    var isOpen: Bool { board.status(at: now)[Self.route] != nil }
    var nextProbe: Duration? { board.status(at: now)[Self.route].map { $0.nextProbeAt - now } }
}
