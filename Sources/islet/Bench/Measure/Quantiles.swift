/// Samples in order, asked for their quantiles by the nearest rank.
struct Quantiles: Sendable {
    private let sorted: [Double]

    init(_ samples: [Double]) {
        sorted = samples.sorted()
    }

    /// The smallest sample that `share` of all are not above; nil without samples.
    subscript(share: Double) -> Double? {
        guard !sorted.isEmpty else { return nil }
        let rank = (share * Double(sorted.count)).rounded(.up)
        return sorted[min(max(Int(rank) - 1, 0), sorted.count - 1)]
    }
}
