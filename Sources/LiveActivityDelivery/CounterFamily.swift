import CoreMetrics
import LiveActivityCore
import Synchronization

/// Counters of one metric, each made when it is first needed.
///
/// Their number is bounded, because the values of labels come from the configuration or from closed lists.
final class CounterFamily: Sendable {
    private let metric: Metric
    private let factory: any MetricsFactory
    private let counters = Mutex<[[String]: Counter]>([:])

    init(_ metric: Metric, factory: any MetricsFactory) {
        self.metric = metric
        self.factory = factory
    }

    /// Counts one event.
    ///
    /// - Parameter labels: Values of the metric's labels, in their order.
    func increment(_ labels: String...) {
        counters.withLock { known in
            let counter =
                known[labels]
                ?? Counter(
                    label: metric.name, dimensions: zip(metric.labels, labels).map { ($0, $1) }, factory: factory)
            known[labels] = counter
            return counter
        }.increment()
    }
}
