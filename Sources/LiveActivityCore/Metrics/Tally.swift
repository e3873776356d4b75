package import APNSModel

/// What commands count: the store adds it to its totals when they are committed, and none of it where they are not.
package struct Tally: Sendable, Equatable {
    /// What happens. No case holds what callers make up: apps and types are those of the configuration.
    package enum Event: Hashable, Sendable {
        /// A phone reported the content that a card shows.
        case confirmation(BundleID, Confirmation)
        /// An inventory that was sent after a start's expiration lacks its card.
        case startAbsent(BundleID, type: String)
        case tokenDead(BundleID, EventRecord.Subject, Reason.Code)
        /// A push is to be tried again.
        case retry(BundleID, Reason.Code)
        /// A person opened the app by a card.
        case opened(BundleID, type: String)
        /// A start was put off, since our estimate of what the phone lets through is used up.
        case startPutOff(BundleID, type: String)
    }

    /// What is measured.
    package enum Measure: Hashable, Sendable {
        /// Seconds from the claim of a start to the phone's report of its card.
        case startConfirmed(BundleID, type: String)
        /// What is left of a phone's budget after a push, as a share of what it may get at once.
        case budgetLeft(BundleID, BudgetRecord.Kind)

        package var metric: Metric {
            switch self {
            case .startConfirmed: .startConfirmation
            case .budgetLeft: .budgetLeft
            }
        }
    }

    /// What a phone's report of a card's content says of what it was sent.
    package enum Confirmation: String, Sendable, CaseIterable {
        /// It shows the newest state.
        case held
        /// It shows another state than it was sent.
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
