import APNSModel
import LiveActivityCore
import LiveActivityStorage
import Logging
import ServiceLifecycle
import Synchronization

/// The current alerts, for everybody who asks.
final class AlertBoard: Sendable {
    private struct State {
        var window = AlertWindow()
        var book = AlertBook()
    }

    private let state = Mutex(State())

    var book: AlertBook { state.withLock(\.book) }

    func take(_ families: [MetricFamily], at now: MonotonicTime, wall: UnixTime) -> [AlertBook.Change] {
        state.withLock { state in
            state.window.add(families, at: now)
            return state.book.evaluate(AlertRule.all, in: state.window, at: now, wall: wall)
        }
    }
}

/// A service that evaluates the rules of `docs/alerts.yml` every few seconds, so alerts work without Prometheus.
package struct AlertWatch: Service {
    let services: Services
    let clock: any Clock<Duration>

    /// Metrics that are counted row by row. They are read only in every fourth evaluation.
    private static let costly: Set<Metric> = [.webhookWaiting, .webhookBehind, .webhookDead, .webhookOff]
    private static let costlyEvery = 4
    private static let metrics = AlertRule.all.reduce(into: Set<Metric>()) { $0.formUnion($1.expression.metrics) }

    private let kept = Kept()

    /// The families that are not read in each evaluation.
    private final class Kept: Sendable {
        let state = Mutex<(looks: Int, families: [MetricFamily])>((0, []))
    }

    init(services: Services, clock: any Clock<Duration>) {
        self.services = services
        self.clock = clock
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await step()
                try? await clock.sleep(for: AlertRule.interval)
            }
        }
    }

    /// Evaluates the rules once.
    package func step() async {
        guard let sources = services.metrics else { return }
        let isCostly = kept.state.withLock { kept in
            defer { kept.looks += 1 }
            return kept.looks.isMultiple(of: Self.costlyEvery)
        }
        let wanted = isCostly ? Self.metrics : Self.metrics.subtracting(Self.costly)
        var families = await MetricsPage(sources: sources, services: services, saysFailures: false).families(
            wanted)
        if isCostly {
            let fresh = families.filter { Self.costly.contains($0.metric) }
            kept.state.withLock { $0.families = fresh }
        } else {
            families += kept.state.withLock(\.families)
        }
        for change in services.alerts.take(families, at: services.time.monotonic(), wall: services.time.wall()) {
            log(change)
        }
    }

    private func log(_ change: AlertBook.Change) {
        switch change {
        case .fires(let alert):
            guard let rule = AlertRule.all.first(where: { $0.name == alert.rule }) else { return }
            services.logger.log(
                level: rule.severity == .page ? .warning : .notice, "an alert fires",
                metadata: ["alert": "\(alert.rule)", "summary": "\(alert.text(rule.summary))"])
        case .isOver(let alert): services.logger.notice("an alert is over", metadata: ["alert": "\(alert.rule)"])
        }
    }
}
