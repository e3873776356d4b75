import APNSModel
import LiveActivityCore
import TestSupport

/// **No second card.** The server never causes two live cards of one activity and run on one device.
///
/// The declared overlap of a renewal is the exception. No second start is claimed while the fate of the first is
/// open.
final class NoSecondCard: Invariant {
    private struct Start {
        var id: PushID
        var run: Int
        var claimedAt: UnixTime
        var expiresAt: UnixTime
        /// Local id of the reported card.
        var card: String?

        /// Returns `true` once the start's fate is decided.
        ///
        /// - Nobody reported a card: the start's time has passed.
        /// - A card was reported: eight hours have passed, and iOS has ended it.
        func isOver(at time: UnixTime, in world: World) -> Bool {
            guard let card else { return time >= expiresAt + Reconciler.startFateHorizon }
            let isThere = world.phones.contains { $0.cards.contains { $0.local == card && !$0.isOver } }
            return time >= claimedAt + Reconciler.activityLifetime && (!isThere || isMisled(at: time, in: world))
        }

        /// Returns `true` if the eight hours have passed by the server's clock, which is ahead, but not in true time.
        func isMisled(at time: UnixTime, in world: World) -> Bool {
            card != nil && world.faults.serverClock > 0 && time >= claimedAt + Reconciler.activityLifetime
        }
    }

    /// Starts whose fate is open for an observer of everything that the server receives.
    private var open: [Place: Start] = [:]
    /// Runs whose start the server must consider failed although its card may still come. There are two causes:
    ///
    /// - An inventory lacked the card. The start had expired by the server's clock, but not in true time.
    /// - The app reported its own card late, so that the server takes it for the start's card.
    private var misled: [Place: Set<Int>] = [:]
    /// Runs of the starts that made a card, by the start.
    private var made: [Place: [PushID: Int]] = [:]

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
            !first.isOver(at: flight.record.claimedAt, in: world), !isDoubled(first, place)
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

    /// Returns `true` if a start that the server had to consider failed made a card of the run after all.
    ///
    /// The server takes that card for the card of the next start, so the end of one counts for the other.
    private func isDoubled(_ first: Start, _ place: Place) -> Bool {
        guard misled[place]?.contains(first.run) ?? false else { return false }
        return made[place, default: [:]].contains { $0.key != first.id && $0.value == first.run }
    }

    /// Closes a start that APNs definitely refused or that never left. Also closes it when its card's end is known.
    private func settle(_ settlement: SettleFlight, _ entry: SettleFlight.Entry, _ world: World) {
        let place = Place(settlement.lane.activity, entry.seat.phone.device.key)
        switch (entry.seat.plan.kind, entry.outcome) {
        case (.start, .answered(.success(let answer))) where answer.status == 200: return
        case (.start, .answered(.failure(let failure))) where failure.mayHaveArrived: return
        case (.start, .awaited): return
        case (.start, _):
            if open[place]?.id == settlement.flight.pushID(of: place.device) { open[place] = nil }
        // The card is over: its end was accepted, or its token is dead. A dead token in an update alone proves
        // nothing, because iOS may have replaced the token.
        case (.end, .answered(.success(let answer)))
        where entry.seat.plan.part == .card && (answer.status == 200 || answer.status == 410):
            open[place] = nil
        // A card that another card has replaced is over in the same way.
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
                // The inventory may list this start's card or a card that was there before.
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
                } else if state == .duplicate {
                    // Another card stays. The start's own card is over.
                    let made = report.phone.cards.first { $0.local == local }?.start
                    if let start = open[place], made == start.id { open[place] = nil }
                } else if state == .requesting, isRequesting(place, world) {
                    // The app is about to start a card because it has none.
                    open[place] = nil
                } else if state == .active {
                    name(local, at: place, report)
                }
            }
        default: break
        }
    }

    /// Returns `true` if the server leaves the start to the app, as the app requested.
    private func isRequesting(_ place: Place, _ world: World) -> Bool {
        world.store.rows.cards[.init(place.activity, place.device)]?.state == .requesting
    }

    private func name(_ local: String, at place: Place, _ report: Phone.Report) {
        // A card whose end APNs has accepted existed before this start. The phone reports it until the end arrives.
        guard let start = open[place], start.card == nil, isOf(start, local, report),
            !report.phone.endTaken.contains(local)
        else { return }
        open[place]?.card = local
        // The start may have made another card beside the app's. Only the app can tell them apart, and it ends the
        // other.
        let isApps = report.phone.cards.first { $0.local == local }?.isApps ?? false
        if isApps { misled[place, default: []].insert(start.run) }
    }

    /// Returns `true` if the card counts as the start's card.
    ///
    /// A card of another start does not. A card of the app's own does, and so does a renewed card.
    private func isOf(_ start: Start, _ local: String, _ report: Phone.Report) -> Bool {
        guard let card = report.phone.cards.first(where: { $0.local == local }) else { return true }
        guard let made = card.start, !card.isSuccessor else { return card.run == start.run }
        return made == start.id
    }

    /// Checks the cards that iOS shows: those that the server knows or started, and whose end APNs has not received.
    private func appear(_ sent: SentPush, _ card: Phone.Card, _ phone: Phone, _ world: World) {
        guard !card.isSuccessor, let flight = sent.card?.flight else { return }
        let place = Place(flight.desired.activity.number, sent.device)
        made[place, default: [:]][sent.id] = card.run
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
