import APNSModel
package import CoreMetrics
import LiveActivityCore
import Synchronization

/// Metrics of webhooks: calls by outcome. The store has the position of each endpoint.
package final class WebhookMetrics: Sendable {
    private struct Key: Hashable {
        let webhook: WebhookKey
        let outcome: String
    }

    private let factory: any MetricsFactory
    // Bounded: endpoints come from the configuration, and outcomes from a closed list.
    private let counters = Mutex<[Key: Counter]>([:])

    /// - Parameter factory: Factory that stores the metrics. The default is that of the process.
    package init(factory: any MetricsFactory = MetricsSystem.factory) {
        self.factory = factory
    }

    func ended(_ webhook: WebhookKey, _ outcome: WebhookQueue.Outcome) {
        let word: String
        switch outcome {
        case .taken: word = "taken"
        case .failed: word = "failed"
        case .unsubscribed: word = "unsubscribed"
        // There was no call.
        case .erased: return
        }
        let key = Key(webhook: webhook, outcome: word)
        counters.withLock { known in
            let labels = zip(Metric.webhookCalls.labels, [webhook.app.text, webhook.name, word]).map { ($0, $1) }
            let counter =
                known[key] ?? Counter(label: Metric.webhookCalls.name, dimensions: labels, factory: factory)
            known[key] = counter
            return counter
        }.increment()
    }
}
