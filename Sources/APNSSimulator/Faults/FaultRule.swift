public import APNSModel
import IsletBasics

/// A fault on demand: the pushes that it affects, and its effect. The first rule that matches a push decides.
public struct FaultRule: Sendable, Hashable {
    /// Matches only pushes to this phone's tokens.
    public var phone: PhoneID?
    /// Matches only tokens that start with this hexadecimal text.
    public var tokenPrefix: String?
    /// Matches only this `event`: start, update or end.
    public var event: String?
    /// Matches only this `apns-topic`.
    public var topic: String?
    /// Matches only broadcasts to this channel, and calls about it.
    public var channel: ChannelID?
    /// Number of matching pushes that pass unharmed first.
    public var skip = 0
    /// Affects every nth of the pushes that match and were not skipped. 3 lets two pass and affects the third.
    public var every = 1
    /// Maximum number of affected pushes; `nil` for no limit.
    public var count: Int?
    /// Probability that a matching push is affected, from 0 to 1.
    public var probability = 1.0
    /// Delay until the rule is in force, on the simulator's clock.
    public var after = Duration.zero
    /// Time for which the rule stays in force from then on; `nil` for no end.
    public var lasting: Duration?
    /// The effect on an affected push.
    public var effect: Effect

    /// Creates a rule for every push. Properties narrow it.
    public init(_ effect: Effect) {
        self.effect = effect
    }

    /// The effect of a fault on a push.
    public enum Effect: Sendable, Hashable {
        /// The push gets this answer, and has no effect.
        case refuse(status: Int, reason: String)
        /// The push gets no answer, and has no effect.
        case stall
        /// The stream is reset with REFUSED_STREAM, so the push was not processed (RFC 9113 section 8.7).
        case refuseStream
        /// The push takes effect, but its answer is lost.
        case loseAnswer(Loss)
        /// The push takes effect. Its answer is delayed by this long in real time, at most `slowest`.
        case slow(Duration)
        /// The push is accepted, and reaches its recipients later, on the simulator's clock. So it may arrive after
        /// newer ones, as Apple allows for broadcasts. Calls of channel management are not delayed.
        case delay(Duration)
        /// The connection ends with GOAWAY. A push above the last stream is not processed.
        case goAway(reason: String, last: LastStream)
        /// The push is handled as usual. From then on its connection has this many streams.
        case limitStreams(Int)

        /// The longest delay of an answer.
        public static let slowest = Duration.seconds(600)
    }

    /// A way of losing an answer.
    public enum Loss: String, Sendable, Hashable, CaseIterable, Codable {
        /// RST_STREAM with INTERNAL_ERROR.
        case reset
        /// The TCP connection is closed after TLS has sent its close notification.
        case close
        /// The TCP connection is reset. Other answers that it still owed are lost too.
        case abort
        /// Nothing is sent.
        case silence
    }

    /// The `last-stream-id` of a GOAWAY.
    public enum LastStream: Sendable, Hashable {
        /// The stream of the push itself, which is processed and answered.
        case this
        /// The stream before it, so the push is not processed.
        case previous
        /// A stream id. The highest, 2^31 - 1, only warns: the connection takes pushes until a second GOAWAY (RFC 9113
        /// section 6.8).
        case id(Int)
    }
}

/// The rules in force and their counts so far. Pure: the caller passes the random numbers.
struct FaultList: Sendable {
    private(set) var rules: [FaultRule] = []
    private var fitted: [Int] = []
    private var met: [Int] = []
    private var since = UnixTime(seconds: 0)

    /// Maximum number of rules in force.
    static let capacity = 256

    init() {}

    init(_ rules: [FaultRule], at now: UnixTime) {
        since = now
        self.rules = Array(rules.prefix(Self.capacity))
        fitted = Array(repeating: 0, count: self.rules.count)
        met = fitted
    }

    /// Returns the effect on a push; `nil` for none.
    mutating func effect(
        on arrival: PushArrival, phone: PhoneID?, dice: inout SplitMix64, now: UnixTime
    ) -> FaultRule.Effect? {
        guard !rules.isEmpty else { return nil }
        for (index, rule) in rules.enumerated() where rule.fits(arrival, phone: phone) {
            let elapsed = now - since
            guard elapsed >= rule.after else { continue }
            if let lasting = rule.lasting, elapsed - rule.after >= lasting { continue }
            fitted[index] += 1
            guard fitted[index] > rule.skip, rule.count.map({ met[index] < $0 }) ?? true else { continue }
            guard (fitted[index] - rule.skip).isMultiple(of: max(1, rule.every)) else { continue }
            guard rule.probability >= 1 || dice.fraction() < rule.probability else { continue }
            met[index] += 1
            return rule.effect
        }
        return nil
    }
}

extension FaultRule {
    fileprivate func fits(_ arrival: PushArrival, phone present: PhoneID?) -> Bool {
        if let phone, phone != present { return false }
        if let tokenPrefix, arrival.tokenText?.hasPrefix(tokenPrefix.lowercased()) != true { return false }
        if let event, event != arrival.event { return false }
        if let topic, topic != arrival.topic { return false }
        if let channel, channel.text != arrival.channelID { return false }
        return true
    }
}
