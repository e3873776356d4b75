import APNSModel
import LiveActivityCore
import LiveActivityStorage
import TestSupport

/// **Accepted is kept**, for webhook endpoints: each event that an endpoint wants is sent until it is taken or given
/// up.
///
/// The events of one activity are sent in order. An event that was given up is sent again on request.
final class EventsAreTold: Invariant {
    private var calls: [EventNumber: Int] = [:]
    /// True time of the first call for each event.
    private var calledFirst: [EventNumber: Int64] = [:]
    private var taken: [EventNumber: Int] = [:]
    /// Number of times that each event had been taken when a replay of all events began.
    private var takenBefore: [EventNumber: Int] = [:]

    func see(_ event: Observation, in world: World) {
        switch event {
        case .told(let event, isTaken: false): begins(event, world)
        case .told(let event, isTaken: true): taken[event.number, default: 0] += 1
        case .toldAgain: takenBefore = taken
        case .neighboursAreDue: checkNeighbours(world)
        case .atRest: atRest(world)
        default: break
        }
    }

    private func begins(_ event: StoredEvent, _ world: World) {
        let number = event.number
        calls[number, default: 0] += 1
        calledFirst[number] = calledFirst[number] ?? world.now
        if event.record != world.event(number)?.record || !isWanted(number, world) {
            world.violate(.acceptedIsKept, "an endpoint is told event \(number), which is not for it")
        }
        for earlier in numbers(world) where earlier < number && taken[earlier] == nil && !isGivenUp(earlier, world) {
            guard isWanted(earlier, world), world.event(earlier)?.record.activity == event.record.activity else {
                continue
            }
            world.violate(.acceptedIsKept, "event \(number) is told before \(earlier), which was not taken")
        }
    }

    /// Returns the events since the endpoint was added.
    private func numbers(_ world: World) -> Range<EventNumber> {
        let newest = world.eventSpan.newest
        return (world.listener.begin ?? newest) + 1..<newest + 1
    }

    private func isWanted(_ number: EventNumber, _ world: World) -> Bool {
        guard let event = world.event(number)?.record, event.app == Listener.key.app else { return false }
        return world.scenery.toldKinds?.contains(event.kind) ?? true
    }

    /// Returns `true` once the event's tries or its time are used up, by a clock that may be ahead.
    private func isGivenUp(_ number: EventNumber, _ world: World) -> Bool {
        if calls[number, default: 0] >= Node.webhookTries { return true }
        return calledFirst[number].map { world.now - $0 > 22 * 3_600_000 } ?? false
    }

    /// Checks that refused events of one activity do not hold up those of others.
    private func checkNeighbours(_ world: World) {
        for number in numbers(world)
        where isWanted(number, world) && !Listener.isPoisoned(world.event(number)?.record.activity)
            && taken[number, default: 0] <= takenBefore[number, default: 0]
        {
            world.violate(.acceptedIsKept, "event \(number) waits behind what is refused of another activity")
        }
    }

    /// Returns `true` if the event happened in the last 5 s, so that there was no time to send it.
    private func isYetToBeTold(_ number: EventNumber, _ world: World) -> Bool {
        world.event(number).map { world.serverTime < $0.record.at + .seconds(5) } ?? false
    }

    private func atRest(_ world: World) {
        guard world.scenery.isTold else { return }
        let happenings = world.counts.happenings
        let excuses =
            Int(world.nodesMade) + world.listener.excuses
            + [.storeFailed, .commitUnknown, .processStoodStill].map { happenings[$0, default: 0] }.reduce(0, +)
        for number in numbers(world) where isWanted(number, world) && !isYetToBeTold(number, world) {
            let times = taken[number, default: 0]
            if times == 0 { world.violate(.acceptedIsKept, "event \(number) was never told") }
            if times > 1 + excuses { world.violate(.acceptedIsKept, "event \(number) was taken \(times) times") }
        }
        let left = [true, false].flatMap { world.listener.table.deliveries(to: Listener.key, areDead: $0) }
        if let row = left.first(where: { !isYetToBeTold($0.number, world) }) {
            world.violate(.acceptedIsKept, "event \(row.number) still waits to be told")
        }
    }
}
