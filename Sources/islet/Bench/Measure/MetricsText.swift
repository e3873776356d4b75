/// Metrics in Prometheus's text format, summed over their labels.
struct MetricsText: Sendable {
    private var sums: [Substring: Double] = [:]

    /// Lines that are not samples, comments among them, are passed over.
    init(_ text: String) {
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            let name = line.prefix { $0 != "{" && $0 != " " }
            // Values of labels may hold blanks and braces, so that the sample is looked for from the end.
            let rest = line.lastIndex(of: "}").map { line[line.index(after: $0)...] } ?? line.dropFirst(name.count)
            guard let value = rest.split(separator: " ").first.flatMap({ Double($0) }) else { continue }
            sums[name, default: 0] += value
        }
    }

    /// The sum of a metric's samples; nil when there is none.
    subscript(name: String) -> Double? { sums[name[...]] }

    /// How much a counter has grown since; nil when it is not there now. One that was not there then began at 0.
    func growth(of name: String, since before: MetricsText) -> Double? {
        self[name].map { $0 - (before[name] ?? 0) }
    }
}
