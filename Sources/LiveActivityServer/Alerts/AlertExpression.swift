import LiveActivityCore

/// A rule's question to the metrics, in the part of PromQL that Islet's rules need.
///
/// It is written as PromQL for Prometheus, and evaluated here with the same result.
indirect enum AlertExpression: Sendable {
    /// The newest value of each series.
    case latest(AlertSelector)
    /// The growth of each counter within a time.
    case increase(AlertSelector, Duration)
    /// The growth of each counter within a time, where a counter that began within that time counts from 0.
    ///
    /// So the first occurrence is not missed.
    case growth(AlertSelector, Duration)
    /// The growth of each counter within a time, per second.
    case rate(AlertSelector, Duration)
    case sum(by: [String], AlertExpression)
    /// A quantile of histograms, computed from their buckets.
    case quantile(Double, AlertExpression)
    case absolute(AlertExpression)
    case scaled(Double, AlertExpression)
    case plus(AlertExpression, AlertExpression)
    case over(AlertExpression, AlertExpression)
    /// The values above a level.
    case above(AlertExpression, Double)
    /// The values above those of the same labels in another expression.
    case aboveThose(AlertExpression, AlertExpression)
    /// The values whose labels the other expression has too.
    case and(AlertExpression, AlertExpression)
    /// The values of both expressions. Where both have the same labels, that of the first counts.
    case or(AlertExpression, AlertExpression)
}

/// A selection of a metric's series.
struct AlertSelector: Sendable, Hashable {
    enum Part: String, Sendable, Hashable {
        case whole = ""
        case buckets = "_bucket"
        case count = "_count"
    }

    struct Matcher: Sendable, Hashable {
        let label: String
        let values: [String]
        /// `true` to match all values except these.
        var isExclusion = false

        func matches(_ value: String?) -> Bool { values.contains(value ?? "") != isExclusion }
    }

    let metric: Metric
    var part = Part.whole
    var matchers: [Matcher] = []

    init(_ metric: Metric, _ part: Part = .whole) {
        self.metric = metric
        self.part = part
    }

    func with(_ label: String, _ values: String...) -> Self {
        var selector = self
        selector.matchers.append(Matcher(label: label, values: values))
        return selector
    }

    func without(_ label: String, _ values: String...) -> Self {
        var selector = self
        selector.matchers.append(Matcher(label: label, values: values, isExclusion: true))
        return selector
    }
}

extension AlertExpression {
    /// Every metric that the expression reads.
    var metrics: Set<Metric> {
        switch self {
        case .latest(let selector), .increase(let selector, _), .growth(let selector, _), .rate(let selector, _):
            [selector.metric]
        case .sum(_, let inner), .quantile(_, let inner), .absolute(let inner), .scaled(_, let inner),
            .above(let inner, _):
            inner.metrics
        case .plus(let left, let right), .over(let left, let right), .aboveThose(let left, let right),
            .and(let left, let right), .or(let left, let right):
            left.metrics.union(right.metrics)
        }
    }
}

// MARK: - As PromQL

extension AlertSelector {
    var promQL: String {
        guard !matchers.isEmpty else { return metric.name + part.rawValue }
        let list = matchers.map { matcher in
            let word =
                switch (matcher.isExclusion, matcher.values.count > 1) {
                case (false, false): "="
                case (true, false): "!="
                case (false, true): "=~"
                case (true, true): "!~"
                }
            return #"\#(matcher.label)\#(word)"\#(matcher.values.joined(separator: "|"))""#
        }
        return "\(metric.name)\(part.rawValue){\(list.joined(separator: ","))}"
    }
}

extension AlertExpression {
    /// The PromQL text. A comparison or a conjunction takes several lines.
    var promQL: String {
        switch self {
        case .latest(let selector): selector.promQL
        case .increase(let selector, let window): "increase(\(selector.promQL)[\(Self.text(window))])"
        case .growth(let selector, let window):
            "(increase(\(selector.promQL)[\(Self.text(window))]) > 0\n"
                + "  or (\(selector.promQL) unless \(selector.promQL) offset \(Self.text(window))))"
        case .rate(let selector, let window): "rate(\(selector.promQL)[\(Self.text(window))])"
        case .sum(let labels, let inner): "sum by (\(labels.joined(separator: ", "))) (\(inner.promQL))"
        case .quantile(let share, let inner): "histogram_quantile(\(Self.text(share)), \(inner.promQL))"
        case .absolute(let inner): "abs(\(inner.promQL))"
        case .scaled(let factor, let inner): "\(Self.text(factor)) * \(inner.promQL)"
        case .plus(let left, let right): "\(left.promQL)\n  + \(right.promQL)"
        case .over(let left, let right): "\(left.promQL)\n  / \(right.promQL)"
        case .above(let inner, let level): "\(inner.promQL) > \(Self.text(level))"
        case .aboveThose(let left, let right): "\(left.promQL)\n  > \(right.promQL)"
        case .and(let left, let right): "\(left.promQL)\nand \(right.promQL)"
        case .or(let left, let right): "\(left.promQL)\nor \(right.promQL)"
        }
    }

    static func text(_ number: Double) -> String { Int(exactly: number).map { "\($0)" } ?? "\(number)" }

    /// Returns the text of a duration in the largest unit that divides it: `90s`, `5m`, `1h`, `1d`.
    static func text(_ duration: Duration) -> String {
        let seconds = duration.components.seconds
        for (unit, size) in [("d", Int64(86_400)), ("h", 3600), ("m", 60)] where seconds % size == 0 && seconds > 0 {
            return "\(seconds / size)\(unit)"
        }
        return "\(seconds)s"
    }
}
