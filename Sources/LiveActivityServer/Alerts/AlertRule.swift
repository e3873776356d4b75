import APNSModel
import LiveActivityCore

/// A rule that says when somebody should act, and on what.
struct AlertRule: Sendable {
    enum Severity: String, Sendable, CaseIterable {
        /// Act now.
        case page
        /// Act on a working day.
        case ticket
    }

    let name: String
    /// The condition. The rule fires for every label set for which it has a value.
    let expression: AlertExpression
    /// Time for which the expression must have a value before the alert fires.
    var lasts = Duration.zero
    let severity: Severity
    /// A summary of one line. `{{ $labels.app }}` and `{{ $value }}` have the same meaning as in Prometheus.
    let summary: String
    /// The meaning of the alert, and what to do.
    let meaning: String
}

/// An alert whose expression has a value. It fires once this has lasted as long as its rule requires.
struct ActiveAlert: Sendable, Equatable {
    let rule: String
    let labels: [String: String]
    var value: Double
    /// The time since which the expression has had a value.
    let since: UnixTime
    let began: MonotonicTime
    var fires: Bool
}

/// The state of all alerts, as Prometheus keeps it: which are active, and since when.
///
/// It is a pure machine.
struct AlertBook: Sendable {
    /// A change to write to the log.
    enum Change: Sendable, Equatable {
        case fires(ActiveAlert)
        case isOver(ActiveAlert)
    }

    private struct Key: Hashable {
        let rule: String
        let labels: [String: String]
    }

    private var active: [Key: ActiveAlert] = [:]
    /// The time of the last evaluation. `nil` if there was none yet.
    private(set) var evaluatedAt: UnixTime?

    /// Returns the alerts that fire, in the order of the rules.
    func firing(in rules: [AlertRule]) -> [ActiveAlert] {
        let order = Dictionary(
            rules.enumerated().map { ($0.element.name, $0.offset) }, uniquingKeysWith: { first, _ in first })
        return active.values.filter(\.fires).sorted { left, right in
            let (first, second) = (order[left.rule] ?? .max, order[right.rule] ?? .max)
            return first != second ? first < second : left.order < right.order
        }
    }

    /// The number of firing alerts of each rule.
    var counts: [String: Int] {
        active.values.reduce(into: [:]) { counts, alert in counts[alert.rule, default: 0] += alert.fires ? 1 : 0 }
    }

    mutating func evaluate(
        _ rules: [AlertRule], in window: AlertWindow, at now: MonotonicTime, wall: UnixTime
    ) -> [Change] {
        var changes: [Change] = []
        var seen: Set<Key> = []
        for rule in rules {
            for (labels, value) in rule.expression.values(in: window) {
                let key = Key(rule: rule.name, labels: labels)
                seen.insert(key)
                var alert =
                    active[key]
                    ?? ActiveAlert(
                        rule: rule.name, labels: labels, value: value, since: wall, began: now, fires: false)
                alert.value = value
                if !alert.fires, now - alert.began >= rule.lasts {
                    alert.fires = true
                    changes.append(.fires(alert))
                }
                active[key] = alert
            }
        }
        for (key, alert) in active where !seen.contains(key) {
            active[key] = nil
            if alert.fires { changes.append(.isOver(alert)) }
        }
        evaluatedAt = wall
        return changes
    }
}

extension ActiveAlert {
    fileprivate var order: String { labels.sorted { $0.key < $1.key }.map(\.value).joined(separator: " ") }

    /// Returns a rule's text with this alert's values filled in.
    func text(_ words: String) -> String {
        var text = words.replacing("{{ $value }}", with: Self.short(value))
        for (label, value) in labels { text = text.replacing("{{ $labels.\(label) }}", with: value) }
        return text
    }

    private static func short(_ value: Double) -> String {
        guard value.isFinite else { return "\(value)" }
        return AlertExpression.text(abs(value) >= 100 ? value.rounded() : (value * 1000).rounded() / 1000)
    }
}
