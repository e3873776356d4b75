package import APNSModel

/// Behavior of a phone with the cards of one activity, as the timeline recorded it.
package struct RecordedCard: Sendable, Equatable {
    /// Something that the phone did without a push.
    package enum Deed: Sendable, Equatable {
        /// The app started a card itself.
        case starts
        case newToken
        /// The person dismissed the card.
        case dismisses
        /// The card vanished for an unknown reason.
        case loses
        /// The app ended the card.
        case ends
        /// The person left the audience.
        case leaves
    }

    package struct Act: Sendable, Equatable {
        package var at: UnixTime
        package var deed: Deed

        package init(at: UnixTime, _ deed: Deed) {
            self.at = at
            self.deed = deed
        }
    }

    /// Observed answer of the phone to a kind of push.
    package enum Answer: Sendable, Equatable {
        /// There was no such push.
        case unknown
        case after(Duration)
        case never
    }

    /// State of the phone at the beginning of the period.
    package enum Standing: Sendable, Equatable {
        case nothing
        case live(hasToken: Bool)
        case dismissed
    }

    package var standing = Standing.nothing
    /// Time from a start to the report of its card.
    package var reports = Answer.unknown
    /// Time from a start to the update token of its card.
    package var token = Answer.unknown
    /// Time from an end to its confirmation.
    package var confirmsEnd = Answer.unknown
    /// Acts in the period, in order.
    package var acts: [Act] = []
    /// Time at which the person joined; `nil` if they belonged to the audience from the beginning.
    package var joinsAt: UnixTime?

    package init() {}

    /// Reads a phone's behavior from its timeline.
    ///
    /// - Parameter entries: The phone's own entries, oldest first.
    init(_ entries: [HistoryEntry], from: UnixTime) {
        var walk = Walk()
        var hasBegun = false
        for entry in Self.inOrder(entries) {
            if entry.at >= from, !hasBegun {
                standing = walk.standing
                hasBegun = true
            }
            if let deed = walk.take(entry, &self), hasBegun { acts.append(Act(at: entry.at, deed)) }
        }
        if !hasBegun { standing = walk.standing }
    }

    /// Time from a claim to the end of its lease. By then, its answers are stored.
    private static let lease = Duration.seconds(15)

    /// Returns the entries with each push before the reports that it caused.
    ///
    /// A push is recorded with its answer, which may be after the phone has reported the card.
    private static func inOrder(_ entries: [HistoryEntry]) -> [HistoryEntry] {
        var ordered: [HistoryEntry] = []
        for entry in entries {
            var place = ordered.count
            while place > 0, ordered[place - 1].mayAnswer(entry), entry.at - ordered[place - 1].at < lease {
                place -= 1
            }
            guard place < ordered.count else {
                ordered.append(entry)
                continue
            }
            var push = entry
            push.at = ordered[place].at
            ordered.insert(push, at: place)
        }
        return ordered
    }
}

extension HistoryEntry {
    /// Returns whether this entry is a report that the phone sends after getting that push.
    fileprivate func mayAnswer(_ push: HistoryEntry) -> Bool {
        switch push.kind {
        case .start:
            kind == .tokenReported || kind == .reported && CardReport.State(rawValue: detail)?.isRunning == true
        case .end: kind == .reported && detail == CardReport.State.ended.rawValue
        case .update, .fallback, .rescued, .stateSet, .ended, .reopened, .audienceChanged, .reported, .tokenReported,
            .channelMade, .broadcast, .broadcastEnd, .channelDeleted:
            false
        }
    }
}

/// Reads a phone's entries one after another.
private struct Walk {
    private var startedAt: UnixTime?
    private var endedAt: UnixTime?
    private var liveSince: UnixTime?
    private var hasToken = false
    private var isDismissed = false

    var standing: RecordedCard.Standing {
        liveSince != nil ? .live(hasToken: hasToken) : isDismissed ? .dismissed : .nothing
    }

    /// Reads an entry.
    ///
    /// - Returns: What the phone did on its own; `nil` if it answered a push, or something happened to it.
    mutating func take(_ entry: HistoryEntry, _ card: inout RecordedCard) -> RecordedCard.Deed? {
        switch entry.kind {
        case .start where entry.outcome?.code == .accepted && entry.reason?.code != .renewal:
            clear()
            startedAt = entry.at
            Self.expect(&card.reports)
            Self.expect(&card.token)
        case .end where entry.outcome?.code == .accepted && entry.reason?.code != .renewed:
            endedAt = entry.at
            Self.expect(&card.confirmsEnd)
        case .tokenReported: return takeToken(at: entry.at, &card)
        case .reported: return takeReport(entry, &card)
        case .audienceChanged: return .leaves
        case .start, .update, .end, .fallback, .rescued, .stateSet, .ended, .reopened, .channelMade, .broadcast,
            .broadcastEnd, .channelDeleted:
            break
        }
        return nil
    }

    private mutating func takeToken(at time: UnixTime, _ card: inout RecordedCard) -> RecordedCard.Deed? {
        let deed = adopt(at: time, &card)
        defer { hasToken = true }
        guard hasToken else {
            if let startedAt { Self.learn(&card.token, time - startedAt) }
            return deed
        }
        return .newToken
    }

    private mutating func takeReport(_ entry: HistoryEntry, _ card: inout RecordedCard) -> RecordedCard.Deed? {
        let deed: RecordedCard.Deed
        switch CardReport.State(rawValue: entry.detail) {
        case .pending, .active, .stale: return adopt(at: entry.at, &card)
        case .dismissed: deed = .dismisses
        case .ended: deed = .ends
        case .requesting, .notStarted, .duplicate: return nil
        case .gone, nil: deed = .loses
        }
        let ended = endedAt
        clear()
        isDismissed = deed == .dismisses
        guard let ended else { return deed }
        Self.learn(&card.confirmsEnd, entry.at - ended)
        return nil
    }

    private mutating func adopt(at time: UnixTime, _ card: inout RecordedCard) -> RecordedCard.Deed? {
        guard liveSince == nil else { return nil }
        liveSince = time
        isDismissed = false
        guard let startedAt else { return .starts }
        Self.learn(&card.reports, time - startedAt)
        return nil
    }

    private mutating func clear() { self = Walk() }

    private static func expect(_ answer: inout RecordedCard.Answer) {
        if answer == .unknown { answer = .never }
    }

    private static func learn(_ answer: inout RecordedCard.Answer, _ wait: Duration) {
        if case .after = answer { return }
        answer = .after(wait)
    }
}
