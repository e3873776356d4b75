package import APNSModel

/// The current time on a machine whose clock may be wrong, or may be set while the server runs.
///
/// APNs states the time in each answer (`date`, RFC 9110 section 6.6.1). Between answers, a monotonic clock continues
/// it. That clock must count the time for which the machine sleeps; otherwise every later time would lie in the past.
///
/// The machine's clock is used while it agrees with that time within `tolerance`, and before the first answer.
///
/// A monotonic clock does not count a pause of the whole machine. From inside, such a pause looks like a clock that was
/// set. Then APNs must be asked (`doubts`).
///
/// An APNs date is in whole seconds, and as old as the answer took to arrive. So it is never ahead of APNs's clock by
/// more than a fraction of a second. The latest time of the last two spans of `memory` counts. If APNs's own clock
/// steps back, it is followed after those spans.
package struct ClockCorrection: Sendable {
    /// Difference that is ignored. It is less than an answer may take, and too small to matter here.
    package static let tolerance = Duration.seconds(10)
    static let memory = Duration.seconds(60)

    /// One moment on both clocks.
    private struct Anchor {
        let time: UnixTime
        let at: MonotonicTime

        func time(at now: MonotonicTime) -> UnixTime { time + (now - at) }
    }

    /// Latest time heard in the current span. `previous` holds that of the span before.
    private var best: Anchor?
    private var previous: Anchor?
    private var spanBegan: MonotonicTime?
    /// `true` if the machine's clock was right at the last answer.
    private var agreed = false
    private var doubtedAt: MonotonicTime?

    package init() {}

    /// `true` once APNs has stated the time.
    package var hasHeard: Bool { best != nil }

    /// Records the date of an answer of APNs, and the time of the machine's own clock at that moment.
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

    /// Returns the current time.
    ///
    /// - Parameter local: Time of the machine's own clock.
    package func time(local: UnixTime, at now: MonotonicTime) -> UnixTime {
        guard let expected = expected(at: now) else { return local }
        return (local - expected).magnitude <= Self.tolerance ? local : expected
    }

    /// Returns `true` if APNs should be asked for the time, because one of the two clocks has jumped: the machine's
    /// clock was right at the last answer and is far off now.
    ///
    /// Without an answer, it returns `true` at most once in `memory`.
    package mutating func doubts(local: UnixTime, at now: MonotonicTime) -> Bool {
        guard isInDoubt(local: local, at: now) else { return false }
        doubtedAt = now
        return true
    }

    /// Returns what `doubts` would return, without counting as a doubt.
    package func isInDoubt(local: UnixTime, at now: MonotonicTime) -> Bool {
        guard agreed, let expected = expected(at: now) else { return false }
        return (local - expected).magnitude > Self.tolerance && doubtedAt.map { now - $0 >= Self.memory } ?? true
    }

    private func expected(at now: MonotonicTime) -> UnixTime? {
        [best, previous].compactMap { $0?.time(at: now) }.max()
    }
}

extension Duration {
    fileprivate var magnitude: Duration { self < .zero ? .zero - self : self }
}
