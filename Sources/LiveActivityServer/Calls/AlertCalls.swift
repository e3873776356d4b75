import APNSModel
import LiveActivityAPI
import LiveActivityCore

/// The calls about alerts.
enum AlertCalls {
    /// `GET /v1/alerts`: returns the firing alerts of the caller's app and of the whole server.
    @Sendable static func list(_ call: Call) async throws(Problem) -> Answer {
        let (book, app) = (call.services.alerts.book, call.app.bundleID.text)
        let rules = Dictionary(AlertRule.all.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        let alerts = book.firing(in: AlertRule.all).compactMap { alert -> AlertList.Alert? in
            guard alert.labels["app"] ?? app == app, let rule = rules[alert.rule] else { return nil }
            return AlertList.Alert(
                name: alert.rule, severity: rule.severity.rawValue, since: Instant(alert.since),
                value: alert.value.isFinite ? alert.value : 0, labels: alert.labels,
                summary: alert.text(rule.summary), meaning: rule.meaning)
        }
        return try Answer(AlertList(evaluatedAt: book.evaluatedAt.map { Instant($0) }, alerts: alerts))
    }
}
