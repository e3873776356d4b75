package import APNSModel

/// What time it is, for a machine whose clock may be wrong or be set while the server runs: APNs says so in each answer
/// (`date`, RFC 9110 section 6.6.1), and between its answers a clock goes on that nobody sets. It has to count the time
/// that the machine sleeps, or everything after that were of the past.
///
/// The machine's own clock is taken as long as it agrees with that within `tolerance`. Before the first answer there is
/// nothing else.
///
/// No clock of a machine that is paused as a whole counts that. Nor can it be told from one whose clock was set: then
/// APNs has to be asked (`doubts`).
///
/// A date is whole seconds and as old as the answer took, so never ahead of APNs's clock but for a second's fraction:
/// the latest that was heard of counts, of the last two spans of `memory`. A clock of APNs that steps back is followed
/// after that time.
package struct ClockCorrection: Sendable {
    /// A difference up to this is left alone: it is less than what answers may take, and what anything here depends on.
    package static let tolerance = Duration.seconds(10)
    static let memory = Duration.seconds(60)

    /// A moment on both clocks.
    private struct Anchor {
        let time: UnixTime
        let at: MonotonicTime

        func time(at now: MonotonicTime) -> UnixTime { time + (now - at) }
    }

    /// The best of the present span and of the one before it.
    private var best: Anchor?
    private var previous: Anchor?
    private var spanBegan: MonotonicTime?
    /// The machine's clock was right at the last answer.
    private var agreed = false
    private var doubtedAt: MonotonicTime?

    package init() {}

    /// APNs has said what time it is.
    package var hasHeard: Bool { best != nil }

    /// An answer of APNs had this date, when the machine's own clock said `local`.
    package mutating func learn(_ date: UnixTime, local: UnixTime, at now: MonotonicTime) {
        let heard = Anchor(time: date, at: now)
        if let spanBegan, now - spanBegan < Self.memory, let best {
            if date > best.time(at: now) { self.best = heard }
        } else {
            previous = best
            best = heard
            spanBegan = now
        }
        agreed = expected(at: now).map { (local - $0).magnitude <= Self.tolerance } ?? false
        doubtedAt = nil
    }

    /// The time, when the machine's own clock says `local`.
    package func time(local: UnixTime, at now: MonotonicTime) -> UnixTime {
        guard let expected = expected(at: now) else { return local }
        return (local - expected).magnitude <= Self.tolerance ? local : expected
    }

    /// Whether APNs is to be asked what time it is: the machine's clock was right at its last answer, and is far from
    /// it by now, so that one of the two has jumped. At most once in `memory`, as long as there is no answer.
    package mutating func doubts(local: UnixTime, at now: MonotonicTime) -> Bool {
        guard agreed, let expected = expected(at: now), (local - expected).magnitude > Self.tolerance,
            doubtedAt.map({ now - $0 >= Self.memory }) ?? true
        else { return false }
        doubtedAt = now
        return true
    }

    private func expected(at now: MonotonicTime) -> UnixTime? {
        [best, previous].compactMap { $0?.time(at: now) }.max()
    }
}

extension Duration {
    fileprivate var magnitude: Duration { self < .zero ? .zero - self : self }
}
