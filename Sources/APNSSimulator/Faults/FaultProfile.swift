/// Faults that follow each other, as on days that were.
public enum FaultProfile: String, Sendable, Hashable, CaseIterable {
    /// Apple's service fails in each of its ways, one after the other, and is well again in the end.
    case badDay = "bad-day"

    /// One part of it.
    public struct Phase: Sendable {
        /// What happens, in few words.
        public let name: String
        /// When it begins and ends, as shares of the whole.
        public let share: Range<Double>
        /// What happens to pushes meanwhile; nothing when empty.
        fileprivate let effects: [(effect: FaultRule.Effect, probability: Double)]
    }

    static let usual = Duration.seconds(1200)

    /// Its parts in order, over the whole of it.
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

    /// Its rules, for a run over that time from the moment they are ordered.
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
