import APNSModel
import LiveActivityCore
import TestSupport

/// **A channel is one more phone.** Its newest state arrives, its alerts come once, and nothing of it is left behind.
///
/// - Each broadcast has a later timestamp than every start and broadcast of its channel before it.
/// - A phone gets an alert at most once, whether a start or a broadcast brings it. One broadcast may ring on two cards.
/// - A broadcast brings an alert only where the policy says so.
/// - No card goes back to an older revision by a broadcast.
/// - A card that the server's row has on a channel gets no push of its own. `OneWay` checks what the phone shows.
/// - At rest the newest revision was sent, the end of a run was sent, and APNs has no channel that the server does not
///   know.
final class ChannelsAreTidy: Invariant {
    private struct Alert: Hashable {
        var place: Place
        var revision: Revision
    }

    private var newest: [ChannelID: Int64] = [:]
    /// Timestamp of the broadcast that brought each alert, or the negative one of the start.
    private var rung: [Alert: Int64] = [:]

    func see(_ event: Observation, in world: World) {
        switch event {
        case .claimed(let flight, _):
            for seat in flight.seats {
                if seat.plan.kind != .start, seat.plan.part == .card, let id = seat.phone.card.channel {
                    world.violate(.channelsAreTidy, "a push to a card that is on \(id): r\(seat.plan.revision)")
                }
                guard let id = seat.plan.channel else { continue }
                newest[id] = max(newest[id] ?? 0, seat.timestamp)
            }
        case .claimedChannel(let errand, _):
            guard errand.flight.isBroadcast, let id = errand.channel.id else { return }
            if let last = newest[id], errand.flight.timestamp <= last {
                world.violate(
                    .channelsAreTidy, "a broadcast to \(id) at ts \(errand.flight.timestamp), after ts \(last)")
            }
            newest[id] = errand.flight.timestamp
            if errand.flight.alertRevision > 0, errand.desired?.activity.alert?.onChannels != .broadcast {
                world.violate(.channelsAreTidy, "a broadcast to \(id) brings an alert that is not for channels")
            }
        case .arrived(let sent, let phone, .appeared):
            guard let (flight, seat) = sent.card, seat.plan.carriesAlert, seat.plan.channel != nil else { return }
            ring(flight.desired.activity, seat.plan.alertRevision, phone, by: -seat.timestamp, world)
        case .broadcastArrived(let errand, let phone, let effect): arrive(errand, phone, effect, world)
        case .atRest: atRest(world)
        default: break
        }
    }

    private func arrive(_ errand: ChannelErrand, _ phone: Phone, _ effect: Phone.Effect, _ world: World) {
        switch effect {
        case .applied(let card, let before):
            if card.step > 0, card.revision < before {
                world.violate(.channelsAreTidy, "\(phone.name) goes back from r\(before) to r\(card.revision)")
            }
        case .ended: break
        case .appeared, .older, .nothing, .notified: return
        }
        guard errand.flight.alertRevision > 0, let activity = errand.desired?.activity else { return }
        ring(activity, errand.flight.alertRevision, phone, by: errand.flight.timestamp, world)
    }

    private func ring(
        _ activity: ActivityRecord, _ revision: Revision, _ phone: Phone, by source: Int64, _ world: World
    ) {
        world.count(.alertOnChannel)
        // Its writer prefers a repeated alert to a lost one.
        guard activity.alert?.onUnknown != .repeat else { return }
        let alert = Alert(place: Place(activity.number, phone.key), revision: revision)
        if rung.updateValue(source, forKey: alert) ?? source != source {
            world.violate(
                .channelsAreTidy, "the alert of r\(revision) of \(activity.id) comes to \(phone.name) twice")
        }
    }

    private func atRest(_ world: World) {
        let rows = world.store.rows
        for channel in rows.channels.values.sorted(by: { $0.key < $1.key }) {
            let words = "\(channel.id?.text ?? "\(channel.life)") of \(channel.key.activity) run \(channel.key.run)"
            if channel.flight != nil { world.violate(.channelsAreTidy, "an operation is never settled: \(words)") }
            if let due = channel.dueAt, due < world.serverTime - .seconds(60) {
                world.violate(.channelsAreTidy, "work that was due at \(due) is not done: \(words)")
            }
            guard channel.hasCards, channel.id != nil, let activity = rows.activities[channel.key.activity] else {
                continue
            }
            if activity.run == channel.key.run, channel.parkedRevision < activity.revision,
                channel.sentRevision < activity.revision
            {
                world.violate(.channelsAreTidy, "r\(activity.revision) was not sent: \(words)")
            }
            if activity.run != channel.key.run || activity.phase == .ended, channel.ends == 0 {
                world.violate(.channelsAreTidy, "its end was not sent: \(words)")
            }
        }
        let known = Set(rows.channels.values.compactMap(\.id))
        for id in world.channels.all.keys.sorted(by: { $0.text < $1.text }) where !known.contains(id) {
            world.violate(.channelsAreTidy, "channel \(id) is nobody's")
        }
    }
}
