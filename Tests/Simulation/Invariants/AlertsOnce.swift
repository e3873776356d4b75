import APNSModel
import LiveActivityCore
import TestSupport

/// **Alerts once.** An alert has an id. It reaches a phone at most once and never before its state.
///
/// - A later state carries an unsent alert only with `keep: true`.
/// - A later alert replaces it.
/// - It expires after 10 minutes.
/// - A person who joins later does not get it.
/// - After an unknown outcome it is dropped by default, or repeated if `onUnknown` says so.
///
/// An ordinary notification is sent at least once. A repeat has the same `apns-id` and collapse id.
///
/// A phone never gets both a fallback notification and a card that shows the same state.
final class AlertsOnce: Invariant {
    private struct Alert: Hashable {
        var place: Place
        var run: Int
        var revision: Revision
    }

    private struct Copy: Hashable {
        var notification: NotificationNumber
        var device: DeviceKey
    }

    private struct Envelope: Equatable {
        var id: PushID
        var collapse: CollapseID?
        var payload: [UInt8]
    }

    private var rung: [Alert: PushID] = [:]
    /// Id of the alert that each state's call named.
    private var named: [ActivityNumber: [Revision: String]] = [:]
    /// Time at which it was recorded that APNs had taken each alert.
    private var given: [Alert: Int64] = [:]
    private var envelopes: [Copy: Envelope] = [:]
    private var taken: Set<Copy> = []
    private var addressees: [Copy: NotificationRecord] = [:]
    /// Fallback notifications that were claimed.
    private var told: [Alert: Bool] = [:]

    func see(_ event: Observation, in world: World) {
        switch event {
        case .claimed(let flight, _):
            for seat in flight.seats { claim(flight, seat, world) }
        case .claimedNotifications(let flight, _):
            for seat in flight.seats { claim(seat, world) }
        case .settled(let settlement, _):
            for entry in settlement.entries { settle(entry, world) }
        case .settledNotifications(let settlement, let before):
            for entry in settlement.entries { settle(entry) }
            look(before, world)
        case .claimCommitted(_, let before): look(before, world)
        case .accepted(let sent):
            if case .notification(let seat) = sent.what {
                taken.insert(Copy(notification: seat.notification.number, device: seat.device.key))
            }
        case .called(.commits(let call, let stand)):
            guard case .put(let body, _, _) = call.what, stand.changed, let number = world.number(of: call.subject)
            else { return }
            named[number, default: [:]][stand.revision] = body.alert?.id
        case .arrived(let sent, let phone, let effect): arrive(sent, phone, effect, world)
        case .left(let sent, _, let push):
            guard case .notification(let seat) = sent.what else { return }
            let copy = Copy(notification: seat.notification.number, device: seat.device.key)
            let envelope = Envelope(
                id: push.request.id, collapse: push.request.collapseID, payload: push.request.payload)
            if let first = envelopes[copy], first != envelope {
                world.violate(.alertsOnce, "a notification to \(seat.device.id) is repeated as another")
            }
            envelopes[copy] = envelope
        case .atRest: look(nil, world)
        default: break
        }
    }

    private func claim(_ flight: Flight, _ seat: Flight.Seat, _ world: World) {
        let activity = flight.desired.activity
        if seat.plan.kind == .start, seat.plan.part == .card {
            let place = Place(activity.number, seat.phone.device.key)
            if told[Alert(place: place, run: activity.run, revision: seat.plan.revision)] == true {
                world.violate(
                    .alertsOnce, "a card of \(activity.id) r\(seat.plan.revision) is started after it was told")
            }
        }
        guard seat.plan.carriesAlert else { return }
        checkPriority(flight, seat, world)
        guard let alert = activity.alert, alert.revision == seat.plan.alertRevision else {
            return world.violate(.alertsOnce, "an alert is claimed that \(activity.id) does not have")
        }
        if seat.plan.alertRevision > seat.plan.revision {
            world.violate(.alertsOnce, "an alert goes before its state")
        }
        if flight.record.claimedAt >= alert.expiresAt {
            world.violate(.alertsOnce, "an alert of \(activity.id) has expired")
        }
        let isNamed = named[activity.number]?[activity.revision] == alert.id
        if !alert.keep, !isNamed, alert.revision != activity.revision, seat.plan.kind != .start {
            world.violate(
                .alertsOnce, "r\(activity.revision) of \(activity.id) carries the alert of r\(alert.revision)")
        }
    }

    /// Checks that an alert does not wait for the minute that a card's high-priority push blocks.
    ///
    /// Only two things lower its priority: the backend's own choice and the device's budget.
    private func checkPriority(_ flight: Flight, _ seat: Flight.Seat, _ world: World) {
        guard seat.plan.kind != .start, seat.plan.priority == .low, flight.desired.activity.priority != .low else {
            return
        }
        let device = seat.phone.device
        // This budget already includes the other pushes of this claim.
        let spent = world.store.rows.budgets[.init(device.key, .high)]
        let budget = flight.desired.type.policy.budgets.high(device)
        guard budget.opens(spent, for: .alertOrEnd, now: flight.record.claimedAt) <= flight.record.claimedAt else {
            return
        }
        world.violate(
            .alertsOnce, "the alert of r\(seat.plan.alertRevision) goes to \(device.id) at low priority")
    }

    private func claim(_ seat: NotificationFlight.Seat, _ world: World) {
        let copy = Copy(notification: seat.notification.number, device: seat.device.key)
        addressees[copy] = seat.notification
        guard let fallback = seat.notification.fallback else { return }
        // The other types with notifications have no channels.
        if world.store.rows.activities[fallback.activity]?.type == Scenery.match {
            return checkAlone(seat, fallback, world)
        }
        told[Alert(place: Place(fallback.activity, seat.device.key), run: fallback.run, revision: fallback.revision)] =
            true
    }

    /// Checks that a notification that brings an alert alone does not repeat what a push has brought.
    private func checkAlone(
        _ seat: NotificationFlight.Seat, _ fallback: NotificationRecord.Fallback, _ world: World
    ) {
        let place = Place(fallback.activity, seat.device.key)
        world.count(.alertNotified)
        guard seat.addressee.tries == 1, let activity = world.store.rows.activities[fallback.activity],
            activity.alert.map({ $0.revision == fallback.revision && $0.onUnknown == .repeat }) != true,
            rung[Alert(place: place, run: fallback.run, revision: fallback.revision)] != nil
        else { return }
        world.violate(
            .alertsOnce, "\(seat.device.id) is told the alert of r\(fallback.revision), which a push has brought")
    }

    private func settle(_ entry: SettleFlight.Entry, _ world: World) {
        guard entry.seat.plan.carriesAlert, case .answered(.success(let answer)) = entry.outcome,
            answer.verdict == .accepted
        else { return }
        let alert = Alert(
            place: Place(entry.seat.phone.card.activity, entry.seat.phone.device.key),
            run: entry.seat.phone.card.run, revision: entry.seat.plan.alertRevision)
        given[alert] = min(given[alert] ?? world.now, world.now)
    }

    /// Forgets the fallback if the device token was dead, because nothing was delivered.
    private func settle(_ entry: SettleNotifications.Entry) {
        guard let fallback = entry.seat.notification.fallback, case .success(let answer) = entry.outcome,
            case .tokenDead = answer.verdict
        else { return }
        let place = Place(fallback.activity, entry.seat.device.key)
        told[Alert(place: place, run: fallback.run, revision: fallback.revision)] = nil
    }

    private func arrive(_ sent: SentPush, _ phone: Phone, _ effect: Phone.Effect, _ world: World) {
        guard let (flight, seat) = sent.card, seat.plan.carriesAlert else { return }
        // A card that is over makes no sound. Neither does a card that ignores an older push.
        switch effect {
        case .appeared, .applied, .ended: break
        case .older, .nothing, .notified: return
        }
        world.count { $0.alerts += 1 }
        let alert = Alert(
            place: Place(flight.desired.activity.number, seat.phone.device.key), run: flight.desired.activity.run,
            revision: seat.plan.alertRevision)
        // An alert is repeated while its fate is unknown, but not once it is known to have arrived.
        let repeats =
            flight.desired.activity.alert?.onUnknown == .repeat && given[alert].map { sent.claimedAt <= $0 } ?? true
        if rung[alert] != nil, !repeats {
            world.violate(
                .alertsOnce,
                "the alert of r\(alert.revision) of \(flight.desired.activity.id) comes to \(phone.name) twice")
        }
        rung[alert] = sent.id
    }

    /// Checks addressees whose row is gone: their notification was sent, or could not be sent.
    private func look(_ before: Snapshot?, _ world: World) {
        for (copy, notification) in addressees.sorted(by: {
            ($0.key.notification, $0.key.device) < ($1.key.notification, $1.key.device)
        }) {
            let key = AddresseeKey(copy.notification, copy.device)
            guard world.store.rows.addressees[key] == nil else { continue }
            addressees[copy] = nil
            guard !taken.contains(copy), world.serverTime < notification.expiresAt else { continue }
            let device = world.store.rows.devices[copy.device]
            let token = world.store.rows.deviceTokens[.init(copy.device, .device, "")]
            let row = before?.addressees[key]
            if device?.signedOutAt == nil, device?.userID == row?.user, row != nil, token?.deadAt == nil {
                world.violate(
                    .alertsOnce, "a notification to \(device?.id.text ?? "?") is forgotten before it was taken")
            }
        }
    }
}
