import APNSModel

// Phones that an open circuit holds back.
extension ClaimWork {
    /// Phones found on a lane's page.
    struct Found {
        var seats: [Flight.Seat] = []
        /// `true` if every phone of the page was looked at.
        var isWhole: Bool
        var waitsUntil: UnixTime?
        /// Phones that get an ordinary notification instead, with the reason.
        var fallenBack: [(phone: PhoneSituation, reason: Reason)] = []
        /// Phones that an open circuit holds back.
        var held: [Held] = []
    }

    /// A phone that an open circuit holds back.
    struct Held {
        let phone: CardMachine
        let route: PushRoute
        let closure: CircuitGate.Closure
        /// `true` if the push may be the route's probe.
        let isHarmless: Bool
    }

    /// Returns what a lane waits for whose phones were all looked at; `nil` if it looks again at a time.
    func condition(_ found: Found, of lane: LaneRecord) -> LaneCondition? {
        guard let route = found.held.first?.route, found.seats.isEmpty, lane.counts.total <= limits.waiting,
            found.held.allSatisfy({ $0.route == route })
        else { return nil }
        return .route(route, isHarmless: found.held.contains(where: \.isHarmless))
    }

    /// Lets a lane wait whose phones are held back, for its condition or until the next check.
    func hold(
        _ lane: inout LaneRecord, since old: LaneRecord, for condition: LaneCondition?,
        by closure: CircuitGate.Closure, _ held: [Held], _ activity: ActivityRecord
    ) {
        guard let condition else {
            lane.rest(until: closure.until)
            lane.reason = closure.reason
            return
        }
        waits(&lane, for: condition, since: old)
        lane.reason = closure.trouble.reason(until: nil)
        let lapAt = lane.lap < activity.lap ? max(now, activity.holdUntil) : nil
        lane.nextAt = [lane.nextAt, lane.lookAt, lapAt].compactMap { $0 }.min()
        // The phones that are held back keep their times, which may be over.
        lane.lookAt = ([lane.lookAt] + held.map(\.phone.lookAt)).compactMap { $0 }.min()
    }

    /// Lets a lane wait for a condition. If it already did, nothing changes.
    func waits(_ lane: inout LaneRecord, for condition: LaneCondition, since old: LaneRecord) {
        lane.waitsFor = condition
        let checkAt = old.waitsFor == condition ? old.nextAt.flatMap { $0 > now ? $0 : nil } : nil
        lane.nextAt = checkAt ?? LaneCondition.checkAt(lane.key, from: now)
    }

    /// Writes a few held-back phones one by one, so that the other phones of their lane do not wait with them.
    func holdBack(_ found: inout Found, of lane: LaneRecord, _ draft: inout Draft) {
        guard !found.held.isEmpty, found.held.count <= Self.fewHeld, found.held.count < lane.counts.total else {
            return
        }
        for held in found.held {
            let (card, closure) = (held.phone, held.closure)
            found.waitsUntil = min(found.waitsUntil ?? closure.until, closure.until)
            guard card.lookAt != closure.until else { continue }
            var waiting = card
            waiting.lookAt = closure.until
            draft.put(waiting)
        }
        found.held = []
    }

    /// Maximum number of held-back phones that are written one by one. With more, the lane's row holds the fault.
    private static let fewHeld = 16
}
