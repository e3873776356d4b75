package import APNSModel

/// Counts of what was sent in a period, taken from timelines. The period is a recorded day, or a replay of it.
package struct DayFigures: Sendable, Equatable {
    /// Fate of the changes that backends made.
    package struct Changes: Sendable, Equatable {
        /// Changes that a push carried.
        package var sent = 0
        /// Changes that no push carried, although one carried a later change: they were sent together.
        package var together = 0
        /// Changes after which no push carried them or a later change.
        package var unsent = 0

        package init() {}
    }

    package var starts = 0
    package var updates = 0
    package var ends = 0
    /// Ordinary notifications in place of a card.
    package var fallbacks = 0
    package var high = 0
    package var low = 0
    /// Pushes that light up a phone: those with an alert, and starts that are not silent.
    package var alerts = 0
    /// Number of pushes by reason.
    package var reasons: [Reason.Code: Int] = [:]
    package var changes = Changes()
    /// Times from a change to the first push that carried it to a phone, ascending.
    package private(set) var waits: [Duration] = []
    /// Activities that the server ended because nobody had set them for long enough.
    package var endedIdle = 0
    /// Cards that had to wait, by reason. Each card counts once for each reason. Counted only in a replay.
    package var held: [Reason.Code: Int] = [:]
    /// Pushes sent at low priority because of a limit. Otherwise, they would have had high priority. Counted only in a
    /// replay.
    package var loweredByInterval = 0
    package var loweredByBudget = 0
    /// Changes that would have been refused. Counted only in a replay.
    package var refused = 0

    package var pushes: Int { starts + updates + ends }

    package init() {}

    /// Returns the wait that is not exceeded by this share of the waits; `nil` if there are none.
    package func wait(_ share: Double) -> Duration? {
        guard !waits.isEmpty else { return nil }
        return waits[min(waits.count - 1, max(0, Int((share * Double(waits.count)).rounded(.up)) - 1))]
    }

    /// Counts the contents of timelines in a period.
    ///
    /// - Parameter timelines: The entries of each activity, oldest first, beginning before `from` or at the activity's
    ///   beginning.
    package init(counting timelines: [[HistoryEntry]], from: UnixTime, to: UnixTime) {
        for timeline in timelines { count(timeline, from, to) }
        waits.sort()
    }

    private struct Carried: Hashable {
        let device: DeviceKey?
        let revision: Revision
    }

    private mutating func count(_ timeline: [HistoryEntry], _ from: UnixTime, _ to: UnixTime) {
        var changedAt: [Revision: UnixTime] = [:]
        var sent: Set<Revision> = []
        var carried: Set<Carried> = []
        for entry in timeline where entry.at < to {
            let isInside = entry.at >= from
            switch entry.kind {
            case .ended where entry.reason?.code == .nobodyEnded: endedIdle += isInside ? 1 : 0
            case .stateSet, .ended, .reopened: changedAt[entry.revision] = isInside ? entry.at : nil
            case .start, .update, .end, .broadcast, .broadcastEnd:
                guard entry.outcome?.code == .accepted else { continue }
                sent.insert(entry.revision)
                if isInside { count(push: entry) }
                guard carried.insert(Carried(device: entry.device, revision: entry.revision)).inserted,
                    let at = changedAt[entry.revision], entry.reason?.code.tellsOfChange == true
                else { continue }
                waits.append(entry.at - at)
            // A fallback is recorded when it is decided, and again with its answer. Count it once.
            case .fallback: fallbacks += isInside && entry.outcome == nil ? 1 : 0
            case .audienceChanged, .reported, .tokenReported, .rescued, .channelMade, .channelDeleted: continue
            }
        }
        let newest = sent.max() ?? 0
        for revision in changedAt.keys {
            if sent.contains(revision) {
                changes.sent += 1
            } else if revision < newest {
                changes.together += 1
            } else {
                changes.unsent += 1
            }
        }
    }

    private mutating func count(push: HistoryEntry) {
        switch push.kind {
        case .start: starts += 1
        case .update, .broadcast: updates += 1
        case .end, .broadcastEnd: ends += 1
        case .fallback, .rescued, .stateSet, .ended, .reopened, .audienceChanged, .reported, .tokenReported,
            .channelMade, .channelDeleted:
            return
        }
        if push.priority >= 10 { high += 1 } else { low += 1 }
        let isSilentStart = push.reason?.code == .renewal
        if push.carriesAlert || push.kind == .start && !isSilentStart { alerts += 1 }
        if let code = push.reason?.code { reasons[code, default: 0] += 1 }
    }
}
