package import APNSModel

// The card as others read it, whatever life it has.
extension CardMachine {
    package var state: CardState { life.state }
    package var isWanted: Bool { membership == .member }

    /// Until when the phone waits for its person to be named in the audience; `nil`: it does not.
    package var awaitsUntil: UnixTime? {
        guard case .waiting(let until) = membership else { return nil }
        return until
    }

    /// The card that is there or was there last.
    package var localID: LocalID? { life.card?.localID }

    /// The broadcast channel whose pushes the card shows that is there; `nil`: pushes go to its token.
    package var channel: ChannelID? {
        switch life {
        case .live(let card), .ending(let card, _): card.channel
        case .absent, .requesting, .starting, .unconfirmed, .over: nil
        }
    }

    /// When the card that is known last was started, or its start claimed.
    package var startedAt: UnixTime? {
        switch life {
        case .absent(let lost): lost?.at
        case .requesting(let request): request.before.lostStart?.at ?? request.before.card?.startedAt
        case .starting(let start), .unconfirmed(let start): start.at
        case .live, .ending, .over: life.card?.startedAt
        }
    }

    /// The expiration of the last start by push: an inventory sent after it says whether the start failed.
    package var startExpiresAt: UnixTime? {
        switch life {
        case .absent(let lost): lost?.expiresAt
        case .requesting(let request): request.before.lostStart?.expiresAt ?? request.before.card?.startExpiresAt
        case .starting(let start), .unconfirmed(let start): start.expiresAt
        case .live, .ending, .over: life.card?.startExpiresAt
        }
    }

    /// The number of the phone's newest report of the card, or at the claim of the start whose card is awaited.
    package var reportSequence: Int64 { life.openStart?.reportSequence ?? life.card?.reportSequence ?? 0 }

    /// The start of a second card before this one's time is over, whose card nobody has reported.
    package var successor: CardLife.Start? {
        guard case .requesting(let request) = life else { return life.card?.successor }
        return request.before.card?.successor
    }

    /// A second card was started before this one's time is over, or this one has just taken another's place.
    package var isRenewing: Bool { successor != nil || life.card?.endsOther == true }

    /// The state that the app set itself; `nil`: the card shows the server's.
    package var lead: CardLife.Lead? { life.card?.lead }

    package var sentRevision: Revision { revisions.sent }
    package var shownRevision: Revision { revisions.shown }
    /// The newest revision that the phone has, for all we know.
    package var heldRevision: Revision { revisions.held }

    /// A start whose card nobody has reported.
    package var hasOpenStart: Bool { life.openStart != nil }

    /// A card that waits for something, its renewal perhaps: then the start token is wanted too.
    package var mayBeRenewed: Bool { state == .live && channel == nil && lookAt != nil && !isRenewing }

    /// A push may start a card here: then the phone's start token, its starts, and its cards are wanted too.
    package func mayBeStarted(in run: Int?) -> Bool { state != .live || mayBeRenewed || self.run != run }

    /// Nothing but its revision says what it needs.
    var isPlain: Bool { lead == nil && !isRenewing && !isEvicted }

    /// The card of which nothing but APNs's word about its token says that it is over: the phone may have it, with
    /// another token.
    package var goneByTokenAlone: CardLife.Card? {
        guard let over = life.over, over.how == .gone, last?.reason.code == .tokenInactive else { return nil }
        return over.card?.localID == nil ? nil : over.card
    }

    /// When the time of a card that iOS counts from its start began, for all we know.
    var beganAt: UnixTime { startedAt ?? createdAt }
}

extension CardMachine {
    /// No wait is as long that does not follow from a push which is noted in `last`: leases, and answers that are
    /// awaited.
    private static let longestLease = Duration.seconds(600)

    /// Until when this phone waits; `nil`: it does not.
    ///
    /// A push of a time to come was noted by a clock that was ahead and was set back since: what was put off then does
    /// not wait until the clock is there again.
    package func waitsUntil(at now: UnixTime) -> UnixTime? {
        guard let dueAt = attempts.dueAt, now < dueAt else { return nil }
        let horizon = now + Self.longestLease
        if let last, horizon < last.at, horizon < dueAt { return nil }
        return dueAt
    }

    /// Until when the end of the card that another took the place of waits: its own retry, or the answer to another
    /// push.
    ///
    /// Neither is further ahead than `RetryDelay.longest`, unless a clock that was ahead was set back since: then it
    /// does not wait.
    func predecessorWaitsUntil(at now: UnixTime) -> UnixTime? {
        [predecessor.dueAt, awaitedUntil].compactMap { $0 }.filter { now < $0 && $0 <= now + RetryDelay.longest }.max()
    }

    /// The answer to a push, of this card or of the one before, is awaited.
    func awaitsAnswer(at now: UnixTime) -> Bool { awaitedUntil.map { now < $0 } ?? false }
}
