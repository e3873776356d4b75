import LiveActivityAPI

/// An estimate of the remaining time of a fan-out, from its observed speed.
struct FanOutPace {
    private var first: (done: Int, at: Instant)?
    private var last: (done: Int, at: Instant)?
    private var revision = 0

    /// Takes note of a fan-out. Restarts the measurement for a new revision, and when the number of finished phones
    /// falls.
    mutating func see(_ fanOut: ActivityView.FanOut?, of revision: Int, at now: Instant) {
        guard let fanOut else {
            (first, last) = (nil, nil)
            return
        }
        if revision != self.revision || fanOut.done < last?.done ?? 0 { first = nil }
        self.revision = revision
        last = (fanOut.done, now)
        if first == nil { first = last }
    }

    /// Returns the seconds until all phones have been visited, or `nil` if there are too few observations.
    func secondsLeft(of fanOut: ActivityView.FanOut) -> Int? {
        guard let first, let last, last.done > first.done, last.at > first.at else { return nil }
        let perSecond = Double(last.done - first.done) / (last.at.seconds - first.at.seconds)
        return Int((Double(fanOut.phones - last.done) / perSecond).rounded(.up))
    }
}
