import APNSModel
import JSONText
import LiveActivityCore
import TestSupport

/// Calls with preconditions and keys, and those that change an audience.
extension RandomLife {
    mutating func preconditions() -> Preconditions {
        var conditions = Preconditions()
        if dice.chance(10) { conditions.match = dice.chance(50) ? .anything : .revisions([1, 2, 3]) }
        if dice.chance(30) { conditions.sequence = Int64(dice.roll(12)) }
        return conditions
    }

    mutating func keyed<Inner: Command>(_ inner: Inner) -> Idempotent<Inner> where Inner.Reply: IdempotentReply {
        Idempotent(
            inner, app: Sample.bundle("com.acme.pizza"),
            at: .init(hash: [UInt8(dice.roll(4))], name: dice.chance(30) ? [UInt8(dice.roll(2))] : []),
            digest: [UInt8(dice.roll(2))], now: now)
    }

    static func isSame<Inner>(_ left: Idempotent<Inner>.Reply, _ right: Idempotent<Inner>.Reply) -> Bool
    where Inner.Reply: Equatable {
        left.isReplayed == right.isReplayed && left.reply == right.reply
    }

    mutating func patch() async throws {
        var body = PatchActivity.Body()
        body.state = Sample.state(dice.roll(5))
        if dice.chance(30) { body.state["status"] = .null }
        body.relevance = dice.chance(20) ? 0.5 : nil
        body.staleAfter = dice.chance(20) ? .seconds(300) : nil
        var command = PatchActivity(app: app(), id: activity(), body: body, now: now)
        command.preconditions = preconditions()
        try await pair.runAsPreviewed("patch", command, of: command.id, in: command.app.bundleID)
    }

    mutating func audience() async throws {
        // A crash may leave the rest of a replacement undone, for good or for some time.
        if let sweep = pair.leavings.sweeps.popLast(), dice.chance(80) { try await pair.run("sweep", sweep) }
        let (app, id) = (app(), activity())
        let users = (0..<dice.roll(4)).map { _ in Sample.user(dice.pick(Self.users)) }
        let change: ChangeAudience.Change =
            switch dice.roll(3) {
            case 0: .change(add: users, remove: dice.chance(50) ? [Sample.user("ann")] : [])
            case 1: .replace(users)
            default: .page(session: word("session"), users: users, isLast: dice.chance(50))
            }
        let command = ChangeAudience(app: app.bundleID, id: id, change: change, now: now)
        if dice.chance(50) {
            try await pair.runAsPreviewed("audience", command, of: id, in: app.bundleID)
            return
        }
        let now = now
        try await pair.run(
            "audience", keyed(command), Self.isSame,
            then: { reply, leavings in
                guard let sweep = reply.reply.sweep else { return }
                leavings.sweeps.append(
                    SweepAudience(app: app.bundleID, id: id, reply: reply.reply, sweep: sweep, now: now))
            })
    }
}
