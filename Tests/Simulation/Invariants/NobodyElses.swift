import APNSModel
import LiveActivityCore
import TestSupport

/// **Nobody reads or changes what is not theirs** (app by key, person by token).
///
/// The server's tests cover the credentials of calls. This rule covers pushes:
///
/// - An app's activity goes to that app's phones only, and only to people in its audience.
/// - A person who leaves, signs out or gives the phone away is sent no more states, and the card is ended.
final class NobodyElses: Invariant {
    func see(_ event: Observation, in world: World) {
        switch event {
        case .claimed(let flight, _):
            for seat in flight.seats { claim(flight, seat, world) }
        case .claimedNotifications(let flight, _):
            for seat in flight.seats where seat.device.userID != seat.addressee.user {
                world.violate(.nobodyElses, "a notification for \(seat.addressee.user) goes to \(seat.device.userID)")
            }
        case .arrived(let sent, let phone, let effect): arrive(sent, phone, effect, world)
        case .atRest: atRest(world)
        default: break
        }
    }

    private func claim(_ flight: Flight, _ seat: Flight.Seat, _ world: World) {
        let activity = flight.desired.activity
        guard let device = world.store.rows.devices[seat.phone.device.key] else { return }
        if device.app != activity.app {
            world.violate(.nobodyElses, "\(activity.id) of \(activity.app) goes to a phone of \(device.app)")
        }
        let isMember = world.store.rows.members[activity.number]?.contains(device.user) ?? false
        // An end discloses nothing. A card that the phone itself reported belongs to its person.
        guard seat.plan.kind == .start, !isMember || device.signedOutAt != nil else { return }
        world.violate(.nobodyElses, "a start of \(activity.id) for \(device.userID), who is not in its audience")
    }

    private func arrive(_ sent: SentPush, _ phone: Phone, _ effect: Phone.Effect, _ world: World) {
        guard let (flight, seat) = sent.card else { return }
        if phone.app.bundleID != flight.desired.activity.app {
            world.violate(.nobodyElses, "\(sent.words) comes to a phone of \(phone.app.bundleID)")
        }
        if case .ended(_, withState: true) = effect, !sent.isWanted {
            world.violate(
                .nobodyElses, "\(phone.name) is told r\(seat.plan.revision) with the end, though its person left")
        }
    }

    /// Checks that a person outside an activity's audience shows no card of it.
    ///
    /// No push ends a card on a channel. Its app does so after the answer to its next call, which these phones do not
    /// read.
    private func atRest(_ world: World) {
        for phone in world.phones {
            for card in phone.cards where !card.isOver && card.channel == nil {
                guard
                    let subject = world.scenery.subjects.first(where: {
                        $0.app == phone.app.bundleID && $0.id == card.activity
                    }), let wish = world.backend.wishes[subject], !wish.people.contains(phone.user)
                else { continue }
                world.violate(
                    .nobodyElses, "\(phone.user) on \(phone.name) still sees \(card.local) of \(card.activity)")
            }
        }
    }
}
