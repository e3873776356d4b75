package import APNSModel

/// What time it is, for a machine whose clock may be wrong or be set while the server runs: APNs says so in each answer
/// (`date`, RFC 9110 section 6.6.1), and between its answers the monotonic clock goes on.
///
/// The machine's own clock is taken as long as it agrees with that within `tolerance`. Before the first answer there is
/// nothing else.
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

    package init() {}

    /// An answer of APNs had this date.
    package mutating func learn(_ date: UnixTime, at now: MonotonicTime) {
        let heard = Anchor(time: date, at: now)
        if let spanBegan, now - spanBegan < Self.memory, let best {
            if date > best.time(at: now) { self.best = heard }
        } else {
            previous = best
            best = heard
            spanBegan = now
        }
    }

    /// The time, when the machine's own clock says `local`.
    package func time(local: UnixTime, at now: MonotonicTime) -> UnixTime {
        guard let expected = [best, previous].compactMap({ $0?.time(at: now) }).max() else { return local }
        let difference = local - expected
        return difference.magnitude <= Self.tolerance ? local : expected
    }
}

extension Duration {
    fileprivate var magnitude: Duration { self < .zero ? .zero - self : self }
}
