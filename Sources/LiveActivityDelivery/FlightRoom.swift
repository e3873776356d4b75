import APNSModel
import LiveActivityCore
import Synchronization

/// The pacer, with a way for the dispatcher to wait until there is room for another claim.
final class FlightRoom: Sendable {
    private let pacer: Mutex<Pacer>
    private let left = Signal()
    private let isHasteBarred = Atomic(false)

    init(_ limits: Pacer.Limits) {
        pacer = Mutex(Pacer(limits))
    }

    /// Waits until there is room, and returns what the next claim may take; `nil` if the task was canceled first. The
    /// room stays free for the claim until `release`.
    ///
    /// Only one task may call this at a time.
    func reserve(upTo most: Int, at now: () -> UnixTime) async -> Pacer.Grant? {
        while !Task.isCancelled {
            if let grant = pacer.withLock({ $0.reserve(upTo: most, at: now()) }) { return grant }
            await left.wait()
        }
        return nil
    }

    /// Returns what a claim may take before its turn, and keeps that free for it until `release`; `nil` if there is too
    /// little room, or if such claims are barred.
    func reserveHastily(upTo most: Int, at now: UnixTime) -> Pacer.Grant? {
        guard !isHasteBarred.load(ordering: .acquiring) else { return nil }
        return pacer.withLock { $0.reserve(upTo: most, isHasty: true, at: now) }
    }

    /// Bars claims before their turn, or allows them again.
    func barHaste(_ isBarred: Bool) { isHasteBarred.store(isBarred, ordering: .releasing) }

    /// Ends the reservation of a claim whose flights have entered.
    func release(_ grant: Pacer.Grant) {
        pacer.withLock { $0.release(grant) }
        left.raise()
    }

    func enter(_ flight: Flight) {
        pacer.withLock { $0.left(flight.desired.activity.number, flight.seats.count) }
    }

    /// Records that a flight is settled. The answers to `late` of its pushes are still awaited.
    func leave(_ flight: Flight, late: Int) {
        pacer.withLock { $0.settled(flight.desired.activity.number, flight.seats.count, late: late) }
        left.raise()
    }

    func leaveLate(_ late: Int) {
        pacer.withLock { $0.caughtUp(late) }
        left.raise()
    }

    /// Records pushes that leave together, by notification.
    func enter(_ notifications: [NotificationNumber: Int]) {
        pacer.withLock { pacer in
            for (number, pushes) in notifications { pacer.left(number, pushes) }
        }
    }

    /// Records that these pushes are settled. The answers to some of each notification may still be awaited.
    func leave(_ notifications: [NotificationNumber: Int], late: [NotificationNumber: Int]) {
        pacer.withLock { pacer in
            for (number, pushes) in notifications { pacer.settled(number, pushes, late: late[number, default: 0]) }
        }
        left.raise()
    }

    /// Passes a flight's answers to the pacer.
    ///
    /// - Returns: `true` if the answers halved the total number of pushes that may be on their way.
    func record(_ route: PushRoute, _ tally: RouteTally, halvings: Int, at now: UnixTime) -> Bool {
        pacer.withLock {
            $0.record(
                route, slowDowns: tally.slowDowns, of: tally.healthy + tally.troubled, halvings: halvings, at: now)
        }
    }

    /// Waits until nothing is on its way. Only the task that waits for grants may call this.
    func drained() async {
        while pacer.withLock({ !$0.isIdle }) && !Task.isCancelled {
            await left.wait()
        }
    }
}
