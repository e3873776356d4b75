import Synchronization

/// A number that several tasks count on.
final class Counter: Sendable {
    private let value: Atomic<Int>

    init(_ start: Int = 0) {
        value = Atomic(start)
    }

    /// Adds, and answers what it was before.
    @discardableResult
    func take(_ count: Int = 1) -> Int { value.wrappingAdd(count, ordering: .acquiringAndReleasing).oldValue }

    var current: Int { value.load(ordering: .acquiring) }
}
