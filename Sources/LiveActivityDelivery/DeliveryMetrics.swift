import APNSModel
package import CoreMetrics
import LiveActivityCore
import Synchronization

/// Metrics of delivery: outcomes, their durations, and pushes that are on their way.
package final class DeliveryMetrics: Sendable {
    /// Labels of a push's outcome. Each comes from a closed list.
    private struct Key: Hashable {
        let app: BundleID
        let environment: APNSEnvironment?
        let kind: String
        let outcome: Outcome
    }

    /// Values of the labels `verdict` and `reason`.
    struct Outcome: Hashable {
        let verdict: String
        let reason: String
    }

    private static let none = "none"

    private let factory: any MetricsFactory
    private let flights: Meter
    private let pushes: Meter
    private let answers: [APNSEnvironment: CoreMetrics.Timer]
    private let lags: [APNSEnvironment: CoreMetrics.Timer]
    private let failedLags: [APNSEnvironment: CoreMetrics.Timer]
    // Bounded: apps come from the configuration, and all other labels from closed lists.
    private let deliveries = Mutex<[Key: Counter]>([:])

    /// - Parameter factory: Factory that stores the metrics. The default is that of the process.
    package init(factory: any MetricsFactory = MetricsSystem.factory) {
        self.factory = factory
        flights = Meter(label: Metric.flightsOpen.name, factory: factory)
        pushes = Meter(label: Metric.pushesInFlight.name, factory: factory)
        answers = Self.timers(.pushAnswer, factory)
        lags = Self.timers(.deliveryLag, factory)
        failedLags = Self.timers(.deliveryFailedLag, factory)
    }

    private static func timers(_ metric: Metric, _ factory: any MetricsFactory) -> [APNSEnvironment: CoreMetrics.Timer]
    {
        let timers = APNSEnvironment.allCases.map { environment in
            let labels = [(metric.labels[0], environment.rawValue)]
            return (environment, CoreMetrics.Timer(label: metric.name, dimensions: labels, factory: factory))
        }
        return Dictionary(timers, uniquingKeysWith: { first, _ in first })
    }

    func flightOpened() { flights.increment() }
    func flightClosed() { flights.decrement() }

    func submitted(_ count: Int) { pushes.increment(by: Double(count)) }

    /// Records the outcome of one push.
    ///
    /// - Parameters:
    ///   - sentAt: Time at which the push was handed to the sender.
    ///   - duration: Time since then.
    func answered(
        _ answer: Result<PushAnswer, PushFailure>, _ seat: Flight.Seat, of flight: Flight, sentAt: UnixTime,
        after duration: Duration
    ) {
        answered(answer, from: seat.environment, after: duration)
        guard let environment = seat.environment, let since = seat.waitingSince(in: flight) else { return }
        let timers: [APNSEnvironment: CoreMetrics.Timer]
        switch answer {
        case .success(let answer) where answer.verdict == .accepted: timers = lags
        // The phone no longer waits, because no push of this state follows.
        case .success(let answer) where answer.verdict.isTheEnd: return
        case .success, .failure: timers = failedLags
        }
        timers[environment]?.recordNanoseconds(max(sentAt + duration - since, .zero).wholeNanoseconds)
    }

    /// Counts the outcomes of one flight. An awaited outcome is counted later, when it is known.
    func settled(_ entries: [SettleFlight.Entry], of flight: Flight) {
        // Most entries of a flight have the same key as the one before.
        var run: (key: Key, count: Int)?
        for entry in entries {
            guard let outcome = Outcome(entry.outcome) else { continue }
            let key = Key(
                app: flight.desired.activity.app, environment: entry.seat.environment,
                kind: entry.seat.plan.kind.name, outcome: outcome)
            if let last = run, last.key == key {
                run?.count += 1
            } else {
                if let last = run { counter(last.key).increment(by: last.count) }
                run = (key, 1)
            }
        }
        if let last = run { counter(last.key).increment(by: last.count) }
    }

    /// Records the outcome of a push of any kind.
    func answered(
        _ answer: Result<PushAnswer, PushFailure>, from environment: APNSEnvironment?, after duration: Duration
    ) {
        pushes.decrement()
        guard case .success = answer, let environment else { return }
        answers[environment]?.recordNanoseconds(duration.wholeNanoseconds)
    }

    /// Counts the outcomes of ordinary notifications.
    func settled(_ entries: [SettleNotifications.Entry]) {
        var counts: [Key: Int] = [:]
        for entry in entries {
            guard let outcome = Outcome(.answered(entry.outcome)) else { continue }
            let notification = entry.seat.notification
            let key = Key(
                app: notification.app, environment: entry.seat.token.environment,
                kind: notification.fallback == nil ? notification.kind.name : "fallback", outcome: outcome)
            counts[key, default: 0] += 1
        }
        for (key, count) in counts { counter(key).increment(by: count) }
    }

    private func counter(_ key: Key) -> Counter {
        deliveries.withLock { known in
            if let counter = known[key] { return counter }
            let values = [
                key.app.text, key.environment?.rawValue ?? Self.none, key.kind, key.outcome.verdict,
                key.outcome.reason,
            ]
            let labels = zip(Metric.deliveries.labels, values).map { ($0, $1) }
            let counter = Counter(label: Metric.deliveries.name, dimensions: labels, factory: factory)
            known[key] = counter
            return counter
        }
    }
}

extension Verdict {
    /// `true` if no push of this state follows, or none until somebody changes something.
    fileprivate var isTheEnd: Bool {
        switch self {
        case .tokenDead, .requestRefused: true
        case .accepted, .slowDown, .serviceTrouble, .renewProviderToken, .keepProviderToken, .newConnection, .halted:
            false
        }
    }
}

extension DeliveryMetrics.Outcome {
    /// Returns `nil` while the answer is awaited.
    init?(_ outcome: SettleFlight.Outcome) {
        switch outcome {
        case .answered(.success(let answer)):
            self.init(
                verdict: Self.word(answer.verdict),
                reason: answer.reason.map { reason in
                    // A reason that Apple does not document must not become a label.
                    if case .known(let known) = reason { known.rawValue } else { "other" }
                } ?? "none")
        case .answered(.failure(let failure)):
            self.init(verdict: Self.word(failure.code), reason: failure.code.rawValue)
        case .notBuilt: self.init(verdict: "parked", reason: "payload")
        case .awaited: return nil
        }
    }

    private static func word(_ verdict: Verdict) -> String {
        switch verdict {
        case .accepted: "accepted"
        case .tokenDead: "token_dead"
        case .slowDown: "slow_down"
        case .serviceTrouble: "service_trouble"
        case .renewProviderToken, .keepProviderToken: "provider_token"
        case .newConnection: "connection"
        case .halted: "halted"
        case .requestRefused: "parked"
        }
    }

    private static func word(_ failure: PushFailure.Code) -> String {
        switch failure {
        case .unknownFate: "unknown_fate"
        case .cannotConnect, .refusedByPeer: "connection"
        case .notSentInTime, .overloaded, .stopping: "not_sent"
        case .notConfigured: "halted"
        }
    }
}

extension Flight.Seat {
    /// Environment of the token that the push goes to; `nil` if the token is gone.
    fileprivate var environment: APNSEnvironment? {
        plan.kind == .start ? phone.pushToStartToken?.environment : phone.updateToken?.environment
    }

    /// Returns the time since which the phone has waited for a state that it gets for the first time.
    ///
    /// A wait that a rule of ours imposed counts from its end: a coalescing window, and for a start also quiet hours, a
    /// budget or a grace.
    ///
    /// - Returns: `nil` if the phone did not wait for delivery, because it joined or got its token later.
    fileprivate func waitingSince(in flight: Flight) -> UnixTime? {
        let changedAt = flight.desired.activity.changedAt
        let tokenAt = plan.kind == .start ? phone.pushToStartToken?.firstSeenAt : phone.updateToken?.firstSeenAt
        guard phone.card.sentRevision < plan.revision, phone.card.revisions.contradictions == 0,
            // A state that the app set itself stays for its minute.
            phone.card.lead == nil || phone.card.shownRevision < plan.revision,
            phone.card.createdAt <= changedAt, tokenAt.map({ $0 <= changedAt }) == true
        else { return nil }
        let mayLeaveAt = flight.desired.activity.mayLeaveAt(
            claimedAt: flight.record.claimedAt, window: flight.desired.type.policy.coalescingWindow)
        guard plan.kind == .start, phone.card.attempts.tries == 0, let putOffTo = phone.card.lookAt else {
            return mayLeaveAt
        }
        return max(mayLeaveAt, putOffTo)
    }
}
