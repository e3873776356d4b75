import APNSModel
import LiveActivityCore
import TestSupport

/// **One open flight per lane.** The lane is the unit of exclusion, order and fencing.
///
/// The fence guards settling. Where it does not match, settling compares and sets each phone's row (the storage
/// model, under "The way of a change").
///
/// The rule also checks the reference store: lanes cover all phones, and their counts are correct.
///
/// A claim's pushes reach the sender at once, whatever else the process has to write, because their time to leave is
/// already running.
final class LaneRules: Invariant {
    /// Pushes that a sender has received.
    private var submitted: Set<PushID> = []
    private static let handOver: Int64 = 1000

    func see(_ event: Observation, in world: World) {
        switch event {
        case .settled(let settlement, let before):
            guard let old = before.lane(settlement.lane), old.flight != nil, old.fence != settlement.fence else {
                return
            }
            if world.store.rows.lane(settlement.lane)?.flight == nil {
                world.violate(.lanes, "a settlement under fence \(settlement.fence) closes the flight of \(old.fence)")
            }
        case .claimed(let flight, _):
            let lane = world.store.rows.lane(flight.lane)
            if lane?.fence != flight.fence || lane?.flight?.seed != flight.record.seed {
                world.violate(.lanes, "a flight is claimed that its lane does not hold")
            }
        case .claimCommitted(let reply, let before):
            for flight in reply.flights {
                guard let open = before.lane(flight.lane)?.flight else { continue }
                world.violate(.lanes, "a flight is claimed beside another, of node \(open.node)")
            }
        case .submitted(let id): submitted.insert(id)
        case .claimReturned(let flights, let node):
            world.after(Self.handOver, in: node) { [self] in
                for flight in flights { checkHandOver(flight, node, world) }
            }
        case .died: check(world)
        case .atRest:
            check(world)
            let open = world.store.rows.lanes.values.joined().compactMap(\.flight)
            if open.contains(where: { $0.leaseUntil <= world.serverTime }) {
                world.violate(.lanes, "a flight stays open")
            }
        default: break
        }
    }

    private func checkHandOver(_ flight: Flight, _ node: Node, _ world: World) {
        let isOpen = world.store.rows.lane(flight.lane)?.fence == flight.fence
        guard isOpen,
            !flight.seats.contains(where: { submitted.contains(flight.record.pushID(of: $0.phone.device.key)) })
        else { return }
        world.violate(.lanes, "\(node.name) has claimed a flight of \(flight.desired.activity.id), and sends nothing")
    }

    private func check(_ world: World) {
        for fault in world.store.rows.laneFaults { world.violate(.lanes, fault) }
    }
}
