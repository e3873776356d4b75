import APNSModel
import LiveActivityCore

/// The samples that rules look back on: all of the last 16 minutes, and one for each 5 minutes of the last day.
///
/// It is a pure machine. A series costs eight bytes per sample, and the number of a metric's series is limited.
struct AlertWindow: Sendable {
    struct Series: Sendable, Hashable {
        let metric: Metric
        let part: AlertSelector.Part
        /// The values of the metric's labels, in their order.
        let labels: [String]
        /// The upper bound of a bucket.
        var bound: Double?
    }

    /// Samples with their times, and the value of each series in each sample.
    struct Track: Sendable {
        private(set) var times: [MonotonicTime] = []
        /// NaN where the series did not exist.
        private(set) var values: [Series: [Double]] = [:]
        let lasts: Duration

        init(lasts: Duration) {
            self.lasts = lasts
        }

        mutating func add(_ sample: [Series: Double], at now: MonotonicTime) {
            for (series, value) in sample {
                if values[series] == nil { values[series] = Array(repeating: .nan, count: times.count) }
                values[series]?.append(value)
            }
            times.append(now)
            for series in values.keys where values[series]?.count != times.count { values[series]?.append(.nan) }
            // Removes old samples in larger steps, because a removal moves the values of every series.
            let old = times.prefix { now - $0 > lasts }.count
            guard old > times.count / 8, old > 0 else { return }
            times.removeFirst(old)
            for series in values.keys { values[series]?.removeFirst(old) }
            for (series, kept) in values where kept.allSatisfy(\.isNaN) { values[series] = nil }
        }

        /// Returns the index of the first sample within `window` before now.
        func start(of window: Duration, at now: MonotonicTime) -> Int? {
            times.firstIndex { now - $0 <= window }
        }
    }

    static let fineFor = Duration.seconds(16 * 60)
    static let coarseFor = Duration.seconds(86_400)
    static let coarseEvery = Duration.seconds(300)

    private(set) var fine = Track(lasts: fineFor)
    private var coarse = Track(lasts: coarseFor)

    init() {}

    mutating func add(_ families: [MetricFamily], at now: MonotonicTime) {
        let sample = Self.sample(families)
        fine.add(sample, at: now)
        if coarse.times.last.map({ now - $0 >= Self.coarseEvery }) ?? true { coarse.add(sample, at: now) }
    }

    private static func sample(_ families: [MetricFamily]) -> [Series: Double] {
        var sample: [Series: Double] = [:]
        for family in families {
            for series in family.series {
                switch series.value {
                case .number(let value):
                    sample[Series(metric: family.metric, part: .whole, labels: series.labels)] = value
                case .buckets(let buckets):
                    var running = 0
                    for (bound, count) in zip(buckets.bounds + [.infinity], buckets.counts) {
                        running += count
                        let one = Series(metric: family.metric, part: .buckets, labels: series.labels, bound: bound)
                        sample[one] = Double(running)
                    }
                    sample[Series(metric: family.metric, part: .count, labels: series.labels)] = Double(running)
                }
            }
        }
        return sample
    }

    // MARK: - Queries of rules

    /// Returns the newest value of each series that exists.
    func latest(_ selector: AlertSelector) -> AlertVector {
        vector(selector) { series in fine.values[series]?.last }
    }

    /// Returns the growth of each series within `window` before the newest sample.
    ///
    /// - Parameter fromNothing: `true` if a series that did not exist at the start of the window counts from 0.
    ///   Otherwise it counts from its first value.
    func increase(_ selector: AlertSelector, within window: Duration, fromNothing: Bool) -> AlertVector {
        let track = window <= Self.fineFor ? fine : coarse
        guard let now = fine.times.last, let start = track.start(of: window, at: now) else { return [:] }
        return vector(selector) { series in
            guard let newest = fine.values[series]?.last else { return nil }
            let before = track.values[series]?[start...] ?? []
            if fromNothing { return newest - (before.first.flatMap { $0.isNaN ? nil : $0 } ?? 0) }
            return newest - (before.first { !$0.isNaN } ?? newest)
        }
    }

    private func vector(_ selector: AlertSelector, _ value: (Series) -> Double?) -> AlertVector {
        var vector = AlertVector()
        for series in fine.values.keys where series.metric == selector.metric && series.part == selector.part {
            var labels = Dictionary(
                zip(selector.metric.labels, series.labels).map { ($0, $1) }, uniquingKeysWith: { first, _ in first })
            guard selector.matchers.allSatisfy({ $0.matches(labels[$0.label]) }) else { continue }
            labels[AlertVector.bound] = series.bound.map { "\($0)" }
            guard let found = value(series), !found.isNaN else { continue }
            vector[labels] = found
        }
        return vector
    }
}

/// Values by labels, like PromQL's instant vectors.
typealias AlertVector = [[String: String]: Double]

extension AlertVector {
    /// The label of a bucket's upper bound.
    static let bound = "le"

    func mapped(_ change: (Double) -> Double) -> Self { mapValues(change) }

    /// Joins the values of both vectors that have the same labels.
    func joined(_ other: Self, _ join: (Double, Double) -> Double) -> Self {
        var result = Self()
        for (labels, value) in self {
            if let theirs = other[labels] { result[labels] = join(value, theirs) }
        }
        return result
    }

    func summed(by names: [String]) -> Self {
        var result = Self()
        for (labels, value) in self { result[labels.filter { names.contains($0.key) }, default: 0] += value }
        return result
    }

    /// Returns the quantile, interpolated linearly within a bucket. In the last bucket it is the lower bound.
    func quantile(_ share: Double) -> Self {
        var histograms: [[String: String]: [Double: Double]] = [:]
        for (labels, value) in self {
            guard let bound = labels[Self.bound].flatMap({ Double($0) }) else { continue }
            histograms[labels.filter { $0.key != Self.bound }, default: [:]][bound] = value
        }
        return histograms.compactMapValues { CumulativeBuckets($0).quantile(share) }
    }
}

extension AlertExpression {
    /// Evaluates the expression. Values that are not numbers are left out.
    func values(in window: AlertWindow) -> AlertVector {
        switch self {
        case .latest(let selector): return window.latest(selector)
        case .increase(let selector, let time): return window.increase(selector, within: time, fromNothing: false)
        case .growth(let selector, let time):
            return window.increase(selector, within: time, fromNothing: true).filter { $0.value > 0 }
        case .rate(let selector, let time):
            let seconds = time / .seconds(1)
            return window.increase(selector, within: time, fromNothing: false).mapped { $0 / seconds }
        case .sum(let labels, let inner): return inner.values(in: window).summed(by: labels)
        case .quantile(let share, let inner): return inner.values(in: window).quantile(share)
        case .absolute(let inner): return inner.values(in: window).mapped(abs)
        case .scaled(let factor, let inner): return inner.values(in: window).mapped { $0 * factor }
        case .plus(let left, let right): return left.values(in: window).joined(right.values(in: window), +)
        case .over(let left, let right):
            return left.values(in: window).joined(right.values(in: window), /).filter { !$0.value.isNaN }
        case .above(let inner, let level): return inner.values(in: window).filter { $0.value > level }
        case .aboveThose(let left, let right):
            let others = right.values(in: window)
            return left.values(in: window).filter { element in others[element.key].map { element.value > $0 } ?? false }
        case .and(let left, let right):
            let others = right.values(in: window)
            return left.values(in: window).filter { others[$0.key] != nil }
        case .or(let left, let right):
            return left.values(in: window).merging(right.values(in: window)) { first, _ in first }
        }
    }
}
