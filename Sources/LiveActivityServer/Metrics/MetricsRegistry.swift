package import CoreMetrics
package import LiveActivityCore
import Synchronization

/// The metrics until they are read: Islet's backend of swift-metrics.
///
/// It accepts the metrics of `Metric` with exactly the labels that are declared there. Anything else is dropped, so
/// that no library can add an unplanned label. Series are never removed, because a vanished counter would look like a
/// restart.
package final class MetricsRegistry: MetricsFactory, Sendable {
    /// Maximum number of series of one metric. Further ones go to one more series, whose labels are all `other`.
    package static let maximumSeries = 1000
    package static let overflow = "other"

    private let series = Mutex<[Metric: [[String]: any SeriesHandler]]>([:])

    package init() {}

    /// Every metric that was ever requested, with its current values.
    package var families: [MetricFamily] {
        series.withLock { series in
            series.map { metric, byLabels in
                MetricFamily(metric, byLabels.map { MetricFamily.Series($0.key, $0.value.value) })
            }
        }
    }

    /// Shows whether the last change of the configuration was refused.
    package func note(configurationIsRefused: Bool) {
        makeMeter(label: Metric.configurationRefused.name, dimensions: []).set(configurationIsRefused ? Int64(1) : 0)
    }

    /// Forgets the series of a gauge, so that none of an app that is gone stays. Those that are left are set again.
    package func forget(_ gauge: Metric) { series.withLock { $0[gauge] = nil } }

    // MARK: - MetricsFactory

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        handler(label, dimensions, .counter) { _ in CounterSeries() } ?? NOOPMetricsHandler.instance
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        handler(label, dimensions, .gauge) { _ in GaugeSeries() } ?? NOOPMetricsHandler.instance
    }

    package func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        handler(label, dimensions, .histogram) { HistogramSeries($0) } ?? NOOPMetricsHandler.instance
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        handler(label, dimensions, .histogram) { HistogramSeries($0) } ?? NOOPMetricsHandler.instance
    }

    package func destroyCounter(_ handler: any CounterHandler) {}
    package func destroyMeter(_ handler: any MeterHandler) {}
    package func destroyRecorder(_ handler: any RecorderHandler) {}
    package func destroyTimer(_ handler: any TimerHandler) {}

    private func handler<Handler: SeriesHandler>(
        _ label: String, _ dimensions: [(String, String)], _ kind: Metric.Kind, _ make: (Metric) -> Handler
    ) -> Handler? {
        guard let metric = Metric(rawValue: label), metric.kind == kind, metric.labels == dimensions.map(\.0) else {
            return nil
        }
        return series.withLock { series in
            var byLabels = series[metric] ?? [:]
            var labels = dimensions.map(\.1)
            if byLabels[labels] == nil, byLabels.count >= Self.maximumSeries {
                labels = labels.map { _ in Self.overflow }
            }
            if let known = byLabels[labels] { return known as? Handler }
            let fresh = make(metric)
            byLabels[labels] = fresh
            series[metric] = byLabels
            return fresh
        }
    }
}

private protocol SeriesHandler: Sendable {
    var value: MetricFamily.Value { get }
}

private final class CounterSeries: CounterHandler, SeriesHandler {
    private let count = Atomic<Int64>(0)

    var value: MetricFamily.Value { .number(Double(count.load(ordering: .relaxed))) }
    func increment(by amount: Int64) { count.wrappingAdd(amount, ordering: .relaxed) }
    func reset() { count.store(0, ordering: .relaxed) }
}

private final class GaugeSeries: MeterHandler, SeriesHandler {
    private let level = Mutex(0.0)

    var value: MetricFamily.Value { .number(level.withLock { $0 }) }
    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { level.withLock { $0 = value } }
    func increment(by amount: Double) { level.withLock { $0 += amount } }
    func decrement(by amount: Double) { level.withLock { $0 -= amount } }
}

private final class HistogramSeries: RecorderHandler, TimerHandler, SeriesHandler {
    private let buckets: Mutex<BucketCounts>

    init(_ metric: Metric) {
        buckets = Mutex(BucketCounts(bounds: metric.bounds))
    }

    var value: MetricFamily.Value { .buckets(buckets.withLock { $0 }) }
    func record(_ value: Int64) { record(Double(value)) }
    func record(_ value: Double) { buckets.withLock { $0.observe(value) } }
    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
}
