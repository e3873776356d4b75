import LiveActivityCore

/// Metrics in Prometheus's text format, summed over their labels.
struct MetricsText: Sendable {
    private var sums: [Substring: Double] = [:]
    /// Counts of a histogram's values up to each upper bound, by the name of the histogram.
    private var buckets: [Substring: [Double: Double]] = [:]

    private static let bucket = "_bucket"
    private static let bound = #"le=""#

    /// Parses the text. Lines that are not samples, such as comments, are ignored.
    init(_ text: String) {
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            let name = line.prefix { $0 != "{" && $0 != " " }
            // Label values may contain blanks and braces, so the search for the value begins at the end.
            let rest = line.lastIndex(of: "}").map { line[line.index(after: $0)...] } ?? line.dropFirst(name.count)
            guard let value = rest.split(separator: " ").first.flatMap({ Double($0) }) else { continue }
            sums[name, default: 0] += value
            let labels = line.dropFirst(name.count).dropLast(rest.count)
            guard name.hasSuffix(Self.bucket), let place = labels.firstRange(of: Self.bound),
                let bound = Double(labels[place.upperBound...].prefix { $0 != "\"" })
            else { continue }
            buckets[name.dropLast(Self.bucket.count), default: [:]][bound, default: 0] += value
        }
    }

    /// Sum of a metric's samples, or `nil` if there is none.
    subscript(name: String) -> Double? { sums[name[...]] }

    /// Returns the growth of a counter since an earlier reading, or `nil` if it is missing now.
    ///
    /// A counter that was missing then counts from 0.
    func growth(of name: String, since before: MetricsText) -> Double? {
        self[name].map { $0 - (before[name] ?? 0) }
    }

    /// Returns what a histogram has counted since an earlier reading.
    func buckets(of name: String, since before: MetricsText) -> CumulativeBuckets {
        let old = before.buckets[name[...]] ?? [:]
        return CumulativeBuckets(
            (buckets[name[...]] ?? [:]).reduce(into: [:]) { $0[$1.key] = $1.value - old[$1.key, default: 0] })
    }
}
