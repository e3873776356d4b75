internal import APNSModel

/// The number of pushes to each token in the current minute of the clock.
struct TokenRate: Sendable {
    /// Pushes per token and minute; `nil` for no limit.
    let limit: Int?
    private var minute: Int64 = 0
    /// Emptied each minute, so it never has more entries than there are tokens.
    private var counts: [String: Int] = [:]

    init(limit: Int?) {
        self.limit = limit
    }

    /// Counts a push, and returns `false` if it exceeds the limit.
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
