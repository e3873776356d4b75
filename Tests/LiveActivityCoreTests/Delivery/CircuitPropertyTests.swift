import APNSModel
import LiveActivityCore
import TestSupport
import Testing

struct CircuitPropertyTests {
    /// A second model of the circuit, which works from the list of everything seen.
    private struct Model {
        var isOpen = false
        /// Numbers of pushes of the failing flights since the last healthy answer.
        var row: [Int] = []
        var openedOrClosedAt = UnixTime(milliseconds: 0)
        var probe: (at: UnixTime, serial: Int)?
        var violations: [String] = []

        mutating func claimed(_ claim: CircuitScene.Claim, _ kind: PushKind, at now: UnixTime, serial: Int) {
            guard isOpen else {
                if !claim.left { violations.append("held while closed") }
                return
            }
            if let last = probe, now - last.at >= CircuitBoard.probeLimit { probe = nil }
            guard claim.left else { return }
            if !claim.isProbe { violations.append("left while open, and is no probe") }
            if probe != nil { violations.append("a second probe") }
            if kind == .start, now - openedOrClosedAt < CircuitBoard.patience { violations.append("a start too early") }
            probe = (now, serial)
        }

        mutating func answered(
            _ change: CircuitBoard.Change?, isWell: Bool, pushes: Int, isNews: Bool, serial: Int, at now: UnixTime
        ) {
            switch change {
            case .opened:
                if isOpen || isWell || !isNews { violations.append("opened without a reason") }
                row.append(pushes)
                if row.count < 3 && row.reduce(0, +) < 50 { violations.append("opened too early: \(row)") }
                turn(true, now)
            case .closed:
                if !isOpen || !isWell || !isNews { violations.append("closed without a healthy answer") }
                turn(false, now)
            case nil:
                guard isNews else { return }
                if isOpen {
                    if isWell { violations.append("open although APNs is well") }
                    if probe?.serial == serial { probe = nil }
                } else {
                    row = isWell ? [] : row + [pushes]
                    if row.count >= 3 || row.reduce(0, +) >= 50 { violations.append("still closed: \(row)") }
                }
            }
        }

        private mutating func turn(_ isOpen: Bool, _ now: UnixTime) {
            self.isOpen = isOpen
            row = []
            probe = nil
            openedOrClosedAt = now
        }
    }

    @Test func `in any order of claims and answers, nothing but one probe at a time leaves on an open circuit`() {
        var openings = 0
        var closings = 0
        for seed in UInt64(1)...150 {
            var dice = SeededDice(seed: seed)
            let scene = CircuitScene()
            var model = Model()
            var inTheAir: [(claim: CircuitScene.Claim, turn: Int, serial: Int)] = []
            var turns = 0
            for serial in 0..<120 {
                if inTheAir.isEmpty || dice.chance(50) {
                    let kind = dice.pick([PushKind.start, .update, .end])
                    let claim = scene.claim(kind)
                    model.claimed(claim, kind, at: scene.now, serial: serial)
                    if claim.left { inTheAir.append((claim, turns, serial)) }
                } else {
                    let flight = inTheAir.remove(at: dice.roll(inTheAir.count))
                    let isWell = dice.chance(35)
                    let pushes = isWell ? 1 : dice.pick([2, 3, 30])
                    let change = scene.answer(
                        flight.claim, .success(isWell ? PushAnswer(status: 200) : CircuitScene.unwell),
                        phones: pushes, dice: dice.fraction())
                    model.answered(
                        change, isWell: isWell, pushes: pushes,
                        isNews: flight.turn == turns && (!model.isOpen || model.probe?.serial == flight.serial),
                        serial: flight.serial,
                        at: scene.now)
                    turns += change == nil ? 0 : 1
                    if case .opened = change { openings += 1 }
                    if case .closed = change { closings += 1 }
                }
                scene.wait(dice.pick([0, 0.1, 1, 5, 20]))
                guard model.violations.isEmpty, scene.isOpen == model.isOpen else {
                    Issue.record("seed \(seed), event \(serial): \(model.violations), open: \(scene.isOpen)")
                    return
                }
            }
        }
        #expect(openings > 150 && closings > 50, "\(openings) openings, \(closings) closings")
    }

    @Test func `an open circuit with work always lets a probe through within two minutes`() {
        for seed in UInt64(1)...200 {
            var dice = SeededDice(seed: seed)
            let scene = CircuitScene.opened()
            var last = scene.now
            let kinds = dice.chance(50) ? [PushKind.start] : [.start, .update]
            for _ in 0..<200 {
                let claim = scene.claim(dice.pick(kinds))
                if claim.left {
                    last = scene.now
                    // The answer is lost, or a refusal.
                    if dice.chance(70) { scene.answer(claim, .success(CircuitScene.unwell), dice: dice.fraction()) }
                }
                guard let until = scene.board.gate(at: scene.now).closed[CircuitScene.route]?.until else {
                    Issue.record("seed \(seed): closed by itself")
                    return
                }
                #expect(until > scene.now, "seed \(seed): who is held looks again at once, for ever")
                scene.now = until
                #expect(scene.now - last <= .seconds(122), "seed \(seed)")
            }
        }
    }
}
