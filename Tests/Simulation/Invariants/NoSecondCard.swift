import APNSModel
import LiveActivityCore
import TestSupport

/// **No second card.** Never two live cards of one activity and run on one device through the server, except the
/// declared overlap of a renewal; never a second start while the fate of the first is open.
final class NoSecondCard: Invariant {
    private struct Start {
        var id: PushID
        var run: Int
        var claimedAt: UnixTime
        var expiresAt: UnixTime
        /// Its card was reported.
        var card: String?

        /// Its fate is no longer open for anybody: a start that nobody has seen come had its time, or iOS has ended the
        /// card, after eight hours, and so it is.
        func isOver(at time: UnixTime, in world: World) -> Bool {
            guard let card else { return time >= expiresAt + Reconciler.startFateHorizon }
            let isThere = world.phones.contains { $0.cards.contains { $0.local == card && !$0.isOver } }
            return time >= claimedAt + Reconciler.activityLifetime && (!isThere || isMisled(at: time, in: world))
        }

        /// The eight hours are over by the server's clock, which is ahead, and not by the true time.
        func isMisled(at time: UnixTime, in world: World) -> Bool {
            card != nil && world.faults.serverClock > 0 && time >= claimedAt + Reconciler.activityLifetime
        }
    }

    /// Starts whose fate is open, as one knows who sees all that the server is told.
    private var open: [Place: Start] = [:]
    /// Starts, by their runs, that the server has to take for failed though they may still come: an inventory lacked
    /// the card when it had expired by the server's clock, and by the true time it had not when that was made. Or that
    /// it takes for the app's own card, of which the app told late.
    private var misled: [Place: Set<Int>] = [:]

    func see(_ event: Observation, in world: World) {
        switch event {
        case .claimed(let flight, _):
            for seat in flight.seats where seat.plan.kind == .start && seat.plan.part == .card {
                claim(flight, seat, world)
            }
        case .settled(let settlement, _):
            for entry in settlement.entries { settle(settlement, entry, world) }
        case .reported(let report): close(report, world)
        case .arrived(let sent, let phone, .appeared(let card)): appear(sent, card, phone, world)
        default: break
        }
    }

    private func claim(_ flight: Flight, _ seat: Flight.Seat, _ world: World) {
        let place = Place(flight.desired.activity.number, seat.phone.device.key)
        world.count { $0.starts += 1 }
        if let first = open[place], first.isMisled(at: flight.record.claimedAt, in: world) {
            misled[place, default: []].insert(first.run)
        }
        if let first = open[place], first.run == flight.desired.activity.run,
            !first.isOver(at: flight.record.claimedAt, in: world), !isDoubled(first, place, of: flight, world)
        {
            world.violate(
                .noSecondCard,
                "a second start of \(flight.desired.activity.id) run \(first.run) for \(seat.phone.device.id), "
                    + "while the fate of the first is open")
        }
        open[place] = Start(
            id: flight.record.pushID(of: place.device), run: flight.desired.activity.run,
            claimedAt: flight.record.claimedAt, expiresAt: seat.plan.expiresAt)
    }

    /// A start that the server had to take for failed made a card of the run all the same. The server takes it for the
    /// card of the start that followed: that it is over speaks for another.
    private func isDoubled(_ first: Start, _ place: Place, of flight: Flight, _ world: World) -> Bool {
        guard misled[place]?.contains(first.run) ?? false else { return false }
        let cards = world.phones.filter { Phone.key($0.device) == place.device }.flatMap(\.cards)
        return cards.contains { card in
            card.activity == flight.desired.activity.id.description && card.run == first.run && !card.isSuccessor
                && card.start != nil && card.start != first.id
        }
    }

    /// Only APNs's definite word that it did not take it, or that it never left, frees the way.
    private func settle(_ settlement: SettleFlight, _ entry: SettleFlight.Entry, _ world: World) {
        let place = Place(settlement.lane.activity, entry.seat.phone.device.key)
        switch (entry.seat.plan.kind, entry.outcome) {
        case (.start, .answered(.success(let answer))) where answer.status == 200: return
        case (.start, .answered(.failure(let failure))) where failure.mayHaveArrived: return
        case (.start, .awaited): return
        case (.start, _):
            if open[place]?.id == settlement.flight.pushID(of: place.device) { open[place] = nil }
        // The card was there, and is over: its end was taken, or came to a dead token. That of an update alone says
        // nothing, since iOS may have replaced it.
        case (.end, .answered(.success(let answer)))
        where entry.seat.plan.part == .card && (answer.status == 200 || answer.status == 410):
            open[place] = nil
        // So is one that another took the place of.
        case (.end, .answered(.success(let answer))) where answer.status == 200 || answer.status == 410:
            guard let token = entry.seat.phone.token(of: entry.seat.plan),
                case .card(let local) = world.apns.tokens[token.hex]?.kind, open[place]?.card == local
            else { return }
            open[place] = nil
        default: return
        }
    }

    private func close(_ report: Phone.Report, _ world: World) {
        let device = Phone.key(report.device)
        switch report.what {
        case .inventory(let shown):
            for (local, activity, _) in shown {
                for subject in world.subjects where subject.id == activity {
                    guard let number = world.number(of: subject) else { continue }
                    name(local, at: Place(number, device), report)
                }
            }
            open = open.filter { place, start in
                guard place.device == device else { return true }
                // What it lists may be the card of this start, or one that was there before.
                if let card = start.card { return shown.contains { $0.local == card } }
                let failedAt = start.expiresAt + ReportInventory.travel
                guard report.now > failedAt else { return true }
                if world.trueTime <= failedAt { misled[place, default: []].insert(start.run) }
                return false
            }
        case .card(let local, let activity, let state, _):
            for subject in world.subjects where subject.id == activity {
                guard let number = world.number(of: subject) else { continue }
                let place = Place(number, device)
                if [.ended, .dismissed, .gone].contains(state) {
                    if let start = open[place], isOf(start, local, report) { open[place] = nil }
                } else if state == .requesting, isRequesting(place, world) {
                    // The app is about to start one, since it has none.
                    open[place] = nil
                } else if state == .active {
                    name(local, at: place, report)
                }
            }
        default: break
        }
    }

    /// The server has taken the app's word: it leaves the start to it.
    private func isRequesting(_ place: Place, _ world: World) -> Bool {
        world.store.rows.cards[.init(place.activity, place.device)]?.state == .requesting
    }

    private func name(_ local: String, at place: Place, _ report: Phone.Report) {
        // One whose end APNs has was there before this start: the phone tells of it until the end comes.
        guard let start = open[place], start.card == nil, isOf(start, local, report),
            !report.phone.endTaken.contains(local)
        else { return }
        open[place]?.card = local
        // The start may have made a card beside it, which only the app can tell from its own, and ends.
        let isApps = report.phone.cards.first { $0.local == local }?.isApps ?? false
        if isApps { misled[place, default: []].insert(start.run) }
    }

    /// A card that another start made is not this start's. The app's own is taken for it, and a renewed card takes its
    /// place.
    private func isOf(_ start: Start, _ local: String, _ report: Phone.Report) -> Bool {
        guard let card = report.phone.cards.first(where: { $0.local == local }) else { return true }
        guard let made = card.start, !card.isSuccessor else { return card.run == start.run }
        return made == start.id
    }

    /// What iOS shows: cards that the server knows of or started, and for whose end APNs has nothing yet.
    private func appear(_ sent: SentPush, _ card: Phone.Card, _ phone: Phone, _ world: World) {
        guard !card.isSuccessor, let flight = sent.card?.flight else { return }
        let place = Place(flight.desired.activity.number, sent.device)
        if misled[place]?.contains(card.run) ?? false { return }
        let others = phone.cards.filter { other in
            other.local != card.local && other.activity == card.activity && other.run == card.run && !other.isOver
                && !other.isApps && !other.isSuccessor && !phone.endTaken.contains(other.local)
        }
        if let other = others.first {
            world.violate(.noSecondCard, "\(phone.name) shows \(other.local) and \(card.local) of \(card.activity)")
        }
    }
}
