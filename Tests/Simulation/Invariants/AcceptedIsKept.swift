import APNSModel
import LiveActivityCore
import TestSupport

/// **Accepted is kept.** A change that was answered 2xx survives `kill -9` and power loss.
///
/// A process dies before and after each of its commits. Afterwards:
///
/// - Every answer that its caller received still holds.
/// - A call that is repeated with its idempotency key counts as the same call.
/// - A late call changes nothing.
///
/// The storage engine makes commits durable. Its tests use real processes.
final class AcceptedIsKept: Invariant {
    /// Results of calls by call number, including those whose callers got no answer.
    private var stood: [Int: Backend.Stand] = [:]
    /// True time of each result. An idempotency key is kept for a day.
    private var stoodAt: [Int: Int64] = [:]
    private var told: [Scenery.Subject: Revision] = [:]
    private var sequences: [Scenery.Subject: [Int: Int64]] = [:]

    func see(_ event: Observation, in world: World) {
        switch event {
        case .called(.stands(let call, let stand)): take(call, stand, world)
        case .called(.answered(let call, let stand)):
            told[call.subject] = max(told[call.subject] ?? 0, stand.revision)
        case .called(.notified(let call, let devices, let isReplayed)):
            let isKept = stoodAt[call.number].map { world.now - $0 < Self.keyLifetime }
            if isKept != false, isReplayed != (isKept ?? false) {
                world.violate(.acceptedIsKept, "\(call.words) is made twice")
            }
            stood[call.number] = Backend.Stand(
                run: 0, revision: Revision(devices), changed: true, isReplayed: isReplayed)
            if !isReplayed { stoodAt[call.number] = world.now }
        case .died, .claimCommitted: check(world)
        case .atRest:
            check(world)
            atRest(world)
        default: break
        }
    }

    private func take(_ call: Backend.Call, _ stand: Backend.Stand, _ world: World) {
        if let first = stood[call.number], call.hasKey {
            guard let at = stoodAt[call.number], world.now - at < Self.keyLifetime else { return }
            guard stand.isReplayed else {
                return world.violate(.acceptedIsKept, "\(call.words) stands twice, though its key is the same")
            }
            if stand.revision != first.revision {
                world.violate(
                    .acceptedIsKept, "\(call.words) is answered r\(stand.revision), and was r\(first.revision)")
            }
            return
        }
        if let sequence = sequence(of: call) {
            let taken = sequences[call.subject]?[stand.run] ?? 0
            if sequence <= taken, !stand.isSuperseded, !stand.isReplayed {
                world.violate(.acceptedIsKept, "\(call.words) is late, after sequence \(taken), and changes something")
            }
            if !stand.isReplayed { sequences[call.subject, default: [:]][stand.run] = max(sequence, taken) }
        }
        if stood[call.number] == nil, !stand.isPartial {
            stood[call.number] = stand
            stoodAt[call.number] = world.now
        }
    }

    /// Lifetime of an idempotency key in milliseconds, less the most that the server's clock may be ahead.
    private static let keyLifetime: Int64 = 23 * 3_600_000

    private func sequence(of call: Backend.Call) -> Int64? {
        switch call.what {
        case .put(_, _, let sequence), .end(_, let sequence): sequence
        case .audience, .replaceAudience, .notify: nil
        }
    }

    private func check(_ world: World) {
        for (subject, revision) in told {
            let stands = world.activity(subject)?.revision ?? 0
            if stands < revision {
                world.violate(.acceptedIsKept, "r\(revision) of \(subject.id) was answered, and r\(stands) stands")
            }
        }
    }

    /// Checks that each phone shows its person's latest state from the provider.
    private func checkProvided(_ world: World) {
        guard world.scenery.isProvided else { return }
        for phone in world.phones where phone.app.bundleID == Scenery.pizza {
            let subject = world.provided(phone.user, phone.device)
            let step = world.provider.steps[phone.user]
            let isShown = world.activity(subject)?.phase == .active
            guard isShown != (step != nil) || isShown && world.step(of: subject) != step else { continue }
            world.violate(
                .acceptedIsKept,
                "the provider has \(step.map { "step \($0)" } ?? "nothing") for \(phone.user), and \(subject.id) is "
                    + (isShown ? "step \(world.step(of: subject))" : "not shown"))
        }
    }

    private func atRest(_ world: World) {
        checkProvided(world)
        for subject in world.scenery.subjects {
            guard let wish = world.backend.wishes[subject], let activity = world.activity(subject) else { continue }
            if world.step(of: subject) != wish.step || (activity.phase == .ended) != wish.isEnded {
                world.violate(
                    .acceptedIsKept,
                    "\(subject.id) is step \(world.step(of: subject)) and \(activity.phase), "
                        + "though step \(wish.step)\(wish.isEnded ? " and its end" : "") was set last")
            }
            let members = world.store.rows.members[activity.number] ?? []
            let names = Scenery.people.filter { name in
                world.store.rows.users[.init(subject.app, UserID(stored: name))].map(members.contains) ?? false
            }
            if Set(names) != wish.people {
                world.violate(
                    .acceptedIsKept, "the audience of \(subject.id) is \(names), not \(wish.people.sorted())")
            }
        }
    }
}
