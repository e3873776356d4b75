import APNSModel
package import CoreMetrics
import LiveActivityCore

/// Metrics of webhooks: calls by outcome. The store has the position of each endpoint.
package final class WebhookMetrics: Sendable {
    private let calls: CounterFamily

    /// - Parameter factory: Factory that stores the metrics. The default is that of the process.
    package init(factory: any MetricsFactory = MetricsSystem.factory) {
        calls = CounterFamily(.webhookCalls, factory: factory)
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
        calls.increment(webhook.app.text, webhook.name, word)
    }
}
