import APNSModel
import LiveActivityCore
import Synchronization

/// The pacer with somebody who waits for it: the dispatcher, while there is no room for another claim.
final class FlightRoom: Sendable {
    private let pacer: Mutex<Pacer>
    private let left = Signal()

    init(_ limits: Pacer.Limits) {
        pacer = Mutex(Pacer(limits))
    }

    /// What the next claim may take, once there is room; `nil` when the task was cancelled first. For one task.
    func grant(at now: () -> UnixTime) async -> Pacer.Grant? {
        while !Task.isCancelled {
            if let grant = pacer.withLock({ $0.grant(at: now()) }) { return grant }
            await left.wait()
        }
        return nil
    }

    func enter(_ flight: Flight) {
        pacer.withLock { $0.left(flight.desired.activity.number, flight.seats.count) }
    }

    /// A flight is over, but for the stragglers that are awaited on.
    func leave(_ flight: Flight, late: Int) {
        pacer.withLock { $0.settled(flight.desired.activity.number, flight.seats.count, late: late) }
        left.raise()
    }

    func leaveLate(_ late: Int) {
        pacer.withLock { $0.caughtUp(late) }
        left.raise()
    }

    /// So many pushes of each of these notifications leave together.
    func enter(_ notifications: [NotificationNumber: Int]) {
        pacer.withLock { pacer in
            for (number, pushes) in notifications { pacer.left(number, pushes) }
        }
    }

    /// They are over, but for so many of each whose answers are awaited on.
    func leave(_ notifications: [NotificationNumber: Int], late: [NotificationNumber: Int]) {
        pacer.withLock { pacer in
            for (number, pushes) in notifications { pacer.settled(number, pushes, late: late[number, default: 0]) }
        }
        left.raise()
    }

    /// Whether the whole was halved by what a flight was answered.
    func record(_ route: PushRoute, _ tally: RouteTally, halvings: Int, at now: UnixTime) -> Bool {
        pacer.withLock {
            $0.record(
                route, slowDowns: tally.slowDowns, of: tally.healthy + tally.troubled, halvings: halvings, at: now)
        }
    }

    /// Returns when nothing is on its way. For the task that waits for grants.
    func drained() async {
        while pacer.withLock({ !$0.isIdle }) && !Task.isCancelled {
            await left.wait()
        }
    }
}
