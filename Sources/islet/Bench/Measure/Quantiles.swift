/// Sorted samples, with quantiles by the nearest-rank method.
struct Quantiles: Sendable {
    private let sorted: [Double]

    init(_ samples: [Double]) {
        sorted = samples.sorted()
    }

    /// Smallest sample such that at least this share of all samples is not larger; `nil` without samples.
    subscript(share: Double) -> Double? {
        guard !sorted.isEmpty else { return nil }
        let rank = (share * Double(sorted.count)).rounded(.up)
        return sorted[min(max(Int(rank) - 1, 0), sorted.count - 1)]
    }
}
