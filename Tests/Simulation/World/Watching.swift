import APNSModel
import LiveActivityCore
import LiveActivityDelivery
import TestSupport

/// Events that invariants observe, inside and outside the server, at the moment they happen.
indirect enum Observation {
    /// A flight was claimed and the claim was committed.
    case claimed(Flight, Node)
    case claimedNotifications(NotificationFlight, Node)
    /// The process has the answer to its claim.
    case claimReturned([Flight], Node)
    /// The process's sender has received a push.
    case submitted(PushID)
    /// Outcomes were stored. The snapshot is from before.
    case settled(SettleFlight, before: Snapshot)
    case settledNotifications(SettleNotifications, before: Snapshot)
    /// Lanes were rescued, or a claim found nothing.
    case claimCommitted(ClaimWork.Reply, before: Snapshot)
    /// A phone's report was accepted.
    case reported(Phone.Report)
    /// The bytes of a push left a process.
    case left(SentPush, Node, push: Push)
    /// APNs took a push.
    case accepted(SentPush)
    /// A push arrived at a phone, with its effect there.
    case arrived(SentPush, Phone, Phone.Effect)
    /// An operation on a channel was claimed and the claim was committed.
    case claimedChannel(ChannelErrand, Node)
    /// A broadcast arrived at a phone, with its effect on a card.
    case broadcastArrived(ChannelErrand, Phone, Phone.Effect)
    case called(Backend.Event)
    /// An endpoint is sent an event, or has taken it.
    case told(StoredEvent, isTaken: Bool)
    case logged(String)
    case died(Node)
    /// A picky endpoint is about to be sent all events again.
    case toldAgain
    /// Some minutes have passed. The endpoint should have been sent all events that it does not refuse.
    case neighboursAreDue
    /// Faults stopped some minutes ago, less than an alert's lifetime.
    case alertsAreDue
    /// Faults stopped 15 minutes ago, or phones have made their next reports since.
    case calm
    /// Faults have stopped, and enough time has passed for everything to settle.
    case atRest
}

/// A push, with what the server knows about it.
struct SentPush {
    enum What {
        case card(Flight, Flight.Seat)
        case notification(NotificationFlight.Seat)
    }

    var id: PushID
    var what: What
    /// True time of the claim.
    var claimedAt: Int64
    var leaseUntil: Int64
    /// Wall-clock time of the process at the claim.
    var claimedWall: UnixTime
    /// Person of the device at the claim.
    var user: UserID
    var isWanted: Bool

    var device: DeviceKey {
        switch what {
        case .card(_, let seat): seat.phone.device.key
        case .notification(let seat): seat.device.key
        }
    }

    var card: (flight: Flight, seat: Flight.Seat)? {
        if case .card(let flight, let seat) = what { (flight, seat) } else { nil }
    }

    var words: String {
        switch what {
        case .card(let flight, let seat):
            let alert = seat.plan.carriesAlert ? " ALERT of r\(seat.plan.alertRevision)" : ""
            let part = seat.plan.part == .card ? "" : " (\(seat.plan.part))"
            return "\(seat.plan.kind.name)\(part) of \(flight.desired.activity.id) r\(seat.plan.revision) "
                + "p\(seat.plan.priority.rawValue) ts \(seat.timestamp) to \(seat.phone.device.id)\(alert)"
        case .notification(let seat):
            return "notification \(seat.notification.kind.name) try \(seat.addressee.tries) to \(seat.device.id)"
                + (seat.notification.fallback.map { " in place of a card, r\($0.revision)" } ?? "")
        }
    }
}

/// Pushes by id. The id connects a claim with its push.
struct Observer {
    private var pushes: [PushID: SentPush] = [:]

    mutating func note(_ push: SentPush) { pushes[push.id] = push }
    func push(_ id: PushID) -> SentPush? { pushes[id] }
}

extension World {
    /// Reports a commit's effects to the invariants.
    func watch<C: Command>(_ command: C, _ result: Result<C.Reply, Refusal>, before: Snapshot, by node: Node) {
        if let reply = (try? result.get()) as? ClaimWork.Reply {
            watch(reply, before, node)
        } else if let reply = (try? result.get()) as? ClaimNotifications.Reply {
            watch(reply.flight, node)
        } else if let reply = (try? result.get()) as? ClaimChannels.Reply {
            watch(reply, node)
        } else if let settlement = command as? SettleFlight {
            note(node.name, "settles \(Self.words(settlement))")
            see(.settled(settlement, before: before))
        } else if let settlement = command as? SettleNotifications {
            note(node.name, "settles \(settlement.entries.count) of notifications")
            see(.settledNotifications(settlement, before: before))
        }
    }

    private static func words(_ settlement: SettleFlight) -> String {
        settlement.entries.map { entry in
            let outcome =
                switch entry.outcome {
                case .answered(.success(let answer)): "\(answer.status) \(answer.reason?.text ?? "")"
                case .answered(.failure(let failure)): failure.code.rawValue
                case .notBuilt(let error): "not built: \(error)"
                case .awaited: "awaited"
                }
            return
                "\(entry.seat.plan.kind.name) r\(entry.seat.plan.revision) to \(entry.seat.phone.device.id): \(outcome)"
        }.joined(separator: ", ")
    }

    func watch(_ reply: ClaimWork.Reply, _ before: Snapshot, _ node: Node) {
        if reply.rescued > 0 { note(node.name, "rescues \(reply.rescued) lanes") }
        count {
            $0.rescued += reply.rescued
            $0.openCircuits += reply.held.isEmpty ? 0 : 1
        }
        if !reply.evictions.isEmpty { count(.evicted) }
        if reply.flights.contains(where: { store.rows.lanes[$0.lane.activity].map { $0.count > 4 } ?? false }) {
            count(.manyLanes)
        }
        see(.claimCommitted(reply, before: before))
        for flight in reply.flights {
            for seat in flight.seats {
                let wanted = seat.phone.card.isWanted
                let push = SentPush(
                    id: flight.record.pushID(of: seat.phone.device.key), what: .card(flight, seat), claimedAt: now,
                    leaseUntil: now + (flight.record.leaseUntil - flight.record.claimedAt).wholeMilliseconds,
                    claimedWall: node.wall, user: seat.phone.device.userID, isWanted: wanted)
                observer.note(push)
                note(node.name, "claims \(push.words): \(seat.plan.reason.code.rawValue)")
                count { $0.renewals += seat.plan.part == .successor ? 1 : 0 }
            }
            see(.claimed(flight, node))
        }
    }

    private func watch(_ flight: NotificationFlight, _ node: Node) {
        guard !flight.seats.isEmpty else { return }
        for seat in flight.seats {
            let push = SentPush(
                id: seat.notification.pushID(of: seat.device.key), what: .notification(seat), claimedAt: now,
                leaseUntil: now + scenery.limits.notifications.lease.wholeMilliseconds, claimedWall: node.wall,
                user: seat.device.userID, isWanted: true)
            observer.note(push)
            note(node.name, "claims \(push.words)")
            count { $0.fallbacks += seat.notification.fallback == nil ? 0 : 1 }
        }
        see(.claimedNotifications(flight, node))
    }
}
