package import APNSModel

/// What a phone did with the cards of one activity, as the timeline keeps it.
package struct RecordedCard: Sendable, Equatable {
    /// What nobody asked the phone for.
    package enum Deed: Sendable, Equatable {
        /// The app started a card itself.
        case starts
        case newToken
        /// The person swiped it away.
        case dismisses
        /// It vanished, and nobody said why.
        case loses
        /// The app ended it.
        case ends
        /// Its person left the audience.
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

    /// Whether the phone was seen to answer a push.
    package enum Answer: Sendable, Equatable {
        /// There was no such push.
        case unknown
        case after(Duration)
        case never
    }

    /// How the phone stood when the stretch began.
    package enum Standing: Sendable, Equatable {
        case nothing
        case live(hasToken: Bool)
        case dismissed
    }

    package var standing = Standing.nothing
    /// From a start to the report of its card.
    package var reports = Answer.unknown
    /// From a start to the update token of its card.
    package var token = Answer.unknown
    /// From an end to its confirmation.
    package var confirmsEnd = Answer.unknown
    /// Inside the stretch, in order.
    package var acts: [Act] = []
    /// When its person joined; `nil`: from the beginning.
    package var joinsAt: UnixTime?

    package init() {}

    /// - Parameter entries: The phone's own, the oldest first.
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

    /// From a claim to the end of its lease: by then its answers are written down.
    private static let lease = Duration.seconds(15)

    /// A push is written down with its answer, which may be after the phone has spoken of the card: it comes before
    /// what it led to.
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
    /// What a phone says where it has got that push.
    fileprivate func mayAnswer(_ push: HistoryEntry) -> Bool {
        switch push.kind {
        case .start:
            kind == .tokenReported || kind == .reported && CardReport.State(rawValue: detail)?.isRunning == true
        case .end: kind == .reported && detail == CardReport.State.ended.rawValue
        case .update, .fallback, .rescued, .stateSet, .ended, .reopened, .audienceChanged, .reported, .tokenReported:
            false
        }
    }
}

/// Reads a phone's entries one after the other.
private struct Walk {
    private var startedAt: UnixTime?
    private var endedAt: UnixTime?
    private var liveSince: UnixTime?
    private var hasToken = false
    private var isDismissed = false

    var standing: RecordedCard.Standing {
        liveSince != nil ? .live(hasToken: hasToken) : isDismissed ? .dismissed : .nothing
    }

    /// - Returns: What the phone did of itself; `nil`: it answered, or something happened to it.
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
        case .start, .update, .end, .fallback, .rescued, .stateSet, .ended, .reopened: break
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
