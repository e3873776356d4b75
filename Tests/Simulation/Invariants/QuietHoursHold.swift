import APNSModel
import LiveActivityCore
import TestSupport

/// **Our budgets hold**, quiet hours included: no start without an alert is claimed during quiet hours.
final class QuietHoursHold: Invariant {
    func see(_ event: Observation, in world: World) {
        guard case .claimed(let flight, _) = event, flight.desired.type.policy.quietHours != nil else { return }
        for seat in flight.seats where seat.plan.kind == .start && !seat.plan.carriesAlert {
            if isQuiet(flight.record.claimedAt) {
                world.violate(
                    .budgetsHold, "\(flight.desired.activity.id) starts on \(seat.phone.device.id) in quiet hours")
            }
            if isQuiet(flight.desired.activity.changedAt) { world.count(.waitedForQuiet) }
        }
    }

    private func isQuiet(_ time: UnixTime) -> Bool {
        Scenery.quietMinutes.contains(Int(time.seconds / 60 % (24 * 60)))
    }
}
