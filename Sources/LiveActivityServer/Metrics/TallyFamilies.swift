import APNSModel
import LiveActivityCore
import LiveActivityStorage
import Synchronization

/// The figures that committed commands counted, as metrics.
struct TallyFamilies {
    let all: [MetricFamily]

    /// - Parameter apps: The configured apps. Counters by which a rule divides exist from the start with 0.
    init(_ tally: Tally, _ apps: [BundleID: AppSettings]) {
        var counts: [Metric: [[String]: Int]] = [:]
        for app in apps.values {
            for outcome in Tally.Confirmation.allCases {
                counts[.confirmations, default: [:]][[app.bundleID.text, outcome.rawValue]] = 0
            }
            for type in app.types.keys {
                counts[.startsAbsent, default: [:]][[app.bundleID.text, type]] = 0
                counts[.startsPutOff, default: [:]][[app.bundleID.text, type]] = 0
            }
        }
        for (event, times) in tally.counts {
            let (metric, labels) = event.series
            counts[metric, default: [:]][labels, default: 0] += times
        }
        var buckets: [Metric: [MetricFamily.Series]] = [:]
        for app in apps.values {
            for type in app.types.keys where tally.measures[.startConfirmed(app.bundleID, type: type)] == nil {
                buckets[.startConfirmation, default: []].append(
                    .init([app.bundleID.text, type], .buckets(BucketCounts(bounds: Metric.startConfirmation.bounds))))
            }
        }
        for (measure, counted) in tally.measures {
            buckets[measure.metric, default: []].append(.init(measure.labels, .buckets(counted)))
        }
        all =
            counts.map { metric, series in
                MetricFamily(metric, series.map { .init($0.key, .number(Double($0.value))) })
            } + buckets.map { MetricFamily($0.key, $0.value) }
    }
}

extension Tally.Event {
    fileprivate var series: (Metric, [String]) {
        switch self {
        case .confirmation(let app, let outcome): (.confirmations, [app.text, outcome.rawValue])
        case .startAbsent(let app, let type): (.startsAbsent, [app.text, type])
        case .opened(let app, let type): (.opens, [app.text, type])
        case .tokenDead(let app, let token, let reason): (.tokensDead, [app.text, token.rawValue, reason.rawValue])
        case .retry(let app, let reason): (.retries, [app.text, reason.rawValue])
        case .startPutOff(let app, let type): (.startsPutOff, [app.text, type])
        }
    }
}

extension Tally.Measure {
    fileprivate var labels: [String] {
        switch self {
        case .startConfirmed(let app, let type): [app.text, type]
        case .budgetLeft(let app, let kind): [app.text, "\(kind)"]
        }
    }
}

/// Number of devices. It is counted again only after ``interval``, because a count examines every device.
typealias Census = SharedReading<[BundleID: Int], StorageError>

extension Census {
    static var interval: Duration { .seconds(300) }
}
