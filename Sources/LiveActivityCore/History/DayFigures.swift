package import APNSModel

/// What went out in a stretch of time, counted from timelines: of a day as it was, or as it was played anew.
package struct DayFigures: Sendable, Equatable {
    /// What became of the changes that backends made.
    package struct Changes: Sendable, Equatable {
        /// A push carried them.
        package var sent = 0
        /// No push carried them, but one of a later change: they went out together.
        package var together = 0
        /// No push carried them, nor a later one.
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
    /// Pushes that light a phone up: those with an alert, and the starts that are not silent.
    package var alerts = 0
    /// The pushes by why they went out.
    package var reasons: [Reason.Code: Int] = [:]
    package var changes = Changes()
    /// From a change to the first push to a phone that carried it, ascending.
    package private(set) var waits: [Duration] = []
    /// Activities that the server ended, since nobody set them any more.
    package var endedIdle = 0
    /// Cards that had to wait, by why: each card once for each reason. Only of what is played.
    package var held: [Reason.Code: Int] = [:]
    /// Pushes at low priority that would have been of high priority, but for a limit. Only of what is played.
    package var loweredByInterval = 0
    package var loweredByBudget = 0
    /// Changes that would have been refused. Only of what is played.
    package var refused = 0

    package var pushes: Int { starts + updates + ends }

    package init() {}

    /// The wait that this share of waits is not longer than; `nil` where there was none.
    package func wait(_ share: Double) -> Duration? {
        guard !waits.isEmpty else { return nil }
        return waits[min(waits.count - 1, max(0, Int((share * Double(waits.count)).rounded(.up)) - 1))]
    }

    /// Counts what the timelines of some activities hold of a stretch of time.
    ///
    /// - Parameter timelines: Of each activity its entries, the oldest first, from the beginning or from before `from`.
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
            case .start, .update, .end:
                guard entry.outcome?.code == .accepted else { continue }
                sent.insert(entry.revision)
                if isInside { count(push: entry) }
                guard carried.insert(Carried(device: entry.device, revision: entry.revision)).inserted,
                    let at = changedAt[entry.revision], entry.reason?.code.tellsOfChange == true
                else { continue }
                waits.append(entry.at - at)
            // It is recorded when it is decided on, and once more with its answer.
            case .fallback: fallbacks += isInside && entry.outcome == nil ? 1 : 0
            case .audienceChanged, .reported, .tokenReported, .rescued: continue
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
        case .update: updates += 1
        case .end: ends += 1
        case .fallback, .rescued, .stateSet, .ended, .reopened, .audienceChanged, .reported, .tokenReported: return
        }
        if push.priority >= 10 { high += 1 } else { low += 1 }
        let isSilentStart = push.reason?.code == .renewal
        if push.carriesAlert || push.kind == .start && !isSilentStart { alerts += 1 }
        if let code = push.reason?.code { reasons[code, default: 0] += 1 }
    }
}
