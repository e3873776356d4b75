import APNSModel
package import CoreMetrics
import LiveActivityCore
import Synchronization

/// Metrics of broadcast channels: calls by outcome, and the number of channels that APNs has.
package final class ChannelMetrics: Sendable {
    private let factory: any MetricsFactory
    private let calls: CounterFamily
    // Bounded: apps come from the configuration.
    private let counts = Mutex<[PushRoute: Meter]>([:])

    /// - Parameter factory: Factory that stores the metrics. The default is that of the process.
    package init(factory: any MetricsFactory = MetricsSystem.factory) {
        self.factory = factory
        calls = CounterFamily(.channelCalls, factory: factory)
    }

    func called(_ errand: ChannelErrand, _ outcome: SettleChannel.Outcome) {
        let word =
            switch outcome {
            case .created, .done: "accepted"
            case .notBuilt: "not_built"
            case .failed(let error): error.metricOutcome
            }
        count(errand.channel.route, errand.flight.kind.name, word)
    }

    /// Counts a list; `nil` for one that succeeded.
    func listed(_ route: PushRoute, _ error: BroadcastError?) {
        count(route, "list", error?.metricOutcome ?? "accepted")
    }

    /// Records the number of channels that APNs has of each app.
    func inUse(_ counted: [PushRoute: Int]) {
        counts.withLock { known in
            for (route, count) in counted {
                let meter =
                    known[route]
                    ?? Meter(
                        label: Metric.channelsInUse.name,
                        dimensions: Array(
                            zip(Metric.channelsInUse.labels, [route.app.text, route.environment.rawValue])),
                        factory: factory)
                known[route] = meter
                meter.set(count)
            }
        }
    }

    private func count(_ route: PushRoute, _ kind: String, _ outcome: String) {
        calls.increment(route.app.text, route.environment.rawValue, kind, outcome)
    }
}

extension BroadcastError {
    /// Outcome of a call, as the metric's label says it.
    fileprivate var metricOutcome: String {
        switch code {
        case .refused(let status, _):
            if reason == .featureNotEnabled { return "feature_not_enabled" }
            if reason == .cannotCreateChannelConfig { return "quota" }
            if isChannelGone { return "channel_gone" }
            return switch status {
            case 403: "halted"
            case 429: "slow_down"
            case 500...: "service_trouble"
            default: "refused"
            }
        case .notConfigured: return "halted"
        case .cannotConnect, .refusedByPeer: return "connection"
        case .overloaded, .notSentInTime, .stopping: return "not_sent"
        case .unknownFate, .unexpectedAnswer: return "unknown_fate"
        }
    }
}
