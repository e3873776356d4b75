import APNSModel
import LiveActivityCore
import TestSupport

/// **One way to a phone.** A phone gets the states of a run by a channel or by pushes of its own, and not by both.
///
/// iOS gives no card both ways. So a phone gets both only with two cards, one on a channel and one with a token. The
/// check goes by what the phone shows, not by the server's rows.
///
/// - No start brings a second card the other way while the app's announcement of its own card holds. The server knows
///   of that card before it is there.
/// - At rest no phone has two such cards of one run.
///
/// Two cards are there for a while if the server could not know of the first: the app's report was late or lost, or a
/// start that had to count as failed arrived. That is not judged. The app ends one of them when it sees both.
///
/// A card on a channel of the app's own does not count, because the server sends nothing there. Neither does a card of
/// an earlier run.
final class OneWay: Invariant {
    /// An announcement of the app's own card.
    private struct Announcement {
        var run: Int
        /// Time until which the server leaves the start to the app.
        var until: UnixTime

        /// Returns `true` for a claim within the announcement. One by a clock that is behind the announcement's is not.
        func holds(at time: UnixTime) -> Bool { time < until && until <= time + OneWay.lease }
    }

    /// Time for which the server leaves a start to the app.
    private static let lease = Duration.seconds(120)

    private var announced: [Place: Announcement] = [:]
    /// Starts that were claimed while an announcement held.
    private var hasty: Set<PushID> = []

    func see(_ event: Observation, in world: World) {
        switch event {
        case .reported(let report): hear(report, world)
        case .called(.commits(let call, _)), .called(.stands(let call, _)): move(call, world)
        case .claimed(let flight, _):
            for seat in flight.seats where seat.plan.kind == .start && seat.plan.part == .card {
                let place = Place(flight.desired.activity.number, seat.phone.device.key)
                guard let word = announced[place], word.run == flight.desired.activity.run,
                    word.holds(at: flight.record.claimedAt)
                else { continue }
                hasty.insert(flight.record.pushID(of: place.device))
            }
        case .arrived(let sent, let phone, .appeared(let card)):
            guard hasty.contains(sent.id) else { return }
            let other = phone.cards.first { $0.isApps && !$0.isOver && Self.isOtherWay($0, card) }
            guard let other else { return }
            world.violate(
                .channelsAreTidy,
                "\(phone.name) gets \(card.activity) both ways: \(sent.words) brings \(card.local) "
                    + "(\(Self.way(of: card))) beside \(other.local) (\(Self.way(of: other)))")
        case .atRest: atRest(world)
        default: break
        }
    }

    private func hear(_ report: Phone.Report, _ world: World) {
        let device = Phone.key(report.device)
        switch report.what {
        case .card(_, let activity, let state, _):
            for subject in world.subjects where subject.id == activity && subject.app == report.phone.app.bundleID {
                guard let number = world.number(of: subject) else { continue }
                hear(state, at: Place(number, device), world)
            }
        // The phone's cards are another person's from now on.
        case .registered, .signedOut: announced = announced.filter { $0.key.device != device }
        case .inventory, .superseded, .startToken: break
        }
    }

    private func hear(_ state: CardReport.State, at place: Place, _ world: World) {
        switch state {
        case .requesting:
            guard let row = world.store.rows.cards[.init(place.activity, place.device)],
                case .requesting(let request) = row.life
            else { return }
            announced[place] = Announcement(run: row.run, until: request.until)
        case .notStarted, .ended, .dismissed, .gone, .duplicate: announced[place] = nil
        case .pending, .active, .stale: break
        }
    }

    /// Forgets the announcements of an activity whose audience may have changed. Who comes back gets a new card, while
    /// the end of the earlier one may still be on its way.
    private func move(_ call: Backend.Call, _ world: World) {
        switch call.what {
        case .put(let body, _, _): if body.users == nil { return }
        case .audience, .replaceAudience, .end: break
        case .notify: return
        }
        guard let number = world.number(of: call.subject) else { return }
        announced = announced.filter { $0.key.activity != number }
    }

    private func atRest(_ world: World) {
        for phone in world.phones {
            let open = phone.cards.filter { !$0.isOver }
            for card in open where card.channel == nil {
                guard let other = open.first(where: { Self.isOtherWay(card, $0) }) else { continue }
                world.violate(
                    .channelsAreTidy,
                    "\(phone.name) gets \(card.activity) both ways: \(card.local) by token, \(other.local) on "
                        + "\(Self.way(of: other))")
            }
        }
    }

    /// Returns `true` if two cards of one run get its states in different ways.
    private static func isOtherWay(_ one: Phone.Card, _ other: Phone.Card) -> Bool {
        one.activity == other.activity && one.run == other.run && (one.channel == nil) != (other.channel == nil)
            && ![one.channel, other.channel].contains(Sample.channel)
    }

    private static func way(of card: Phone.Card) -> String { card.channel?.text ?? "token" }
}
