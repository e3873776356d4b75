package import LiveActivityCore

/// A metric with its series and their current values.
package struct MetricFamily: Sendable, Equatable {
    package enum Value: Sendable, Equatable {
        case number(Double)
        case buckets(BucketCounts)
    }

    package struct Series: Sendable, Equatable {
        /// The values of the metric's labels, in their order.
        package let labels: [String]
        package let value: Value

        package init(_ labels: [String], _ value: Value) {
            self.labels = labels
            self.value = value
        }
    }

    package let metric: Metric
    package let series: [Series]

    package init(_ metric: Metric, _ series: [Series]) {
        self.metric = metric
        self.series = series
    }

    /// Creates a metric without labels, which has one series.
    init(_ metric: Metric, _ number: Double) {
        self.init(metric, [Series([], .number(number))])
    }

    init(_ metric: Metric, _ number: Int) {
        self.init(metric, Double(number))
    }
}

/// The text format of Prometheus, version 0.0.4, in a fixed order.
///
/// https://prometheus.io/docs/instrumenting/exposition_formats/
package enum PrometheusText {
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    package static func write(_ families: [MetricFamily]) -> String {
        var text = ""
        for family in families.sorted(by: { $0.metric.name < $1.metric.name }) {
            let metric = family.metric
            text += "# HELP \(metric.name) \(escaped(metric.help, quotes: false))\n"
            text += "# TYPE \(metric.name) \(metric.kind.rawValue)\n"
            for series in family.series.sorted(by: { $0.labels.lexicographicallyPrecedes($1.labels) }) {
                write(metric, series, to: &text)
            }
        }
        return text
    }

    private static func write(_ metric: Metric, _ series: MetricFamily.Series, to text: inout String) {
        let labels = zip(metric.labels, series.labels).map { #"\#($0)="\#(escaped($1, quotes: true))""# }
        switch series.value {
        case .number(let value): line(metric.name, labels, number(value), to: &text)
        case .buckets(let buckets):
            var running = 0
            for (bound, count) in zip(buckets.bounds + [.infinity], buckets.counts) {
                running += count
                line("\(metric.name)_bucket", labels + [#"le="\#(number(bound))""#], String(running), to: &text)
            }
            line("\(metric.name)_sum", labels, number(buckets.sum), to: &text)
            line("\(metric.name)_count", labels, String(running), to: &text)
        }
    }

    private static func line(_ name: String, _ labels: [String], _ value: String, to text: inout String) {
        text += name
        if !labels.isEmpty { text += "{\(labels.joined(separator: ","))}" }
        text += " \(value)\n"
    }

    /// Escapes backslashes and line feeds, and in a label's value also quotation marks.
    private static func escaped(_ text: String, quotes: Bool) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += #"\\"#
            case "\n": result += #"\n"#
            case "\"" where quotes: result += #"\""#
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func number(_ value: Double) -> String {
        if value == .infinity { return "+Inf" }
        if value == -.infinity { return "-Inf" }
        if value.isNaN { return "NaN" }
        return Int64(exactly: value).map { String($0) } ?? "\(value)"
    }
}
