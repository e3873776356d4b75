internal import APNSModel

/// The number of pushes to each token or channel in the current window of the clock.
struct PushRate: Sendable {
    /// Pushes to one recipient in a window; `nil` for no limit.
    var limit: Int?
    /// Length of a window, in seconds.
    private let length: Int64
    private var window: Int64 = 0
    /// Emptied with each window, so it never has more entries than there are tokens or channels.
    private var counts: [String: Int] = [:]

    init(limit: Int?, inSeconds length: Int64) {
        self.limit = limit
        self.length = length
    }

    /// Counts a push, and returns `false` if it exceeds the limit.
    mutating func allows(_ recipient: String, now: UnixTime) -> Bool {
        guard let limit else { return true }
        if now.seconds / length != window {
            window = now.seconds / length
            counts.removeAll(keepingCapacity: true)
        }
        counts[recipient, default: 0] += 1
        return (counts[recipient] ?? 0) <= limit
    }
}
