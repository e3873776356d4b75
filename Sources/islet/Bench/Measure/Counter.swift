import Synchronization

/// The numbers from 0, each given to one of several tasks.
final class Counter: Sendable {
    private let count = Mutex(0)

    /// The next number.
    var value: Int { count.withLock(\.self) }

    /// Returns the next `size` numbers.
    func take(_ size: Int) -> Range<Int> {
        count.withLock { count in
            defer { count += size }
            return count..<count + size
        }
    }
}
