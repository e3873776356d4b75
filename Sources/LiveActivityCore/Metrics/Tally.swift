package import APNSModel

/// Counts of commands. The store adds them to its totals when the commands are committed, and drops them otherwise.
package struct Tally: Sendable, Equatable {
    /// Counted event. No case contains values that callers choose: apps and types come from the configuration.
    package enum Event: Hashable, Sendable {
        /// A phone reported the content that a card shows.
        case confirmation(BundleID, Confirmation)
        /// An inventory sent after a start's expiration does not list its card.
        case startAbsent(BundleID, type: String)
        case tokenDead(BundleID, EventRecord.Subject, Reason.Code)
        /// A push will be retried.
        case retry(BundleID, Reason.Code)
        /// A person opened the app by tapping a card.
        case opened(BundleID, type: String)
        /// A start was delayed because the phone's estimated budget of starts is used up.
        case startPutOff(BundleID, type: String)
    }

    /// Measured value.
    package enum Measure: Hashable, Sendable {
        /// Seconds from the claim of a start to the phone's report of its card.
        case startConfirmed(BundleID, type: String)
        /// Fraction of a phone's budget that is left after a push, relative to what it may get at once.
        case budgetLeft(BundleID, BudgetRecord.Kind)

        package var metric: Metric {
            switch self {
            case .startConfirmed: .startConfirmation
            case .budgetLeft: .budgetLeft
            }
        }
    }

    /// Comparison of a reported card's content with what was sent.
    package enum Confirmation: String, Sendable, CaseIterable {
        /// The card shows the newest state.
        case held
        /// The card shows another state than it was sent.
        case contradicted
        /// The app changed the card itself.
        case local
    }

    package private(set) var counts: [Event: Int] = [:]
    package private(set) var measures: [Measure: BucketCounts] = [:]

    package init() {}

    package var isEmpty: Bool { counts.isEmpty && measures.isEmpty }

    package mutating func count(_ event: Event, _ times: Int = 1) {
        counts[event, default: 0] += times
        if counts[event] == 0 { counts[event] = nil }
    }

    package mutating func observe(_ measure: Measure, _ value: Double) {
        measures[measure, default: BucketCounts(bounds: measure.metric.bounds)].observe(value)
    }

    mutating func restore(_ measure: Measure, _ old: BucketCounts?) { measures[measure] = old }

    package mutating func add(_ other: Tally) {
        for (event, times) in other.counts { count(event, times) }
        for (measure, buckets) in other.measures {
            measures[measure, default: BucketCounts(bounds: measure.metric.bounds)].add(buckets)
        }
    }
}
