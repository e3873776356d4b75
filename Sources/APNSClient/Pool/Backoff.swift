/// Exponential backoff with jitter. Waits double from a first to a longest one. Jitter shortens each by up to a half,
/// so that many clients do not return at once.
struct Backoff: Sendable {
    let first: Duration
    let longest: Duration
    private var failures = 0

    init(first: Duration, longest: Duration) {
        self.first = first
        self.longest = longest
    }

    /// Returns the wait after one more failure.
    ///
    /// - Parameter dice: Random number from 0 (the shortest wait) to 1.
    mutating func next(dice: Double) -> Duration {
        let whole = min(longest, first * (1 << min(failures, 30)))
        failures += 1
        return whole / 2 + whole / 2 * min(max(dice, 0), 1)
    }

    mutating func reset() {
        failures = 0
    }
}
