import APNSModel
import LiveActivityCore
import TestSupport

/// **The newest state arrives.** The rule applies once changes stop and APNs answers healthily for 15 minutes plus
/// the policy's window.
///
/// Every live instance with a valid token was sent the newest revision by then. An instance whose phone shows an
/// older state is sent the newest again: at low priority, without alert, at most three times per revision. Parked,
/// halted and dead-token instances are excluded, and visible as such.
///
/// Until then:
///
/// - No card goes back to an older revision.
/// - No timestamp is used for two states.
/// - No phone is sent the same state again and again, or again while an answer is awaited.
/// - Each claimed push is newer than the phone's last report of its card.
final class NewestArrives: Invariant {
    private struct Stamp: Hashable {
        var token: String
        var timestamp: Int64
    }

    private struct Told: Hashable {
        var token: String
        var revision: Revision
    }

    private struct Telling: Hashable {
        var told: Told
        var kind: PushKind
    }

    /// A push that one process has sent and that has no result yet.
    private struct Open {
        var sent: SentPush
        var kind: PushKind
        var at: Int64
        var node: Int64
        /// Number of losses at the claim. A failed write may be repeated, and another process may rescue an abandoned
        /// push.
        var losses: Int
    }

    private var stamps: [Stamp: Revision] = [:]
    private var tellings: [Telling: [Int64]] = [:]
    /// Time at which APNs last took the same push.
    private var takenAt: [Telling: Int64] = [:]
    private var open: [Told: Open] = [:]
    /// Time of each phone's last report.
    private var heardAt: [DeviceKey: Int64] = [:]
    /// Newest timestamp of the app's own updates that the server knows for each card, and its arrival time.
    private var ownTimestamps: [LocalID: (timestamp: Int64, at: Int64)] = [:]
    /// Number of losses when each push was claimed. A push may count as abandoned before it has left.
    private var lossesAtClaim: [PushID: Int] = [:]

    func see(_ event: Observation, in world: World) {
        switch event {
        case .claimed(let flight, _):
            let losses =
                world.counts.rescued + world.counts.happenings[.storeFailed, default: 0]
                + world.counts.happenings[.commitUnknown, default: 0]
            for seat in flight.seats {
                lossesAtClaim[flight.record.pushID(of: seat.phone.device.key)] = losses
                checkOwnTimestamp(seat, world)
            }
        case .left(let sent, let node, let push): tell(sent, push, node, world)
        case .settled(let settlement, _): settle(settlement, world)
        // A phone's report may be a reason to send again: an app's own state makes the push on its way outdated.
        case .reported(let report):
            note(report, world)
            open = open.filter { $0.value.sent.device != Phone.key(report.device) }
            heardAt[Phone.key(report.device)] = world.now
        case .accepted(let sent): stamp(sent, world)
        case .arrived(let sent, let phone, .applied(let card, let before)):
            world.count { $0.applied += 1 }
            // A state of the app's own has no revision.
            if card.step > 0, card.revision < before {
                world.violate(.newestArrives, "\(phone.name) goes back from r\(before) to \(sent.words)")
            }
        case .calm: afterCalm(world)
        case .atRest: atRest(world)
        default: break
        }
    }

    private func note(_ report: Phone.Report, _ world: World) {
        if case .superseded = report.what { return }
        for (local, timestamp) in report.timestamps {
            let id = Sample.local(local)
            guard ownTimestamps[id].map({ $0.timestamp < timestamp }) ?? true else { continue }
            ownTimestamps[id] = (timestamp, world.now)
        }
    }

    /// Checks that a push is newer than the phone's last reported timestamp. The card ignores an older push.
    private func checkOwnTimestamp(_ seat: Flight.Seat, _ world: World) {
        guard seat.plan.kind != .start, seat.plan.part == .card, let local = seat.phone.card.localID,
            let own = ownTimestamps[local], seat.timestamp <= own.timestamp
        else { return }
        world.violate(
            .newestArrives,
            "\(seat.plan.kind.name) r\(seat.plan.revision) at ts \(seat.timestamp) to \(local), which has told of "
                + "its own at ts \(own.timestamp)")
    }

    private func stamp(_ sent: SentPush, _ world: World) {
        guard let (_, seat) = sent.card, seat.plan.kind != .start, let token = seat.phone.token(of: seat.plan) else {
            return
        }
        let stamp = Stamp(token: token.hex, timestamp: seat.timestamp)
        if let other = stamps[stamp], other != seat.plan.revision {
            world.violate(.newestArrives, "one timestamp for r\(other) and for \(sent.words)")
        }
        stamps[stamp] = seat.plan.revision
    }

    private func tell(_ sent: SentPush, _ push: Push, _ node: Node, _ world: World) {
        guard let (_, seat) = sent.card, seat.plan.kind != .start else { return }
        let told = Told(token: push.request.destination.hex, revision: seat.plan.revision)
        let telling = Telling(told: told, kind: seat.plan.kind)
        tellings[telling, default: []].append(world.now)
        let recent = tellings[telling, default: []].filter { $0 > world.now - 60_000 }
        // After an accepted push, the retry delays begin again.
        let unheeded = recent.count { $0 > takenAt[telling] ?? .min }
        if unheeded > Self.most || recent.count > 2 * Self.most {
            world.violate(.newestArrives, "\(recent.count) times in a minute: \(sent.words)")
        }
        let new = Open(
            sent: sent, kind: seat.plan.kind, at: world.now, node: node.number,
            losses: lossesAtClaim[sent.id] ?? 0)
        if let old = open[told], old.kind == new.kind, old.node == new.node,
            // A push that was delayed in the sender, and leaves after a later claim, does not repeat that claim.
            new.sent.claimedAt >= old.sent.claimedAt, (heardAt[new.sent.device] ?? .min) < old.sent.claimedAt,
            // After a clock step, waits and leases no longer follow the true time.
            world.faults.clockSteppedAt < old.sent.claimedAt, old.losses == new.losses,
            new.at < old.at + Self.awaited
        {
            world.violate(
                .newestArrives, "again after \(new.at - old.at) ms, while its answer is awaited: \(sent.words)")
        }
        open[told] = new
    }

    private func settle(_ settlement: SettleFlight, _ world: World) {
        for entry in settlement.entries {
            if case .awaited = entry.outcome { continue }
            guard let token = entry.seat.phone.token(of: entry.seat.plan) else { continue }
            let told = Told(token: token.hex, revision: entry.seat.plan.revision)
            if case .answered(.success(let answer)) = entry.outcome, answer.status == 200 {
                takenAt[Telling(told: told, kind: entry.seat.plan.kind)] = world.now
            }
            if open[told]?.sent.card?.seat.timestamp == entry.seat.timestamp { open[told] = nil }
        }
    }

    /// Highest number of repeats per minute for a push that gets no answer or an error.
    ///
    /// It allows for the shortest delays that jitter can produce. Twice as many are allowed if one of them is
    /// accepted.
    private static let most = 12
    /// Milliseconds to await an answer before the same push may leave again.
    private static let awaited: Int64 = 11_000

    // MARK: - At rest

    /// Checks that every push that is due was sent. Delivery and the phones' reports take longer.
    private func afterCalm(_ world: World) {
        for subject in world.subjects {
            guard let activity = world.activity(subject), activity.phase == .active else { continue }
            for phone in world.phones where phone.app.bundleID == subject.app {
                let key = Snapshot.PhoneKey(activity.number, phone.key)
                guard let instance = world.store.rows.cards[key], instance.state == .live, instance.isWanted,
                    !instance.isEvicted, instance.run == activity.run, instance.heldRevision < activity.revision,
                    let token = world.store.rows.updateTokens[key], token.deadAt == nil
                else { continue }
                world.violate(
                    .newestArrives,
                    "r\(activity.revision) was not sent: \(subject.id) on \(phone.name): \(Self.words(instance))")
            }
        }
    }

    private func atRest(_ world: World) {
        if let due = world.store.nextWakeAt, due <= world.serverTime - .seconds(60) {
            world.violate(.newestArrives, "work that was due at \(due) is not done")
        }
        for subject in world.subjects {
            guard let activity = world.activity(subject), activity.phase != .announced else { continue }
            for phone in world.phones where phone.app.bundleID == subject.app {
                check(subject, activity, phone, world)
            }
        }
    }

    /// Checks all cards except those on channels of the app's own, to which nothing is sent.
    private func check(_ subject: Scenery.Subject, _ activity: ActivityRecord, _ phone: Phone, _ world: World) {
        let open = phone.cards.filter { $0.activity == subject.id && !$0.isOver }
        guard let instance = world.store.rows.cards[.init(activity.number, phone.key)] else {
            if let card = open.first, card.run > 0 {
                world.violate(.newestArrives, "\(phone.name) shows \(card.local), of which nothing is known")
            }
            return
        }
        let words = "\(subject.id) on \(phone.name): \(Self.words(instance))"
        let token = world.store.rows.updateTokens[.init(activity.number, phone.key)]
        let reaches = token.map { $0.deadAt == nil } ?? false
        guard activity.phase == .active, instance.isWanted else {
            for card in open
            where card.channel != Sample.channel && (reaches || instance.state == .live || instance.state.isTombstone) {
                world.violate(.newestArrives, "\(card.local) should be over: \(words)")
            }
            return
        }
        guard instance.run == activity.run else {
            if open.contains(where: { $0.channel != Sample.channel }) {
                world.violate(.newestArrives, "a card of an earlier run is still there: \(words)")
            }
            return
        }
        if instance.state == .live, reaches, instance.heldRevision < activity.revision {
            world.violate(.newestArrives, "r\(activity.revision) was not sent: \(words)")
        }
        let newest = world.step(of: subject)
        for card in open where card.step != newest && card.channel != Sample.channel {
            // A state that the phone keeps replacing with an older one is sent three times.
            if instance.revisions.contradictions >= Reconciler.maximumContradictions { continue }
            // In a type with renewal, the replaced card is ended once. After that iOS ends it.
            if world.scenery.type(of: subject).policy.renewal, card.local != instance.localID?.text { continue }
            world.violate(.newestArrives, "\(card.local) shows step \(card.step) instead of \(newest): \(words)")
        }
        if open.isEmpty { missing(subject, instance, phone, words, world) }
    }

    /// Checks a phone without a card: its card is over, or the server names a reason against a start.
    private func missing(
        _ subject: Scenery.Subject, _ instance: CardMachine, _ phone: Phone, _ words: String, _ world: World
    ) {
        // The card was evicted after the last inventory. The next inventory reports that it is over.
        if instance.isEvicted, instance.state == .ending, let last = instance.last,
            last.at > world.serverTime - .seconds(60)
        {
            return
        }
        // Only the app can know that the card is over, and it has not looked yet.
        if phone.cards.contains(where: { $0.isOverUnseen && $0.local == instance.localID?.text }) { return }
        switch instance.state {
        case .live, .ending: world.violate(.newestArrives, "no card is there: \(words)")
        case .starting: world.violate(.newestArrives, "its start is never settled: \(words)")
        case .dismissed, .ended, .gone, .requesting: break
        case .unconfirmed:
            // A start that was sent within its window is not judged yet.
            if let expires = instance.startExpiresAt, expires + .seconds(1200) < world.serverTime {
                world.violate(.newestArrives, "a start that failed is not noticed: \(words)")
            }
        case .absent:
            guard let decision = world.decision(subject, phone) else { return }
            // After a card was evicted to make room, the start is looked at again some seconds later.
            let isLookedAtSoon =
                instance.lookAt.map {
                    $0 > world.serverTime && $0 <= world.serverTime + Reconciler.ceilingRecheck
                } ?? false
            if case .send = decision, !isLookedAtSoon {
                world.violate(.newestArrives, "a start is due and is not sent: \(words)")
            }
            if case .nothing(let reason) = decision, reason.code == .activitiesDisabled, !phone.allowsActivities {
                return
            }
            if case .nothing(let reason) = decision, !Self.good.contains(reason.code) {
                world.violate(.newestArrives, "no card, for \(reason.code.rawValue): \(words)")
            }
        }
    }

    /// Valid reasons why a reachable phone whose person should see the activity has no card.
    private static let good: Set<Reason.Code> = [
        .otherDeviceActive, .fellBack, .startNever, .appOnly, .evicted,
    ]

    private static func words(_ instance: CardMachine) -> String {
        "\(instance.state.name) run \(instance.run) sent r\(instance.sentRevision) shown r\(instance.shownRevision) "
            + "ts \(instance.timestamp) wanted \(instance.isWanted) "
            + "card \(instance.localID?.text ?? "-") last \(instance.last?.reason.code.rawValue ?? "-")"
            + " lookAt \(instance.lookAt?.description ?? "-") dueAt \(instance.attempts.dueAt?.description ?? "-")"
    }
}

extension World {
    /// Returns the reconciler's current decision about a phone.
    func decision(_ subject: Scenery.Subject, _ phone: Phone) -> Decision? {
        guard let activity = activity(subject), let content = store.rows.contents[activity.number] else { return nil }
        var part = store.load([.phones(activity.number, devices: [phone.key])])
        let type = scenery.type(of: subject)
        if type.policy.atCeiling != .ignore { store.loadCards(on: phone.key, for: activity, &part) }
        guard let situation = Draft(part).phone(.init(activity.number, phone.key), type: activity.type) else {
            return nil
        }
        return Reconciler.decide(
            DesiredSituation(activity, type, content, Draft(part)), situation, now: serverTime)
    }
}
