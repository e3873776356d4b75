internal import APNSModel

/// How often each token was pushed to in the running minute of the clock.
struct TokenRate: Sendable {
    /// No limit when `nil`.
    let limit: Int?
    private var minute: Int64 = 0
    /// Emptied with each minute; as many as there are tokens at most.
    private var counts: [String: Int] = [:]

    init(limit: Int?) {
        self.limit = limit
    }

    /// Counts a push; `false` when it is one too many.
    mutating func allows(_ hex: String, now: UnixTime) -> Bool {
        guard let limit else { return true }
        if now.seconds / 60 != minute {
            minute = now.seconds / 60
            counts.removeAll(keepingCapacity: true)
        }
        counts[hex, default: 0] += 1
        return (counts[hex] ?? 0) <= limit
    }
}
