import Synchronization

/// Counts the flights on their way, and holds back the next when there are enough.
///
/// Flights of which only stragglers are left are counted apart, so that lost answers do not hold up what is due.
final class OpenFlights: Sendable {
    private struct Count {
        var onTime = 0
        var late = 0
    }

    private let limit: Int
    private let lateLimit: Int
    private let count = Mutex(Count())
    private let left = Signal()

    init(limit: Int, late: Int) {
        self.limit = limit
        lateLimit = late
    }

    /// Takes a place, when there is one; `false` when the task was cancelled first. For one task.
    func enter() async -> Bool {
        while !Task.isCancelled {
            let isIn = count.withLock { count in
                guard count.onTime < limit, count.late < lateLimit else { return false }
                count.onTime += 1
                return true
            }
            if isIn { return true }
            await left.wait()
        }
        return false
    }

    /// Only stragglers are left of a flight.
    func linger() {
        count.withLock { count in
            count.onTime -= 1
            count.late += 1
        }
        left.raise()
    }

    func leave() {
        count.withLock { $0.onTime -= 1 }
        left.raise()
    }

    /// The last of a flight that lingered.
    func leaveLate() {
        count.withLock { $0.late -= 1 }
        left.raise()
    }

    /// Returns when no flight is on its way. For the task that entered them.
    func drained() async {
        while count.withLock({ $0.onTime + $0.late > 0 }) && !Task.isCancelled {
            await left.wait()
        }
    }
}
