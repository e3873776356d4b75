package import APNSModel

/// The life of a card on one phone. A case carries what is known there, and nothing of what was before.
///
/// State × event → state. *never*: the event does not happen there, and would change nothing.
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
    /// No card, and none is on its way. `lost`: the start that an inventory showed to have failed.
    case absent(lost: LostStart?)
    /// The app is about to start a card itself.
    case requesting(Request)
    /// A start was claimed, and its answer is not known.
    case starting(Start)
    /// APNs took the start, or may have: nobody has reported its card.
    case unconfirmed(Start)
    /// The phone has reported the card.
    case live(Card)
    /// The card is to end: APNs took `ends` ends for it.
    case ending(Card, ends: Int)
    /// The card is not there any more.
    case over(Over)

    /// A start by push.
    package struct Start: Sendable, Hashable {
        /// When it was claimed.
        package var at: UnixTime
        /// APNs delivers it until then: an inventory sent later says whether it failed.
        package var expiresAt: UnixTime
        /// The number of the phone's newest report at the claim: no older one is about this start's card.
        package var reportSequence: Int64
        /// How the card before ended, where a refused start leads back to; `nil`: there was none.
        package var before: Outcome?
    }

    /// A start by push of which no card came.
    package struct LostStart: Sendable, Hashable {
        package var at: UnixTime
        package var expiresAt: UnixTime
    }

    /// The app's word that it is about to start a card.
    package struct Request: Sendable, Hashable {
        /// How long the word holds.
        static let lease = Duration.seconds(120)

        /// The word holds until then.
        package var until: UnixTime
        /// Where the phone stood before, and stands again if no card follows.
        package var before: Rest

        /// A word of a time when the clock was ahead does not hold until that time comes again.
        func holds(at now: UnixTime) -> Bool { now < until && until <= now + Self.lease }
    }

    /// Where a phone without a card stands.
    package enum Rest: Sendable, Hashable {
        case absent(lost: LostStart?)
        case over(Over)
    }

    /// A card that a phone has, or had.
    package struct Card: Sendable, Hashable {
        /// `nil`: the card that stayed in place of a duplicate, and that nobody has told of.
        package var localID: LocalID?
        /// The broadcast channel whose pushes it shows; `nil`: pushes go to its token.
        package var channel: ChannelID?
        package var startedAt: UnixTime?
        /// The expiration of the start by push that made the card; `nil`: the app started it.
        package var startExpiresAt: UnixTime?
        /// The number of the phone's newest report that showed this card; 0: its reports have none. An older one, which
        /// the network brings late, says nothing new.
        package var reportSequence: Int64 = 0
        /// When the newest report without a number showed this card. Nothing but the time tells whether an inventory
        /// that lacks the card is older than that.
        package var reportedAt: UnixTime?
        /// A second card was started before this one's time is over, and nobody has reported it.
        package var successor: Start?
        /// The card that this one took the place of, or one that should be over, is still to be ended.
        package var endsOther = false
        /// The app changed the card itself, and the phone shows that.
        package var lead: Lead?
        /// How often the person opened the app by it, as far as the phone has told.
        package var opens = 0
    }

    /// A state that the app set itself lies over the server's.
    package struct Lead: Sendable, Hashable {
        /// A state of the server's that is as old replaces it then; `nil`: never.
        package var until: UnixTime?
    }

    package enum Outcome: Sendable, Hashable, CaseIterable {
        /// By its app or by Islet.
        case ended
        /// By the person.
        case dismissed
        /// Nobody knows why.
        case gone
    }

    package struct Over: Sendable, Hashable {
        package let how: Outcome
        /// `nil`: nothing is known of that card.
        package let card: Card?

        init(how: Outcome, card: Card? = nil) {
            self.how = how
            self.card = card == Card() ? nil : card
        }

        /// The same, where no report can be told to be of that card.
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

    /// The card that is over, also where its app is about to start another.
    var over: Over? {
        switch self {
        case .over(let over): over
        case .requesting(let request):
            if case .over(let over) = request.before { over } else { nil }
        case .absent, .starting, .unconfirmed, .live, .ending: nil
        }
    }

    /// The card that is there or was there last.
    var card: Card? {
        switch self {
        case .live(let card), .ending(let card, _): card
        case .over(let over): over.card
        case .absent, .requesting, .starting, .unconfirmed: nil
        }
    }

    /// The start whose card nobody has reported.
    var openStart: Start? {
        switch self {
        case .starting(let start), .unconfirmed(let start): start
        case .absent, .requesting, .live, .ending, .over: nil
        }
    }

    /// How the card before ended; `nil`: there was none.
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
    /// A push is to start a card. Where one is there, it is ended first.
    mutating func start(at now: UnixTime, expiresAt: UnixTime, reportSequence: Int64) {
        switch self {
        case .live, .ending: return
        case .absent, .requesting, .starting, .unconfirmed, .over: break
        }
        self = .starting(Start(at: now, expiresAt: expiresAt, reportSequence: reportSequence, before: before))
    }

    /// APNs took the start, or may have.
    mutating func startMayArrive() {
        guard case .starting(let start) = self else { return }
        self = .unconfirmed(start)
    }

    /// The start did not reach APNs, or APNs refused it.
    mutating func refuseStart() {
        guard let start = openStart else { return }
        self = start.before.map { .over(Over(how: $0)) } ?? .absent(lost: nil)
    }

    /// An inventory that was sent after the start's expiration lacks its card.
    mutating func missStart() {
        guard let start = openStart else { return }
        self = .absent(lost: LostStart(at: start.at, expiresAt: start.expiresAt))
    }

    /// The app is about to start a card. Where one is there, or may be, that says nothing new.
    ///
    /// - Returns: The word is news.
    mutating func request(until: UnixTime) -> Bool {
        switch self {
        case .absent(let lost): self = .requesting(Request(until: until, before: .absent(lost: lost)))
        case .over(let over): self = .requesting(Request(until: until, before: .over(over.withoutLead)))
        case .requesting, .starting, .unconfirmed, .live, .ending: return false
        }
        return true
    }

    /// The app does not start the card after all.
    mutating func withdrawRequest() {
        guard case .requesting(let request) = self else { return }
        switch request.before {
        case .absent(let lost): self = .absent(lost: lost)
        case .over(let over): self = .over(over)
        }
    }

    /// The phone has reported a card that runs.
    ///
    /// - Parameter isUnwelcome: It is to end like the one before it, which the person swiped away.
    /// - Returns: It is not the card that was known, or that card counted as over: nothing waits for it yet.
    mutating func show(_ sighting: CardSighting, isUnwelcome: Bool, at now: UnixTime) -> Bool {
        let known = card
        // One that stayed in place of a duplicate has no name until it is reported.
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

    /// The start by push whose card a report may be about.
    private var lastStart: LostStart? {
        if case .absent(let lost) = self { return lost }
        return openStart.map { LostStart(at: $0.at, expiresAt: $0.expiresAt) }
    }

    /// The phone has reported that its card is over.
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

    /// The phone's inventory lacks the card.
    mutating func lose() {
        switch self {
        case .live(let card): self = .over(Over(how: .gone, card: card))
        case .ending(let card, _): self = .over(Over(how: .ended, card: card))
        case .absent, .requesting, .starting, .unconfirmed, .over: return
        }
    }

    /// The phone says itself that a card is over which a dead token alone had spoken for: no report brings it back.
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

    /// APNs calls the card's token inactive.
    ///
    /// - Parameter isEnd: The push was an end.
    mutating func loseToken(toEnd isEnd: Bool) {
        switch self {
        case .live(let card): self = .over(Over(how: isEnd ? .ended : .gone, card: card))
        case .ending(let card, _): self = .over(Over(how: .ended, card: card))
        case .absent, .requesting, .starting, .unconfirmed, .over: return
        }
    }

    /// APNs took an end.
    ///
    /// - Parameter isRepeat: It says what the end before said; else its repeats are counted anew.
    mutating func end(isRepeat: Bool) {
        switch self {
        case .live(let card): self = .ending(card, ends: 1)
        case .ending(let card, let ends): self = .ending(card, ends: isRepeat ? ends + 1 : 1)
        case .absent, .requesting, .starting, .unconfirmed, .over: return
        }
    }

    /// The ends that APNs took count for this many at most.
    mutating func countEnds(atMost most: Int) {
        guard case .ending(let card, let ends) = self else { return }
        self = .ending(card, ends: min(ends, most))
    }

    /// No end has come to the card.
    mutating func outliveEnd() {
        guard case .ending(let card, _) = self else { return }
        self = .live(card)
    }

    /// More is known of the card, which stays the same one.
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

/// A report of a card that runs.
struct CardSighting {
    var localID: LocalID
    var startedAt: UnixTime?
    /// The report's number; `nil`: the app does not number its reports.
    var sequence: Int64?
    /// The broadcast channel whose pushes the card shows; `nil`: none.
    var channel: ChannelID?
}
