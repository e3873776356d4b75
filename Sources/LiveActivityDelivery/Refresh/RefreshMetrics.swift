import APNSModel
package import CoreMetrics
import LiveActivityCore
import Synchronization

/// Metrics of refreshes: outcomes, and the time that providers take to answer.
package final class RefreshMetrics: Sendable {
    private struct Key: Hashable {
        let app: BundleID
        let type: String
        let outcome: String
    }

    private let factory: any MetricsFactory
    // Bounded: apps and types come from the configuration, and outcomes from a closed list.
    private let counters = Mutex<[Key: Counter]>([:])
    private let timers = Mutex<[Key: CoreMetrics.Timer]>([:])

    /// - Parameter factory: Factory that stores the metrics. The default is that of the process.
    package init(factory: any MetricsFactory = MetricsSystem.factory) {
        self.factory = factory
    }

    func finished(_ run: RefreshRun, _ reply: FinishRefresh.Reply) {
        let outcome =
            if reply.isLate { "late" } else if let failure = reply.failure {
                failure.code.rawValue
            } else if reply
                .changed + reply.ended > 0
            { "changed" } else { "unchanged" }
        let key = Key(app: run.app, type: run.type, outcome: outcome)
        counters.withLock { known in
            let counter =
                known[key]
                ?? Counter(
                    label: Metric.refreshes.name,
                    dimensions: labels(.refreshes, [run.app.text, run.type, outcome]), factory: factory)
            known[key] = counter
            return counter
        }.increment()
    }

    func answered(_ app: BundleID, _ type: String, after duration: Duration) {
        let key = Key(app: app, type: type, outcome: "")
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
