package import APNSModel

/// Life of a card on one phone. Each case carries only what is known in that state.
///
/// State × event → state. *never*: the event does not occur in that state. If it did, it would change nothing.
///
/// | event | absent | requesting | starting | unconfirmed | live | ending | over |
/// |---|---|---|---|---|---|---|---|
/// | a start is claimed | starting | starting | starting | starting | never | never | starting |
/// | a renewal is claimed | never | never | never | never | stays | never | never |
/// | a start is taken, or may be | stays | stays | unconfirmed | stays | stays | stays | stays |
/// | a start is refused | stays | stays | absent, over | absent, over | stays | stays | stays |
/// | an end is taken | stays | stays | stays | stays | ending | ending | stays |
/// | a token is inactive | stays | stays | stays | stays | over | over | stays |
/// | a flight is lost | stays | stays | unconfirmed | stays | stays | stays | stays |
/// | the app requests | requesting | stays | stays | stays | stays | stays | requesting |
/// | the app takes its request back | stays | absent, over | stays | stays | stays | stays | stays |
/// | a card is shown | live | live | live | live | live | ending | live |
/// | an unwelcome card is shown | live | live | live | live | live | ending | ending |
/// | a card is reported over | over | over | over | over | over | over | over |
/// | an inventory lacks the card | stays | stays | stays | stays | over | over | stays |
/// | an inventory lacks the start's card | stays | stays | absent | absent | stays | stays | stays |
/// | no end has come to the card | stays | stays | stays | stays | stays | live | stays |
/// | a run begins | absent | absent | absent | absent | absent | absent | absent |
/// | a person comes back | absent | absent | absent | absent | absent | absent | absent |
/// | a person comes back to a renewal | absent | absent | absent | absent | unconfirmed | unconfirmed | unconfirmed |
/// | anything else | stays | stays | stays | stays | stays | stays | stays |
package enum CardLife: Sendable, Hashable {
    /// No card exists and none is expected. `lost`: the last start by push, if an inventory showed that it failed.
    case absent(lost: LostStart?)
    /// The app has said that it is about to start a card itself.
    case requesting(Request)
    /// A start by push was claimed. APNs's answer is not known yet.
    case starting(Start)
    /// APNs accepted the start, or may have. No report has shown its card yet.
    case unconfirmed(Start)
    /// The phone has reported the card.
    case live(Card)
    /// APNs has accepted `ends` end pushes for the card. The phone has not confirmed the end.
    case ending(Card, ends: Int)
    /// The card no longer exists.
    case over(Over)

    /// A start by push.
    package struct Start: Sendable, Hashable {
        /// Time of the claim.
        package var at: UnixTime
        /// Expiration of the push. APNs delivers it until then, so a later inventory without its card proves that it
        /// failed.
        package var expiresAt: UnixTime
        /// Number of the phone's newest report at the claim. Reports up to this number are not about this start's card.
        package var reportSequence: Int64
        /// Outcome of the card before this start. A refused start restores it; `nil` if there was no card.
        package var before: Outcome?
        /// Broadcast channel that the card will be subscribed to; `nil` if it gets an update token.
        package var channel: ChannelID?
    }

    /// A start by push that produced no card.
    package struct LostStart: Sendable, Hashable {
        package var at: UnixTime
        package var expiresAt: UnixTime
    }

    /// The app's request: it is about to start a card itself, so Islet starts none.
    package struct Request: Sendable, Hashable {
        /// Time for which a request is valid.
        static let lease = Duration.seconds(120)

        /// Time until which the request is valid.
        package var until: UnixTime
        /// State before the request. It is restored if no card follows, so that a dismissal is not forgotten.
        package var before: Rest

        /// Returns `true` while the request is valid. One made by a clock that was ahead is not.
        func holds(at now: UnixTime) -> Bool { now < until && until <= now + Self.lease }
    }

    /// State of a phone without a card.
    package enum Rest: Sendable, Hashable {
        case absent(lost: LostStart?)
        case over(Over)
    }

    /// A card that a phone has or had.
    package struct Card: Sendable, Hashable {
        /// Local id; `nil` for a card that stayed in place of a duplicate and has not been reported since.
        package var localID: LocalID?
        /// Broadcast channel that the card is subscribed to; `nil` if pushes go to its update token.
        package var channel: ChannelID?
        package var startedAt: UnixTime?
        /// Expiration of the start by push that made the card; `nil` if the app started it.
        package var startExpiresAt: UnixTime?
        /// Number of the newest report that showed this card; 0 for none. A report with a lower number arrived late.
        package var reportSequence: Int64 = 0
        /// Arrival of the newest report without a number. Only this time tells whether an inventory is older than it.
        package var reportedAt: UnixTime?
        /// Start of the renewal's second card, until that card is reported.
        package var successor: Start?
        /// `true` while another card must still be ended: the one that this card replaced, or one that should be over.
        package var endsOther = false
        /// State that the app set itself and that the phone shows; `nil` if the card shows the server's state.
        package var lead: Lead?
        /// Number of times the person opened the app from the card, by the phone's latest report.
        package var opens = 0
    }

    /// A state that the app set itself, in place of the server's.
    package struct Lead: Sendable, Hashable {
        /// Time from which the server's state of the same revision may replace it; `nil` if only a newer one may.
        package var until: UnixTime?
    }

    /// Way in which a card ended.
    package enum Outcome: Sendable, Hashable, CaseIterable {
        /// Ended by its app or by Islet.
        case ended
        /// Dismissed by the person.
        case dismissed
        /// Vanished for an unknown reason.
        case gone
    }

    /// A card that is over, and its outcome.
    package struct Over: Sendable, Hashable {
        package let how: Outcome
        /// The card that is over; `nil` if nothing is known of it.
        package let card: Card?

        init(how: Outcome, card: Card? = nil) {
            self.how = how
            self.card = card == Card() ? nil : card
        }

        /// Returns a copy without the local id, so that no report can match this card.
        func nameless(_ how: Outcome? = nil) -> Over {
            var card = withoutLead.card
            card?.localID = nil
            return Over(how: how ?? self.how, card: card)
        }

        var withoutLead: Over {
            var card = card
            card?.lead = nil
            return Over(how: how, card: card)
        }
    }

    package var state: CardState {
        switch self {
        case .absent: .absent
        case .requesting: .requesting
        case .starting: .starting
        case .unconfirmed: .unconfirmed
        case .live: .live
        case .ending: .ending
        case .over(let over): over.how.state
        }
    }

    /// The card that is over. It is kept while the app's request for another one is valid.
    var over: Over? {
        switch self {
        case .over(let over): over
        case .requesting(let request):
            if case .over(let over) = request.before { over } else { nil }
        case .absent, .starting, .unconfirmed, .live, .ending: nil
        }
    }

    /// The current card, or the last one.
    var card: Card? {
        switch self {
        case .live(let card), .ending(let card, _): card
        case .over(let over): over.card
        case .absent, .requesting, .starting, .unconfirmed: nil
        }
    }

    /// A start whose card has not been reported.
    var openStart: Start? {
        switch self {
        case .starting(let start), .unconfirmed(let start): start
        case .absent, .requesting, .live, .ending, .over: nil
        }
    }

    /// Outcome of the previous card; `nil` if there was none.
    package var before: Outcome? {
        switch self {
        case .over(let over): over.how
        case .requesting(let request): request.before.outcome
        case .starting(let start), .unconfirmed(let start): start.before
        case .absent, .live, .ending: nil
        }
    }
}

// MARK: - Transitions

extension CardLife {
    /// Records the claim of a start. Does nothing while a card exists, because that card must be ended first.
    mutating func start(at now: UnixTime, expiresAt: UnixTime, reportSequence: Int64, on channel: ChannelID? = nil) {
        switch self {
        case .live, .ending: return
        case .absent, .requesting, .starting, .unconfirmed, .over: break
        }
        self = .starting(
            Start(at: now, expiresAt: expiresAt, reportSequence: reportSequence, before: before, channel: channel))
    }

    /// Records that APNs accepted the start, or may have.
    mutating func startMayArrive() {
        guard case .starting(let start) = self else { return }
        self = .unconfirmed(start)
    }

    /// Records that the start never reached APNs, or that APNs refused it. The previous outcome stands again.
    mutating func refuseStart() {
        guard let start = openStart else { return }
        self = start.before.map { .over(Over(how: $0)) } ?? .absent(lost: nil)
    }

    /// Records that an inventory sent after the start's expiration lacks its card: the start has failed.
    mutating func missStart() {
        guard let start = openStart else { return }
        self = .absent(lost: LostStart(at: start.at, expiresAt: start.expiresAt))
    }

    /// Records the app's request. Does nothing where a card exists or may exist.
    ///
    /// - Returns: `true` if the request changed the state.
    mutating func request(until: UnixTime) -> Bool {
        switch self {
        case .absent(let lost): self = .requesting(Request(until: until, before: .absent(lost: lost)))
        case .over(let over): self = .requesting(Request(until: until, before: .over(over.withoutLead)))
        case .requesting, .starting, .unconfirmed, .live, .ending: return false
        }
        return true
    }

    /// Records that the app does not start the card after all.
    mutating func withdrawRequest() {
        guard case .requesting(let request) = self else { return }
        switch request.before {
        case .absent(let lost): self = .absent(lost: lost)
        case .over(let over): self = .over(over)
        }
    }

    /// Records a report of a running card.
    ///
    /// - Parameter isUnwelcome: The person dismissed the card before this one, so this one is ended too.
    /// - Returns: `true` if the card is not the known one, or counted as over. No retry then applies to it yet.
    mutating func show(_ sighting: CardSighting, isUnwelcome: Bool, at now: UnixTime) -> Bool {
        let known = card
        // A card that stayed in place of a duplicate has no local id until it is reported.
        let isSame = known?.localID == sighting.localID || known?.localID == nil && state.mayHaveCard
        var new = isSame ? known ?? Card() : Card()
        new.localID = sighting.localID
        new.channel = sighting.channel
        let start = lastStart
        new.startedAt = sighting.startedAt ?? new.startedAt ?? start?.at ?? now
        if let start { new.startExpiresAt = start.expiresAt }
        new.reportSequence = sighting.sequence ?? 0
        new.reportedAt = sighting.sequence == nil ? now : nil
        let isNew = !state.mayHaveCard || known?.localID != sighting.localID
        switch self {
        case .ending(_, let ends): self = .ending(new, ends: isNew ? 0 : ends)
        case .over where isUnwelcome: self = .ending(new, ends: 0)
        case .absent, .requesting, .starting, .unconfirmed, .live, .over: self = .live(new)
        }
        return isNew
    }

    /// The start by push that a report may be about.
    private var lastStart: LostStart? {
        if case .absent(let lost) = self { return lost }
        return openStart.map { LostStart(at: $0.at, expiresAt: $0.expiresAt) }
    }

    /// Records the phone's report that its card is over.
    mutating func finish(_ localID: LocalID, _ how: Outcome) {
        var last = card ?? Card()
        if let start = lastStart {
            last.startedAt = start.at
            last.startExpiresAt = start.expiresAt
            last.reportSequence = openStart?.reportSequence ?? 0
        }
        last.localID = localID
        self = .over(Over(how: how, card: last))
    }

    /// Records that the phone's inventory lacks the card.
    mutating func lose() {
        switch self {
        case .live(let card): self = .over(Over(how: .gone, card: card))
        case .ending(let card, _): self = .over(Over(how: .ended, card: card))
        case .absent, .requesting, .starting, .unconfirmed, .over: return
        }
    }

    /// Records the phone's own word that a card is over, which only an inactive token had indicated. The local id is
    /// removed, so no report brings the card back.
    mutating func confirmOver(_ how: Outcome?) {
        switch self {
        case .over(let over): self = .over(over.nameless(how))
        case .requesting(var request):
            guard case .over(let over) = request.before else { return }
            request.before = .over(over.nameless(how))
            self = .requesting(request)
        case .absent, .starting, .unconfirmed, .live, .ending: return
        }
    }

    /// Records APNs's answer that the card's token is inactive.
    ///
    /// - Parameter isEnd: The push was an end.
    mutating func loseToken(toEnd isEnd: Bool) {
        switch self {
        case .live(let card): self = .over(Over(how: isEnd ? .ended : .gone, card: card))
        case .ending(let card, _): self = .over(Over(how: .ended, card: card))
        case .absent, .requesting, .starting, .unconfirmed, .over: return
        }
    }

    /// Records that APNs accepted an end.
    ///
    /// - Parameter isRepeat: The end repeats the one before. Otherwise the count of ends begins at 1 again.
    mutating func end(isRepeat: Bool) {
        switch self {
        case .live(let card): self = .ending(card, ends: 1)
        case .ending(let card, let ends): self = .ending(card, ends: isRepeat ? ends + 1 : 1)
        case .absent, .requesting, .starting, .unconfirmed, .over: return
        }
    }

    /// Limits the number of accepted ends to `most`.
    mutating func countEnds(atMost most: Int) {
        guard case .ending(let card, let ends) = self else { return }
        self = .ending(card, ends: min(ends, most))
    }

    /// Records that no end reached the card: it is live again.
    mutating func outliveEnd() {
        guard case .ending(let card, _) = self else { return }
        self = .live(card)
    }

    /// Changes what is known of the card, without a change of state.
    mutating func update(_ change: (inout Card) -> Void) {
        switch self {
        case .live(var card):
            change(&card)
            self = .live(card)
        case .ending(var card, let ends):
            change(&card)
            self = .ending(card, ends: ends)
        case .over(let over):
            guard var card = over.card else { return }
            change(&card)
            self = .over(Over(how: over.how, card: card))
        case .absent, .requesting, .starting, .unconfirmed: return
        }
    }
}

extension CardLife.Rest {
    var outcome: CardLife.Outcome? {
        guard case .over(let over) = self else { return nil }
        return over.how
    }

    var card: CardLife.Card? {
        guard case .over(let over) = self else { return nil }
        return over.card
    }

    var lostStart: CardLife.LostStart? {
        guard case .absent(let lost) = self else { return nil }
        return lost
    }
}

extension CardLife.Outcome {
    package var state: CardState {
        switch self {
        case .ended: .ended
        case .dismissed: .dismissed
        case .gone: .gone
        }
    }
}
