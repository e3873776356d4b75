internal import APNSModel

/// The wake-ups of all phones, as a binary heap.
///
/// A phone has one valid wake-up. An earlier one makes the phone's later ones in the heap void.
struct Agenda: Sendable {
    private var heap: [(due: UnixTime, slot: Int)] = []
    private var earliest: [Int: UnixTime] = [:]

    /// Schedules a wake-up, unless there is one that is not later.
    mutating func schedule(_ slot: Int, at due: UnixTime?) {
        guard let due else { return }
        if let present = earliest[slot], present <= due { return }
        earliest[slot] = due
        heap.append((due, slot))
        var child = heap.count - 1
        while child > 0, Self.isBefore(heap[child], heap[(child - 1) / 2]) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Removes and returns the next wake-up that is due.
    mutating func next(until now: UnixTime) -> (due: UnixTime, slot: Int)? {
        while let first = heap.first, first.due <= now {
            removeFirst()
            // Such a wake-up is void, because an earlier one of the phone has come since.
            guard earliest[first.slot] == first.due else { continue }
            earliest[first.slot] = nil
            return first
        }
        return nil
    }

    private mutating func removeFirst() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < heap.count && Self.isBefore(heap[child], heap[least]) {
                least = child
            }
            guard least != parent else { return }
            heap.swapAt(least, parent)
            parent = least
        }
    }

    private static func isBefore(_ left: (due: UnixTime, slot: Int), _ right: (due: UnixTime, slot: Int)) -> Bool {
        (left.due, left.slot) < (right.due, right.slot)
    }
}
