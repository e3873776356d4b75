package import APNSModel

// Properties of the card that have a value in every state of its life.
extension CardMachine {
    package var state: CardState { life.state }
    package var isWanted: Bool { membership == .member }

    /// Time until which the phone waits for its person to be named in the audience; `nil` if it does not wait.
    package var awaitsUntil: UnixTime? {
        guard case .waiting(let until) = membership else { return nil }
        return until
    }

    /// Local id of the current card, or of the last one.
    package var localID: LocalID? { life.card?.localID }

    /// Broadcast channel of the current card; `nil` if pushes go to its update token, or if there is no card.
    package var channel: ChannelID? {
        switch life {
        case .live(let card), .ending(let card, _): card.channel
        case .absent, .requesting, .starting, .unconfirmed, .over: nil
        }
    }

    /// Channel that changes the phone's card, or the card of an open start; `nil` if there is none.
    ///
    /// No push to this phone alone can follow. So laps pass the phone over.
    package var subscription: ChannelID? { life.openStart?.channel ?? channel }

    /// Channel of the last card that is over; `nil` if it had none.
    var lastChannel: ChannelID? { life.card?.channel ?? life.over?.card?.channel }

    /// Start of the last known card, or time at which its start was claimed.
    package var startedAt: UnixTime? {
        switch life {
        case .absent(let lost): lost?.at
        case .requesting(let request): request.before.lostStart?.at ?? request.before.card?.startedAt
        case .starting(let start), .unconfirmed(let start): start.at
        case .live, .ending, .over: life.card?.startedAt
        }
    }

    /// Expiration of the last start by push. An inventory sent later shows whether the start failed.
    package var startExpiresAt: UnixTime? {
        switch life {
        case .absent(let lost): lost?.expiresAt
        case .requesting(let request): request.before.lostStart?.expiresAt ?? request.before.card?.startExpiresAt
        case .starting(let start), .unconfirmed(let start): start.expiresAt
        case .live, .ending, .over: life.card?.startExpiresAt
        }
    }

    /// Number of the newest report that showed the card. For an open start: number of the phone's newest report at its
    /// claim.
    package var reportSequence: Int64 { life.openStart?.reportSequence ?? life.card?.reportSequence ?? 0 }

    /// Start of a renewal's second card, until that card is reported.
    package var successor: CardLife.Start? {
        guard case .requesting(let request) = life else { return life.card?.successor }
        return request.before.card?.successor
    }

    /// `true` while a second card is awaited, or while the card that this one replaced must still be ended.
    package var isRenewing: Bool { successor != nil || life.card?.endsOther == true }

    /// State that the app set itself; `nil` if the card shows the server's state.
    package var lead: CardLife.Lead? { life.card?.lead }

    package var sentRevision: Revision { revisions.sent }
    package var shownRevision: Revision { revisions.shown }
    /// Newest revision that the phone holds, as far as is known.
    package var heldRevision: Revision { revisions.held }

    /// `true` if the card of a start has not been reported.
    package var hasOpenStart: Bool { life.openStart != nil }

    /// `true` for a card with a planned look, which may be for its renewal. A decision then also needs the start token.
    package var mayBeRenewed: Bool { state == .live && channel == nil && lookAt != nil && !isRenewing }

    /// Returns `true` if a push may start a card here, or a notification may bring an alert. A decision then also needs
    /// the phone's start token, its device token, its budget of starts and its cards.
    package func needsDevice(in activity: ActivityRecord?) -> Bool {
        state != .live || mayBeRenewed || run != activity?.run
            || channel != nil && activity?.alertsEachPhone == true
    }

    /// `true` if only the revision tells what the card needs.
    var isPlain: Bool { lead == nil && !isRenewing && !isEvicted }

    /// The last card, if only APNs's answer about its token says that it is over. The phone may still have it, with
    /// another token.
    package var goneByTokenAlone: CardLife.Card? {
        guard let over = life.over, over.how == .gone, last?.reason.code == .tokenInactive else { return nil }
        return over.card?.localID == nil ? nil : over.card
    }

    /// Time from which iOS counts the card's 8 hours, as far as is known.
    var beganAt: UnixTime { startedAt ?? createdAt }
}

extension CardMachine {
    /// Longest wait that does not follow from a push noted in `last`. Leases and awaited answers are shorter.
    private static let longestLease = Duration.seconds(600)

    /// Returns the time until which this phone waits; `nil` if it does not.
    ///
    /// If `last` lies in the future, the clock was ahead when it was noted and has been set back since. A wait that
    /// began then is ignored; it would last until the clock is there again.
    package func waitsUntil(at now: UnixTime) -> UnixTime? {
        guard let dueAt = attempts.dueAt, now < dueAt else { return nil }
        let horizon = now + Self.longestLease
        if let last, horizon < last.at, horizon < dueAt { return nil }
        return dueAt
    }

    /// Returns the time until which the end of the replaced card waits: for its own retry, or for the answer to another
    /// push.
    ///
    /// Neither wait is longer than `RetryDelay.longest`. A longer one comes from a clock that was ahead and has been
    /// set back since, so it is ignored.
    func predecessorWaitsUntil(at now: UnixTime) -> UnixTime? {
        [predecessor.dueAt, awaitedUntil].compactMap { $0 }.filter { now < $0 && $0 <= now + RetryDelay.longest }.max()
    }

    /// Returns `true` while the answer to a push is awaited, about this card or the one that it replaced.
    func awaitsAnswer(at now: UnixTime) -> Bool { awaitedUntil.map { now < $0 } ?? false }
}

extension CardMachine {
    /// Returns `true` if a lap does not concern the phone, because it is on a channel of the run and gets no alert by
    /// itself.
    package func isPassedOver(in activity: ActivityRecord, at now: UnixTime) -> Bool {
        activity.hasChannels && activity.passesChannelsOver(at: now) && subscription != nil && run == activity.run
    }
}
