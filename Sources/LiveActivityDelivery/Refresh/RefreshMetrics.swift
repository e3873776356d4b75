import APNSModel
package import CoreMetrics
import LiveActivityCore
import Synchronization

/// Metrics of refreshes: outcomes, and the time that providers take to answer.
package final class RefreshMetrics: Sendable {
    private struct Key: Hashable {
        let app: BundleID
        let type: String
    }

    private let factory: any MetricsFactory
    private let refreshes: CounterFamily
    // Bounded: apps and types come from the configuration.
    private let timers = Mutex<[Key: CoreMetrics.Timer]>([:])

    /// - Parameter factory: Factory that stores the metrics. The default is that of the process.
    package init(factory: any MetricsFactory = MetricsSystem.factory) {
        self.factory = factory
        refreshes = CounterFamily(.refreshes, factory: factory)
    }

    func finished(_ run: RefreshRun, _ reply: FinishRefresh.Reply) {
        let outcome =
            if reply.isLate { "late" } else if let failure = reply.failure {
                failure.code.rawValue
            } else if reply
                .changed + reply.ended > 0
            { "changed" } else { "unchanged" }
        refreshes.increment(run.app.text, run.type, outcome)
    }

    func answered(_ app: BundleID, _ type: String, after duration: Duration) {
        let key = Key(app: app, type: type)
        timers.withLock { known in
            let timer =
                known[key]
                ?? CoreMetrics.Timer(
                    label: Metric.providerAnswer.name, dimensions: labels(.providerAnswer, [app.text, type]),
                    factory: factory)
            known[key] = timer
            return timer
        }.recordNanoseconds(duration.wholeNanoseconds)
    }

    private func labels(_ metric: Metric, _ values: [String]) -> [(String, String)] {
        zip(metric.labels, values).map { ($0, $1) }
    }
}
