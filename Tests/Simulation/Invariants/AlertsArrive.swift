import APNSModel
import LiveActivityCore
import TestSupport

/// **Alerts once**, the other half: an alert that is due and that APNs has never taken arrives before it expires.
///
/// A person who joins the activity after the alert was given does not get it.
///
/// The check runs some minutes after faults have stopped. It leaves out two groups:
///
/// - phones that may have had the alert, because an answer was lost or a process died
/// - people who joined the activity after the alert was given
final class AlertsArrive: Invariant {
    private struct Alert: Hashable {
        var place: Place
        var run: Int
        var revision: Revision
    }

    /// The pushes that carried one alert to one phone, and their results.
    private struct Carriers {
        /// Pushes without an answer yet, or whose fate is unknown.
        var open: Set<PushID> = []
        var isTaken = false
        var isUnknown = false
    }

    private var carriers: [Alert: Carriers] = [:]
    /// Time at which each person last joined or left an activity.
    private var moves: [Scenery.Subject: [String: Int64]] = [:]
    /// Person of each device, and the time of the last sign-out or registration for another person.
    private var hands: [String: (user: String, at: Int64)] = [:]
    /// Time at which each alert was given, by its revision.
    private var givenAt: [Scenery.Subject: [Revision: Int64]] = [:]
    /// Time of the last change of state or end.
    private var changedAt: [Scenery.Subject: Int64] = [:]
    private var rescuedAt = Int64.min

    func see(_ event: Observation, in world: World) {
        switch event {
        case .claimed(let flight, _):
            for seat in flight.seats where seat.plan.carriesAlert {
                checkJoining(flight, seat, world)
                carriers[alert(seat, flight.desired.activity.run), default: Carriers()].open
                    .insert(flight.record.pushID(of: seat.phone.device.key))
            }
        case .settled(let settlement, _):
            for entry in settlement.entries where entry.seat.plan.carriesAlert { settle(settlement, entry) }
        case .accepted(let sent):
            guard let (flight, seat) = sent.card, seat.plan.carriesAlert else { return }
            carriers[alert(seat, flight.desired.activity.run)]?.isTaken = true
        case .claimCommitted(let reply, _): if reply.rescued > 0 { rescuedAt = world.now }
        case .called(.stands(let call, let stand)):
            if !stand.isReplayed, !stand.isSuperseded { move(call, stand, world) }
        case .reported(let report): hold(report, world)
        case .alertsAreDue: check(world)
        default: break
        }
    }

    private func alert(_ seat: Flight.Seat, _ run: Int) -> Alert {
        Alert(
            place: Place(seat.phone.card.activity, seat.phone.device.key), run: run,
            revision: seat.plan.alertRevision)
    }

    private func settle(_ settlement: SettleFlight, _ entry: SettleFlight.Entry) {
        let alert = alert(entry.seat, entry.seat.phone.card.run)
        switch entry.outcome {
        case .awaited: return
        case .answered(.failure(let failure)) where failure.mayHaveArrived: carriers[alert]?.isUnknown = true
        case .answered, .notBuilt: carriers[alert]?.open.remove(settlement.flight.pushID(of: alert.place.device))
        }
    }

    private func move(_ call: Backend.Call, _ stand: Backend.Stand, _ world: World) {
        let before = world.backend.wishes[call.subject]?.people ?? []
        let after: Set<String>
        switch call.what {
        case .put(let body, _, _): after = body.users.map { Set($0.map(\.text)) } ?? before
        case .audience(let add, let remove): after = before.union(add).subtracting(remove)
        case .replaceAudience(let people): after = Set(people)
        case .end, .notify: return
        }
        if case .put(let body, _, _) = call.what, stand.changed {
            changedAt[call.subject] = world.now
            if body.alert != nil { givenAt[call.subject, default: [:]][stand.revision] = world.now }
        }
        for person in before.symmetricDifference(after) { moves[call.subject, default: [:]][person] = world.now }
    }

    private func checkJoining(_ flight: Flight, _ seat: Flight.Seat, _ world: World) {
        let (activity, person) = (flight.desired.activity, seat.phone.device.userID.text)
        let subject = world.scenery.subjects.first { $0.app == activity.app && $0.id == activity.id.text }
        guard let subject, let given = givenAt[subject]?[seat.plan.alertRevision],
            let came = moves[subject]?[person], came > given
        else { return }
        world.violate(
            .alertsOnce, "\(person) came to \(activity.id) after the alert of r\(seat.plan.alertRevision), and gets it")
    }

    private func hold(_ report: Phone.Report, _ world: World) {
        switch report.what {
        case .registered(let user, _):
            if hands[report.device]?.user != user { hands[report.device] = (user, world.now) }
        case .signedOut: hands[report.device] = ("", world.now)
        default: break
        }
    }

    private func check(_ world: World) {
        // Work deferred by a clock that was set back later waits that much longer.
        guard world.faults.latestTime <= world.serverTime - .seconds(120) else { return }
        for subject in world.scenery.subjects {
            guard let activity = world.activity(subject), activity.phase == .active, let alert = activity.alert,
                world.serverTime < alert.expiresAt
            else { continue }
            // An alert that a later state carries on was given with an earlier state.
            let isKept = alert.revision < activity.revision
            guard let given = isKept ? givenAt[subject]?[alert.revision] : changedAt[subject], given > rescuedAt,
                given > world.faults.clockSteppedAt
            else { continue }
            for phone in world.phones where phone.app.bundleID == subject.app {
                guard (moves[subject]?[phone.user] ?? .min) < given, let hand = hands[phone.device],
                    hand.user == phone.user, hand.at < given
                else { continue }
                if !isKept { check(alert, activity, phone, world) }
                checkNotified(alert, activity, phone, given, world)
                checkStanding(of: alert, subject, activity, phone, world)
            }
        }
    }

    /// Checks a phone in any state.
    ///
    /// An alert counts as given only if a push has brought it or may have. A start that is due with the alert is
    /// made.
    private func checkStanding(
        of alert: AlertRecord, _ subject: Scenery.Subject, _ activity: ActivityRecord, _ phone: Phone, _ world: World
    ) {
        let key = Snapshot.PhoneKey(activity.number, phone.key)
        guard let instance = world.store.rows.cards[key], instance.run == activity.run, instance.isWanted,
            !instance.isEvicted, instance.alerts.told == nil,
            let known = carriers[
                Alert(place: Place(key.activity, key.device), run: activity.run, revision: alert.revision)],
            !known.isTaken, !known.isUnknown, known.open.isEmpty
        else { return }
        if instance.alerts.given >= alert.revision {
            world.violate(
                .alertsOnce,
                "the alert of r\(alert.revision) of \(activity.id) counts as given on \(phone.name), and every push "
                    + "that carried it was refused: \(instance.state.name)")
        } else if !instance.state.mayHaveCard, case .send(let plan) = world.decision(subject, phone),
            plan.carriesAlert
        {
            world.violate(
                .alertsOnce,
                "the start that is due with the alert of r\(alert.revision) of \(activity.id) does not come to "
                    + "\(phone.name): \(instance.state.name)")
        }
    }

    /// Checks a phone whose card is on a channel that brings no alert: a notification brings it.
    private func checkNotified(
        _ alert: AlertRecord, _ activity: ActivityRecord, _ phone: Phone, _ given: Int64, _ world: World
    ) {
        let key = Snapshot.PhoneKey(activity.number, phone.key)
        guard alert.onChannels == .notification, let card = world.store.rows.cards[key], card.run == activity.run,
            card.state == .live || card.state == .unconfirmed, card.isWanted, !card.isEvicted,
            card.createdAt < activity.changedAt, let id = card.subscription,
            world.store.rows.channels.values.contains(where: { $0.id == id && $0.key.run == activity.run }),
            let device = world.store.rows.devices[phone.key],
            NotificationRecord.Kind.alert.obstacle(
                device.facts, world.store.rows.deviceTokens[.init(phone.key, .device, "")]) == nil
        else { return }
        guard card.alerts.given < alert.revision else { return }
        world.violate(
            .alertsOnce,
            "the alert of r\(alert.revision) of \(activity.id) does not come to \(phone.name) by a notification: "
                + "\(card.state.name) on \(id), alerted r\(card.alerts.given)")
    }

    private func check(_ alert: AlertRecord, _ activity: ActivityRecord, _ phone: Phone, _ world: World) {
        let key = Snapshot.PhoneKey(activity.number, phone.key)
        guard let instance = world.store.rows.cards[key], instance.run == activity.run, instance.state == .live,
            instance.isWanted, !instance.isEvicted, instance.alerts.told == nil,
            instance.revisions.contradictions == 0,
            instance.createdAt < activity.changedAt, let token = world.store.rows.updateTokens[key],
            token.deadAt == nil
        else { return }
        // The phone has the state from elsewhere: its app is running and fetched the state itself.
        if instance.shownRevision >= alert.revision, instance.sentRevision < alert.revision { return }
        // The app's own state stays until its lead ends.
        if let lead = instance.lead, lead.until.map({ $0 + .seconds(30) > world.serverTime }) ?? true { return }
        // The phone waits for its retry after a 5xx or 429.
        if let due = instance.waitsUntil(at: world.serverTime), due > world.serverTime { return }
        let known =
            carriers[Alert(place: Place(key.activity, key.device), run: activity.run, revision: alert.revision)]
            ?? Carriers()
        guard !known.isTaken, !known.isUnknown, known.open.isEmpty else { return }
        world.violate(
            .alertsOnce,
            "the alert of r\(alert.revision) of \(activity.id) was never taken, and does not come to \(phone.name): "
                + "sent r\(instance.sentRevision) shown r\(instance.shownRevision) alerted r\(instance.alerts.given)"
        )
    }
}
