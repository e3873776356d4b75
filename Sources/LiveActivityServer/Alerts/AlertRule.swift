import APNSModel
import LiveActivityCore

/// When somebody should look, and at what.
struct AlertRule: Sendable {
    enum Severity: String, Sendable, CaseIterable {
        /// Now.
        case page
        /// On a working day.
        case ticket
    }

    let name: String
    /// It is so where this has a value; of each set of labels by itself.
    let expression: AlertExpression
    /// It is to be so for this long before the alert fires.
    var lasts = Duration.zero
    let severity: Severity
    /// In a line; `{{ $labels.app }}` and `{{ $value }}` stand for what they stand for in Prometheus.
    let summary: String
    /// What it means, and what to do.
    let meaning: String
}

/// One alert that is so, or has been so for less than its rule wants.
struct ActiveAlert: Sendable, Equatable {
    let rule: String
    let labels: [String: String]
    var value: Double
    /// Since when it is so.
    let since: UnixTime
    let began: MonotonicTime
    var fires: Bool
}

/// Which rules are so, and since when: what Prometheus keeps of them.
///
/// A pure machine.
struct AlertBook: Sendable {
    /// What is worth a line in a log.
    enum Change: Sendable, Equatable {
        case fires(ActiveAlert)
        case isOver(ActiveAlert)
    }

    private struct Key: Hashable {
        let rule: String
        let labels: [String: String]
    }

    private var active: [Key: ActiveAlert] = [:]
    /// When the rules were last looked at; `nil`: not yet.
    private(set) var evaluatedAt: UnixTime?

    /// In the order of the rules.
    func firing(in rules: [AlertRule]) -> [ActiveAlert] {
        let order = Dictionary(
            rules.enumerated().map { ($0.element.name, $0.offset) }, uniquingKeysWith: { first, _ in first })
        return active.values.filter(\.fires).sorted { left, right in
            let (first, second) = (order[left.rule] ?? .max, order[right.rule] ?? .max)
            return first != second ? first < second : left.order < right.order
        }
    }

    /// How many alerts of each rule fire.
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

    /// A rule's words about it.
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
