/// Histogram as Prometheus exposes it: for each upper bound, the number of values up to it.
package struct CumulativeBuckets: Sendable {
    private let buckets: [(bound: Double, count: Double)]

    /// - Parameter counts: Number of values up to each bound. The greatest bound is infinite.
    package init(_ counts: [Double: Double]) {
        buckets = counts.sorted { $0.key < $1.key }.map { (bound: $0.key, count: $0.value) }
    }

    /// Returns the quantile, interpolated linearly within its bucket as `histogram_quantile` does
    /// ([functions](https://prometheus.io/docs/prometheus/latest/querying/functions/)); `nil` without values.
    ///
    /// Above the last finite bound it is that bound.
    package func quantile(_ share: Double) -> Double? {
        guard let total = buckets.last?.count, total > 0, buckets.count > 1 else { return nil }
        let rank = share * total
        guard let index = buckets.firstIndex(where: { $0.count >= rank }) else { return nil }
        let (low, below) = index > 0 ? buckets[index - 1] : (0, 0)
        guard buckets[index].bound.isFinite else { return low }
        let within = buckets[index].count - below
        return low + (buckets[index].bound - low) * (within > 0 ? (rank - below) / within : 1)
    }
}
