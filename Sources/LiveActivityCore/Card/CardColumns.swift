package import APNSModel

/// Flat form of a card machine, as storage keeps it.
///
/// A machine can be restored from its columns. Columns that do not apply to the machine's state are not kept.
package struct CardColumns: Sendable, Hashable {
    package var activity: ActivityNumber
    package var device: DeviceKey
    package var run: Int
    package var createdAt: UnixTime
    package var state = CardState.absent
    package var isWanted = true
    package var mayStart = true
    package var awaitsUntil: UnixTime?
    package var pushedAlert: Revision = 0
    package var awaitedAlert: Int64?
    package var toldRevision: Revision?
    package var sentRevision: Revision = 0
    package var shownRevision: Revision = 0
    package var parkedRevision: Revision = 0
    package var contradictions = 0
    package var timestamp: Int64 = 0
    package var tokenGeneration: Int64 = 0
    /// Failed tries; for an ending card, the ends that APNs accepted.
    package var tries = 0
    package var dueAt: UnixTime?
    package var predecessorTries = 0
    package var predecessorDueAt: UnixTime?
    package var awaitedUntil: UnixTime?
    package var lookAt: UnixTime?
    package var localID: LocalID?
    package var channel: ChannelID?
    package var startedAt: UnixTime?
    package var startExpiresAt: UnixTime?
    package var reportSequence: Int64 = 0
    package var reportedAt: UnixTime?
    package var endsOther = false
    package var opens = 0
    package var successorAt: UnixTime?
    package var successorExpiresAt: UnixTime?
    package var successorSequence: Int64 = 0
    package var isLocalAhead = false
    /// Time until which the app's request is valid, or the state that the app set itself stays.
    package var leaseUntil: UnixTime?
    package var isEvicted = false
    /// Outcome of the card before a request or an open start; `absent` if there was none.
    package var stateBefore = CardState.absent
    package var last: LastDelivery?
    package var lastHighAt: UnixTime?

    package init(activity: ActivityNumber, device: DeviceKey, run: Int, at now: UnixTime) {
        self.activity = activity
        self.device = device
        self.run = run
        createdAt = now
    }
}

extension CardColumns {
    package init(_ card: CardMachine) {
        self.init(activity: card.activity, device: card.device, run: card.run, at: card.createdAt)
        state = card.state
        isWanted = card.isWanted
        mayStart = card.mayStart
        awaitsUntil = card.awaitsUntil
        pushedAlert = card.alerts.pushed
        awaitedAlert = card.alerts.awaited
        toldRevision = card.alerts.told
        sentRevision = card.revisions.sent
        shownRevision = card.revisions.shown
        parkedRevision = card.revisions.parked
        contradictions = card.revisions.contradictions
        timestamp = card.timestamp
        tokenGeneration = card.tokenGeneration
        tries = card.attempts.tries
        dueAt = card.attempts.dueAt
        predecessorTries = card.predecessor.tries
        predecessorDueAt = card.predecessor.dueAt
        awaitedUntil = card.awaitedUntil
        lookAt = card.lookAt
        startedAt = card.startedAt
        startExpiresAt = card.startExpiresAt
        reportSequence = card.reportSequence
        isEvicted = card.isEvicted
        last = card.last
        lastHighAt = card.lastHighAt
        switch card.life {
        case .absent: break
        case .requesting(let request):
            stateBefore = request.before.outcome?.state ?? .absent
            if let before = request.before.card { keep(before) }
            leaseUntil = request.until
        case .starting(let start), .unconfirmed(let start):
            stateBefore = start.before?.state ?? .absent
            channel = start.channel
        case .live(let card): keep(card)
        case .ending(let card, let ends):
            keep(card)
            tries = ends
        case .over(let over): if let card = over.card { keep(card) }
        }
    }

    private mutating func keep(_ card: CardLife.Card) {
        localID = card.localID
        channel = card.channel
        reportSequence = card.reportSequence
        reportedAt = card.reportedAt
        endsOther = card.endsOther
        successorAt = card.successor?.at
        successorExpiresAt = card.successor?.expiresAt
        successorSequence = card.successor?.reportSequence ?? 0
        opens = card.opens
        isLocalAhead = card.lead != nil
        leaseUntil = card.lead?.until
    }

    /// Life that these columns describe.
    var life: CardLife {
        switch state {
        case .absent: .absent(lost: lostStart)
        case .requesting:
            .requesting(
                CardLife.Request(
                    until: leaseUntil ?? createdAt,
                    before: outcome(of: stateBefore).map { .over(CardLife.Over(how: $0, card: knownCard).withoutLead) }
                        ?? .absent(lost: lostStart)))
        case .starting: .starting(start)
        case .unconfirmed: .unconfirmed(start)
        case .live: .live(card)
        case .ending: .ending(card, ends: max(0, tries))
        case .ended: .over(CardLife.Over(how: .ended, card: knownCard))
        case .dismissed: .over(CardLife.Over(how: .dismissed, card: knownCard))
        case .gone: .over(CardLife.Over(how: .gone, card: knownCard))
        }
    }

    private var start: CardLife.Start {
        let at = startedAt ?? createdAt
        return CardLife.Start(
            at: at, expiresAt: startExpiresAt ?? at, reportSequence: reportSequence, before: outcome(of: stateBefore),
            channel: channel)
    }

    private var lostStart: CardLife.LostStart? {
        startExpiresAt.map { CardLife.LostStart(at: startedAt ?? createdAt, expiresAt: $0) }
    }

    private var card: CardLife.Card {
        CardLife.Card(
            localID: localID, channel: channel, startedAt: startedAt, startExpiresAt: startExpiresAt,
            reportSequence: reportSequence, reportedAt: reportedAt, successor: successor, endsOther: endsOther,
            lead: isLocalAhead ? CardLife.Lead(until: leaseUntil) : nil, opens: opens)
    }

    private var successor: CardLife.Start? {
        guard let successorAt, let successorExpiresAt else { return nil }
        return CardLife.Start(at: successorAt, expiresAt: successorExpiresAt, reportSequence: successorSequence)
    }

    /// The card; `nil` if nothing is known of it.
    private var knownCard: CardLife.Card? { card == CardLife.Card() ? nil : card }

    private func outcome(of state: CardState) -> CardLife.Outcome? {
        switch state {
        case .ended: .ended
        case .dismissed: .dismissed
        case .gone: .gone
        case .absent, .requesting, .starting, .unconfirmed, .live, .ending: nil
        }
    }
}

extension CardMachine {
    /// Restores the machine from its columns.
    package init(_ columns: CardColumns) {
        let membership: Membership =
            columns.awaitsUntil.map { .waiting(until: $0) } ?? (columns.isWanted ? .member : .left)
        self.init(
            activity: columns.activity, device: columns.device, run: columns.run, createdAt: columns.createdAt,
            life: columns.life, membership: membership, mayStart: columns.mayStart,
            alerts: AlertLedger(
                pushed: columns.pushedAlert, awaited: columns.awaitedAlert, told: columns.toldRevision),
            revisions: CardRevisions(
                sent: columns.sentRevision, shown: columns.shownRevision, parked: columns.parkedRevision,
                contradictions: columns.contradictions),
            attempts: Attempts(tries: columns.state == .ending ? 0 : columns.tries, dueAt: columns.dueAt),
            predecessor: Attempts(tries: columns.predecessorTries, dueAt: columns.predecessorDueAt),
            timestamp: columns.timestamp, tokenGeneration: columns.tokenGeneration,
            awaitedUntil: columns.awaitedUntil, last: columns.last, lastHighAt: columns.lastHighAt,
            isEvicted: columns.isEvicted, lookAt: columns.lookAt)
    }
}
