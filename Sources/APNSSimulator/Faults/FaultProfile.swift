/// A named sequence of faults, as they happened on real days.
public enum FaultProfile: String, Sendable, Hashable, CaseIterable {
    /// Apple's service fails in one way after the other, and recovers at the end.
    case badDay = "bad-day"

    /// One part of a profile.
    public struct Phase: Sendable {
        /// A short name of what happens.
        public let name: String
        /// Begin and end, as shares of the whole time.
        public let share: Range<Double>
        /// The faults of pushes in this part; empty for none.
        fileprivate let effects: [(effect: FaultRule.Effect, probability: Double)]
    }

    static let usual = Duration.seconds(1200)

    /// The parts of the profile in order, over the whole time.
    public var phases: [Phase] {
        switch self {
        case .badDay:
            [
                Phase(name: "well", share: 0..<0.1, effects: []),
                Phase(
                    name: "5xx", share: 0.1..<0.3,
                    effects: [
                        (.refuse(status: 500, reason: "InternalServerError"), 0.4),
                        (.refuse(status: 503, reason: "ServiceUnavailable"), 0.6),
                    ]),
                Phase(
                    name: "429", share: 0.3..<0.5,
                    effects: [(.refuse(status: 429, reason: "TooManyRequests"), 0.7)]),
                Phase(
                    name: "one stream", share: 0.5..<0.7,
                    effects: [(.limitStreams(1), 0.2), (.slow(.milliseconds(200)), 1)]),
                Phase(
                    name: "silence", share: 0.7..<0.9,
                    effects: [
                        (.limitStreams(1000), 0.05), (.stall, 0.25), (.loseAnswer(.silence), 0.2),
                        (.goAway(reason: "Shutdown", last: .previous), 0.01), (.loseAnswer(.abort), 0.01),
                    ]),
                Phase(name: "well again", share: 0.9..<1, effects: [(.limitStreams(1000), 0.05)]),
            ]
        }
    }

    /// Returns the rules of the profile for a run of this length, from the moment they are set.
    public func rules(over time: Duration) -> [FaultRule] {
        phases.flatMap { phase in
            phase.effects.map { effect, probability in
                var rule = FaultRule(effect)
                rule.probability = probability
                rule.after = time * phase.share.lowerBound
                rule.lasting = time * (phase.share.upperBound - phase.share.lowerBound)
                return rule
            }
        }
    }
}
