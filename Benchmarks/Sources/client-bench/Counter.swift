import Synchronization

/// A counter that several tasks share.
final class Counter: Sendable {
    private let value: Atomic<Int>

    init(_ start: Int = 0) {
        value = Atomic(start)
    }

    /// Adds to the counter and returns its previous value.
    @discardableResult
    func take(_ count: Int = 1) -> Int { value.wrappingAdd(count, ordering: .acquiringAndReleasing).oldValue }

    var current: Int { value.load(ordering: .acquiring) }
}
