internal import APNSModel
import IsletBasics

/// A fault on demand: which pushes it meets, and what happens to them. The first rule that fits a push decides.
public struct FaultRule: Sendable, Hashable {
    /// Only pushes to this phone's tokens.
    public var phone: PhoneID?
    /// Only tokens that start with this hexadecimal text.
    public var tokenPrefix: String?
    /// Only this `event`: start, update or end.
    public var event: String?
    /// Only this `apns-topic`.
    public var topic: String?
    /// How many fitting pushes pass unharmed first.
    public var skip = 0
    /// Of the pushes that fit and were not skipped, it meets each of this ordinal: 3 lets two pass and meets the third.
    public var every = 1
    /// How many pushes it meets at most; without limit when `nil`.
    public var count: Int?
    /// How likely a push that fits is met, from 0 to 1.
    public var probability = 1.0
    /// How long after it was ordered it comes into force, on the simulator's clock.
    public var after = Duration.zero
    /// How long it is in force from then on; without end when `nil`.
    public var lasting: Duration?
    /// What happens.
    public var effect: Effect

    /// A rule for every push, until it is narrowed.
    public init(_ effect: Effect) {
        self.effect = effect
    }

    /// What happens to a push.
    public enum Effect: Sendable, Hashable {
        /// It is answered so, and does nothing.
        case refuse(status: Int, reason: String)
        /// It is never answered, and does nothing.
        case stall
        /// The stream is reset with REFUSED_STREAM: it was not processed (RFC 9113 section 8.7).
        case refuseStream
        /// It takes effect, but its answer never comes.
        case loseAnswer(Loss)
        /// It takes effect; its answer comes that much later in real time, at most `slowest`.
        case slow(Duration)
        /// The connection ends with GOAWAY; a push above the last stream is not processed.
        case goAway(reason: String, last: LastStream)
        /// It is handled as usual, and from then on its connection has this many streams.
        case limitStreams(Int)

        /// The longest delay of an answer.
        public static let slowest = Duration.seconds(600)
    }

    /// How an answer is lost.
    public enum Loss: String, Sendable, Hashable, CaseIterable, Codable {
        /// RST_STREAM with INTERNAL_ERROR.
        case reset
        /// The TCP connection is closed after TLS said goodbye.
        case close
        /// The TCP connection is reset; whatever else it owed is lost too.
        case abort
        /// Nothing comes.
        case silence
    }

    /// The `last-stream-id` of a GOAWAY.
    public enum LastStream: Sendable, Hashable {
        /// The push's own stream: it is processed and answered.
        case this
        /// The one before it: the push is not processed.
        case previous
        /// That number. The highest there is, 2^31 - 1, only warns: the connection takes pushes until a second GOAWAY
        /// (RFC 9113 section 6.8).
        case id(Int)
    }
}

/// The rules in force and what they have met so far. Pure: the dice are lent to it.
struct FaultList: Sendable {
    private(set) var rules: [FaultRule] = []
    private var fitted: [Int] = []
    private var met: [Int] = []
    private var since = UnixTime(seconds: 0)

    /// The most rules that may be in force.
    static let capacity = 256

    init() {}

    init(_ rules: [FaultRule], at now: UnixTime) {
        since = now
        self.rules = Array(rules.prefix(Self.capacity))
        fitted = Array(repeating: 0, count: self.rules.count)
        met = fitted
    }

    /// What happens to a push, or `nil`.
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
        return true
    }
}
