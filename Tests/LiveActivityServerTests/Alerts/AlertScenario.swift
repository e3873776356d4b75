import APNSModel
import LiveActivityCore

@testable import LiveActivityServer

/// Half an hour in which one fault follows another, as metrics of each second.
struct AlertScenario {
    static let app = "com.acme.pizza"
    static let end = 1800
    static let step = 15

    /// Returns the value of a counter that grows at this rate within a range of time.
    private func grown(_ rate: Double, _ range: Range<Int>, at second: Int) -> Double {
        rate * Double(min(max(second - range.lowerBound, 0), range.count))
    }

    private func deliveries(at second: Int) -> MetricFamily {
        var series: [MetricFamily.Series] = []
        func add(_ verdict: String, _ reason: String, _ count: Double) {
            // A series begins with its first event.
            guard count > 0 else { return }
            series.append(.init([Self.app, "production", "update", verdict, reason], .number(count)))
        }
        add("accepted", "none", 3000 + grown(10, 0..<900, at: second) + grown(10, 1200..<1800, at: second))
        add("unknown_fate", "unknownFate", grown(10, 912..<1200, at: second))
        add("slow_down", "TooManyRequests", second >= 610 ? 1 : 0)
        add("token_dead", "Unregistered", 30 + grown(1, 1320..<1380, at: second))
        add("halted", "InvalidProviderToken", 1 + grown(1, 1500..<1503, at: second))
        return MetricFamily(.deliveries, series)
    }

    private func lag(
        _ metric: Metric, _ rate: Double, _ range: [Range<Int>], _ seconds: Double, at second: Int
    )
        -> MetricFamily
    {
        var buckets = BucketCounts(bounds: metric.bounds)
        let count = range.reduce(0) { $0 + grown(rate, $1, at: second) }
        for _ in 0..<Int(count) { buckets.observe(seconds) }
        return MetricFamily(
            metric,
            [
                .init(["production"], .buckets(buckets)),
                .init(["sandbox"], .buckets(BucketCounts(bounds: metric.bounds))),
            ])
    }

    private func phones(at second: Int) -> [MetricFamily] {
        var confirmed = BucketCounts(bounds: Metric.startConfirmation.bounds)
        for _ in 0..<Int(10 + grown(0.1, 0..<600, at: second)) { confirmed.observe(3) }
        return [
            MetricFamily(
                .confirmations,
                [
                    .init([Self.app, "held"], .number(50 + grown(0.1, 0..<1800, at: second))),
                    .init([Self.app, "contradicted"], .number(grown(1, 300..<320, at: second))),
                    .init([Self.app, "local"], .number(0)),
                ]),
            MetricFamily(.startsAbsent, [.init([Self.app, "Order"], .number(grown(1, 700..<740, at: second)))]),
            MetricFamily(.startConfirmation, [.init([Self.app, "Order"], .buckets(confirmed))]),
        ]
    }

    /// Refusals because the app may not use channels, and because it may have no more.
    private func channelCalls(at second: Int) -> MetricFamily {
        var series: [MetricFamily.Series] = []
        if second >= 800 {
            series.append(.init([Self.app, "production", "list", "feature_not_enabled"], .number(1)))
        }
        if second >= 1200 { series.append(.init([Self.app, "production", "create", "quota"], .number(1))) }
        return MetricFamily(.channelCalls, series)
    }

    func families(at second: Int) -> [MetricFamily] {
        let isOff = (400..<700).contains(second)
        let skew = (600..<1200).contains(second) ? -20.0 : 0.25
        let trouble = (915..<1200).contains(second) ? Double(second - 915) : 0
        return [
            deliveries(at: second), lag(.deliveryLag, 1, [0..<900, 1200..<1800], 0.2, at: second),
            lag(.deliveryFailedLag, 1, [912..<1200], 12, at: second),
            MetricFamily(.apnsTrouble, [.init([Self.app, "production"], .number(trouble))]),
            MetricFamily(.queueAge, [.init([], .number((1300..<1600).contains(second) ? 40 : 0))]),
            MetricFamily(
                .storeFailures,
                [.init(["read"], .number(1)), .init(["write"], .number(grown(1, 1000..<1010, at: second)))]),
            MetricFamily(.storeWriting, [.init([], .number((200..<290).contains(second) ? Double(second - 200) : 0))]),
            channelCalls(at: second),
            MetricFamily(
                .channelsInUse,
                [.init([Self.app, "production"], .number((400..<900).contains(second) ? 8100 : 7999))]),
            MetricFamily(.channelQueueAge, [.init([], .number((1300..<1600).contains(second) ? 40 : 0))]),
            MetricFamily(.webhookOff, [.init([Self.app, "backend"], .number(isOff ? 1 : 0))]),
            MetricFamily(.webhookDead, [.init([Self.app, "backend"], .number(isOff ? 7 : 0))]),
            MetricFamily(
                .configurationRefused, [.init([], .number((500..<700).contains(second) ? 1 : 0))]),
            MetricFamily(.apnsClockSkew, [.init(["production"], .number(skew))]),
        ] + phones(at: second)
    }

    /// Returns the firing alerts at each requested time, as the server computes them.
    func firing(every interval: Int) -> [Int: Set<String>] {
        var (window, book) = (AlertWindow(), AlertBook())
        var firing: [Int: Set<String>] = [:]
        for second in stride(from: 0, through: Self.end, by: Self.step) {
            let now = MonotonicTime(nanoseconds: 0) + .seconds(second)
            window.add(families(at: second), at: now)
            _ = book.evaluate(AlertRule.all, in: window, at: now, wall: UnixTime(seconds: Int64(second)))
            guard second.isMultiple(of: interval) else { continue }
            firing[second] = Set(
                book.firing(in: AlertRule.all).map { alert in
                    ([alert.rule] + alert.labels.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" })
                        .joined(separator: " ")
                })
        }
        return firing
    }
}
