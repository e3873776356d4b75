import APNSModel
import JSONText
import LiveActivityCore
import TestSupport

/// Providers that are asked, answer, fail, and are lost.
extension RandomLife {
    static var provided: ActivityType {
        var type = Sample.type("focus")
        type.isProvided = true
        return type
    }

    mutating func refresh() async throws {
        switch dice.roll(4) {
        case 0:
            let users = (0...dice.roll(2)).map { _ in Sample.user(dice.pick(Self.users + ["nobody"])) }
            let command = AskRefresh(
                app: app().bundleID, users: users, types: ["focus"],
                pace: dice.pick(RefreshRecord.Pace.allCases), now: now)
            try await pair.run("ask", keyed(command), Self.isSame)
        case 1: try await claimRefreshes()
        default: try await finishRefresh()
        }
    }

    private mutating func claimRefreshes() async throws {
        let wants = apps.map { app in
            DueRefreshes.Want(app: app.bundleID, type: "focus", limit: dice.roll(4), paced: dice.roll(4))
        }
        let command = ClaimRefreshes(
            DueRefreshes(at: now, node: node, wants: wants), leaseOfZone: .seconds(10), leaseMargin: .seconds(10))
        try await pair.run("claim refreshes", command, ==, then: { $1.runs += $0.runs })
    }

    private mutating func finishRefresh() async throws {
        guard !pair.leavings.runs.isEmpty else { return }
        let index = dice.roll(pair.leavings.runs.count)
        let run = pair.leavings.runs[index]
        // An answer that comes twice, or that belongs to a lost run, is late.
        if dice.chance(80) { pair.leavings.runs.remove(at: index) }
        let zones = run.zones.map { zone in
            FinishRefresh.Zone(
                name: zone.name, day: dice.pick(["2026-11-21", "2026-11-22"]), devices: zone.devices,
                outcome: outcome(), midnight: now + .seconds(dice.roll(90_000)))
        }
        let command = FinishRefresh(type: Self.provided, run: run, zones: zones, now: now, dice: dice.fraction())
        try await pair.run("finish \(run.user)", command)
    }

    private mutating func outcome() -> FinishRefresh.Zone.Outcome {
        switch dice.roll(10) {
        case 0..<6:
            var answer = RefreshAnswer(state: Sample.state(dice.roll(5)))
            answer.attributes = dice.chance(50) ? ["shop": .string(dice.pick(["here", "there"]))] : nil
            answer.memo = dice.chance(50) ? .object(["goal": .number(JSONNumber(dice.roll(5)))]) : nil
            answer.askAgainAt = dice.chance(20) ? now + .seconds(dice.roll(100)) : nil
            if dice.chance(20) { answer.alert = SetDesiredState.AlertWish(Sample.alert) }
            return .show(answer)
        case 6: return .show(RefreshAnswer(state: ["text": .string(String(repeating: "x", count: 5000))]))
        case 7: return .failed(RefreshFailure(.timeout, "slow"))
        default: return .nothing
        }
    }
}
