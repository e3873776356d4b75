import APNSModel
import LiveActivityCore
import TestSupport

/// Audiences of about as many people as one call may name. The rows that a command loads depend on that limit.
extension RandomLife {
    private static let crowded = Sample.activityID("a")

    /// Runs groups of commands on such an audience, mixed with other commands.
    mutating func live(crowdedGroups groups: Int) async throws {
        for _ in 0..<groups {
            try await gather(990 + dice.roll(22))
            pair.open()
            for _ in 0..<2 + dice.roll(5) {
                if dice.chance(75) { try await crowd() } else { try await act() }
                now = now + .milliseconds(Int64(dice.pick([0, 0, 1, 40])))
            }
            try await pair.close(mayPart: true)
            // Some replacements are finished. The others stay unfinished, as after a crash.
            while let sweep = pair.leavings.sweeps.popLast() {
                if dice.chance(70) { try await sweepAll(sweep) }
            }
            now = now + .milliseconds(300)
        }
    }

    private static func members(_ numbers: some Sequence<Int>) -> [UserID] {
        numbers.map { Sample.user("member-\($0)") }
    }

    /// Adds people to the audience.
    private mutating func gather(_ count: Int) async throws {
        var body = SetDesiredState.Body(state: Sample.state(dice.roll(5)))
        body.reopen = true
        try await pair.run(
            "reopen",
            SetDesiredState(
                app: apps[0].bundleID, id: Self.crowded, type: apps[0].types["order"] ?? Sample.type(), body: body,
                now: now))
        let all = Self.members(1...count)
        for page in [all.prefix(ChangeAudience.maximumUsers), all.dropFirst(ChangeAudience.maximumUsers)] {
            try await pair.run("gather", change(.change(add: Array(page), remove: [])))
        }
    }

    private func change(_ change: ChangeAudience.Change) -> ChangeAudience {
        ChangeAudience(app: apps[0].bundleID, id: Self.crowded, change: change, now: now)
    }

    private mutating func crowd() async throws {
        let some = Self.members((0..<dice.roll(16)).map { _ in 1 + dice.roll(1010) })
        let few = (0..<1 + dice.roll(3)).map { _ in Sample.user(dice.pick(Self.users + ["member-3", "member-1003"])) }
        let command: ChangeAudience
        switch dice.roll(6) {
        case 0: command = change(.change(add: few, remove: some))
        case 1: command = change(.change(add: some, remove: few))
        case 2: command = change(.replace(few))
        case 3: command = change(.page(session: word("session"), users: few, isLast: dice.chance(60)))
        case 4:
            if let sweep = pair.leavings.sweeps.popLast() { try await pair.run("sweep", sweep) }
            return
        default:
            var body = SetDesiredState.Body(state: Sample.state(dice.roll(5)))
            body.users = few
            let type = apps[0].types["order"] ?? Sample.type()
            try await pair.run(
                "put", SetDesiredState(app: apps[0].bundleID, id: Self.crowded, type: type, body: body, now: now))
            return
        }
        let now = now
        try await pair.run(
            "change", command, ==,
            then: { reply, leavings in
                guard let sweep = reply.sweep else { return }
                leavings.sweeps.append(
                    SweepAudience(app: command.app, id: command.id, reply: reply, sweep: sweep, now: now))
            })
    }

    private mutating func sweepAll(_ first: SweepAudience) async throws {
        var next: SweepAudience? = first
        while let sweep = next {
            let reply = try await pair.run("sweep", sweep)
            next = reply.flatMap { reply in
                reply.sweep.map { SweepAudience(app: sweep.app, id: sweep.id, reply: reply, sweep: $0, now: now) }
            }
        }
    }
}
