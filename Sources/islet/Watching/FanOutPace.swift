import LiveActivityAPI

/// How fast a change gets around, from what was seen of it: so much of it is left.
struct FanOutPace {
    private var first: (done: Int, at: Instant)?
    private var last: (done: Int, at: Instant)?
    private var revision = 0

    /// A change that begins anew, or goes back, is measured anew.
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

    /// The seconds until all phones were looked at; nil: not enough was seen to tell.
    func secondsLeft(of fanOut: ActivityView.FanOut) -> Int? {
        guard let first, let last, last.done > first.done, last.at > first.at else { return nil }
        let perSecond = Double(last.done - first.done) / (last.at.seconds - first.at.seconds)
        return Int((Double(fanOut.phones - last.done) / perSecond).rounded(.up))
    }
}
