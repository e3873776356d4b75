/// Histogram: number of values in each of several fixed ranges.
package struct BucketCounts: Sendable, Equatable {
    /// Inclusive upper bounds, in order. The last range has none.
    package let bounds: [Double]
    /// Count of each range: one more than `bounds`.
    package private(set) var counts: [Int]
    package private(set) var sum = 0.0

    package init(bounds: [Double]) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    package var total: Int { counts.reduce(0, +) }

    /// Adds the counts of a histogram with the same bounds.
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
