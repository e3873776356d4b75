import APNSModel
import NIOCore

/// The pushes that wait for one key and endpoint, in one line for each priority.
///
/// High-priority pushes leave first. While low-priority pushes wait beside them, one push in `lowPriorityTurn` is of
/// low priority, which prevents starvation. Within a line, pushes keep their order of arrival, even if they come back.
/// Each line has its own limit, so a flood of low priority takes no place from high priority.
struct PushQueue {
    struct Limits: Hashable, Sendable {
        /// Maximum number of waiting pushes in each line.
        var waiting: Int
        /// One push in this many is of low priority while both lines wait.
        var lowPriorityTurn: Int
    }

    let limits: Limits
    private var high = Line()
    private var low = Line()
    /// Number of high-priority pushes that left since the last low-priority one, while low priority waited.
    private var passedOver = 0
    private var nextOrder: UInt64 = 0

    init(_ limits: Limits) {
        self.limits = limits
    }

    var isEmpty: Bool { high.entries.isEmpty && low.entries.isEmpty }
    var count: Int { high.entries.count + low.entries.count }

    /// Appends a push to its line. Returns `false` if the line is full.
    mutating func append(_ attempt: Attempt) -> Bool {
        var attempt = attempt
        attempt.order = nextOrder
        let isTaken =
            switch attempt.priority {
            case .high: high.append(attempt, limit: limits.waiting)
            case .low, .lowest: low.append(attempt, limit: limits.waiting)
            }
        if isTaken { nextOrder += 1 }
        return isTaken
    }

    /// Returns pushes to their former positions.
    ///
    /// The limit does not apply, because they were within it before. There are never more of them than open streams.
    mutating func giveBack(_ attempts: [Attempt]) {
        high.giveBack(attempts.filter { $0.priority == .high })
        low.giveBack(attempts.filter { $0.priority != .high })
    }

    /// The time limit and size of the push that leaves next.
    var next: (sendBefore: MonotonicTime, size: Int)? {
        takesLow ? low.next : high.next
    }

    /// Removes the push that leaves next.
    mutating func removeNext() -> Attempt? {
        guard takesLow else {
            passedOver = low.entries.isEmpty ? 0 : passedOver + 1
            return high.entries.popFirst()?.attempt
        }
        passedOver = 0
        return low.entries.popFirst()?.attempt
    }

    private var takesLow: Bool {
        if low.entries.isEmpty { return false }
        return high.entries.isEmpty || passedOver >= limits.lowPriorityTurn - 1
    }

    /// Removes the pushes whose time to leave is over.
    mutating func removeEnded(_ now: MonotonicTime) -> [Attempt] {
        high.removeEnded(now) + low.removeEnded(now)
    }

    mutating func removeAll() -> [Attempt] {
        defer { (high, low) = (Line(), Line()) }
        return high.entries.map(\.attempt) + low.entries.map(\.attempt)
    }
}

extension PushQueue {
    /// The pushes of one priority, in the order of their arrival.
    private struct Line {
        /// An attempt with copies of the values that every check reads, so that a search for late pushes touches
        /// nothing else.
        struct Entry {
            let attempt: Attempt
            let sendBefore: MonotonicTime
            /// Size of the payload in bytes.
            let size: Int

            init(_ attempt: Attempt) {
                self.attempt = attempt
                sendBefore = attempt.sendBefore
                size = attempt.payload.count
            }
        }

        var next: (sendBefore: MonotonicTime, size: Int)? {
            guard !entries.isEmpty else { return nil }
            let index = entries.startIndex
            return (entries[index].sendBefore, entries[index].size)
        }

        private static let never = MonotonicTime(nanoseconds: .max)

        var entries = CircularBuffer<Entry>()
        /// No push is late before this instant.
        private var earliestEnd = never

        mutating func append(_ attempt: Attempt, limit: Int) -> Bool {
            guard entries.count < limit else { return false }
            let entry = Entry(attempt)
            entries.append(entry)
            earliestEnd = min(earliestEnd, entry.sendBefore)
            return true
        }

        mutating func giveBack(_ attempts: [Attempt]) {
            var returned = attempts.map(Entry.init)
            guard let last = attempts.map(\.order).max() else { return }
            while let first = entries.first, first.attempt.order < last { returned.append(entries.removeFirst()) }
            returned.sort { $0.attempt.order > $1.attempt.order }
            for entry in returned {
                entries.prepend(entry)
                earliestEnd = min(earliestEnd, entry.sendBefore)
            }
        }

        mutating func removeEnded(_ now: MonotonicTime) -> [Attempt] {
            guard now >= earliestEnd else { return [] }
            earliestEnd = Self.never
            var ended: [Attempt] = []
            for entry in entries {
                if entry.sendBefore <= now {
                    ended.append(entry.attempt)
                } else {
                    earliestEnd = min(earliestEnd, entry.sendBefore)
                }
            }
            if !ended.isEmpty { entries.removeAll { $0.sendBefore <= now } }
            return ended
        }
    }
}
