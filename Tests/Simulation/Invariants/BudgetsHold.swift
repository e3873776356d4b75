import APNSModel
import LiveActivityCore
import TestSupport

/// **Our budgets hold.** No sliding window exceeds the configured estimate of high-priority pushes and starts.
///
/// Beyond the estimate, updates and ends go at low priority and starts wait. Budgets count in the server's own time.
///
/// Each card also has an interval from its type. Within the interval after an accepted high-priority push, it gets no
/// high-priority update or end without an alert.
final class BudgetsHold: Invariant {
    private struct Spent: Hashable {
        var device: DeviceKey
        var isStart: Bool
    }

    private struct Card: Hashable {
        var place: Place
        var local: LocalID?
    }

    private var claims: [Spent: [UnixTime]] = [:]
    /// Time of the newest high-priority push to each card: claimed by the server's clock, settled in true time.
    private var accepted: [Card: (claimedAt: UnixTime, settledAt: UnixTime)] = [:]

    func see(_ event: Observation, in world: World) {
        switch event {
        case .claimed(let flight, _):
            for seat in flight.seats where seat.plan.priority == .high {
                spend(flight, seat, flight.record.claimedAt, world)
            }
        case .settled(let settlement, let before):
            for entry in settlement.entries { settle(settlement, entry, before, world) }
        default: break
        }
    }

    private func spend(_ flight: Flight, _ seat: Flight.Seat, _ now: UnixTime, _ world: World) {
        let isStart = seat.plan.kind == .start
        let device = seat.phone.device
        let key = Spent(device: device.key, isStart: isStart)
        claims[key, default: []].append(now)
        let budgets = flight.desired.type.policy.budgets
        let limit = isStart ? budgets.start : budgets.high(device)
        for (window, most) in [(Duration.seconds(3600), limit.perHour), (.seconds(86_400), limit.perDay)] {
            let count = claims[key, default: []].count { $0 <= now && $0 > now - window }
            if count > most {
                world.violate(
                    .budgetsHold,
                    "\(count) \(isStart ? "starts" : "high pushes") to \(device.id) in \(window), \(most) are estimated"
                )
            }
        }
        // The interval applies to states only. The budget pays for alerts.
        guard !isStart, !seat.plan.carriesAlert else { return }
        let card = Card(
            place: Place(flight.desired.activity.number, device.key), local: seat.phone.card.localID)
        let interval = flight.desired.type.policy.highPriorityInterval
        guard let last = accepted[card], now >= last.claimedAt, now < last.claimedAt + interval else { return }
        // After a clock is set back, the same minute occurs twice.
        guard world.trueTime < last.settledAt + interval else { return }
        world.violate(
            .budgetsHold,
            "a high push of \(flight.desired.activity.id) to \(device.id) \(now - last.claimedAt) after another")
    }

    private func settle(
        _ settlement: SettleFlight, _ entry: SettleFlight.Entry, _ before: Snapshot, _ world: World
    ) {
        guard entry.seat.plan.priority == .high, entry.seat.plan.kind != .start, entry.seat.plan.part == .card,
            case .answered(.success(let answer)) = entry.outcome, answer.status == 200
        else { return }
        let key = Snapshot.PhoneKey(settlement.lane.activity, entry.seat.phone.device.key)
        // A push that a newer push has overtaken is not counted. A push that left after the clock was set back is not
        // overtaken by the card's earlier timestamp.
        guard let old = before.cards[key], old.run == entry.seat.phone.card.run,
            old.timestamp <= max(entry.seat.timestamp, entry.seat.phone.card.timestamp),
            old.state == .live || old.state == .ending
        else { return }
        accepted[Card(place: Place(key.activity, key.device), local: old.localID)] = (
            settlement.flight.claimedAt, world.trueTime
        )
    }
}
