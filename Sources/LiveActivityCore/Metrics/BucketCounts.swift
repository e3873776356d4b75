/// How often a measured value fell into each of some fixed ranges.
package struct BucketCounts: Sendable, Equatable {
    /// Upper bounds, inclusive, in order; the last range has none.
    package let bounds: [Double]
    /// One more than there are bounds.
    package private(set) var counts: [Int]
    package private(set) var sum = 0.0

    package init(bounds: [Double]) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    package var total: Int { counts.reduce(0, +) }

    /// Counts what another one of the same ranges has counted.
    package mutating func add(_ other: BucketCounts) {
        guard other.bounds == bounds else { return }
        for (index, count) in other.counts.enumerated() { counts[index] += count }
        sum += other.sum
    }

    package mutating func observe(_ value: Double) {
        var index = 0
        while index < bounds.count, value > bounds[index] { index += 1 }
        counts[index] += 1
        sum += value
    }
}
