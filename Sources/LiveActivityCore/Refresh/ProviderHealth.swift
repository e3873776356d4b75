package import APNSModel

/// Health of a provider, which decides how many computations may run.
///
/// A provider that fails for different people is held: it gets one probe at a time, until it answers.
package struct ProviderHealth: Sendable, Equatable {
    /// Number of people whose consecutive questions must fail through the provider's fault before it is held.
    package static let threshold = 3

    package private(set) var heldUntil: UnixTime?
    private var failed: Set<UserID> = []
    private var tries = 0

    package init() {}

    package var isHeld: Bool { tries > 0 }

    /// Returns how many more runs may begin.
    package func room(open: Int, limit: Int, at now: UnixTime) -> Int {
        guard isHeld else { return max(0, limit - open) }
        guard let heldUntil, heldUntil <= now else { return 0 }
        return open == 0 ? 1 : 0
    }

    /// Records an answer.
    ///
    /// - Returns: `true` if the provider was held until now.
    @discardableResult package mutating func succeeded() -> Bool {
        defer { self = Self() }
        return isHeld
    }

    /// Records a failure that is the provider's fault.
    ///
    /// - Returns: `true` if the provider is held from now on.
    @discardableResult package mutating func failed(_ user: UserID, at now: UnixTime, dice: Double) -> Bool {
        let wasHeld = isHeld
        if failed.count < Self.threshold { failed.insert(user) }
        guard failed.count >= Self.threshold else { return false }
        tries += 1
        heldUntil = now + RetryDelay.lane(tries: tries, dice: dice)
        return !wasHeld
    }
}

/// Rate limit for computations that many people get at once: `perSecond` computations a second, and at most one
/// second's worth at once.
package struct ProviderPace: Sendable, Equatable {
    private let perSecond: Int
    private var tokens: Double
    private var at: UnixTime

    package init(perSecond: Int, at now: UnixTime) {
        self.perSecond = max(1, perSecond)
        tokens = Double(self.perSecond)
        at = now
    }

    package mutating func allowance(at now: UnixTime) -> Int {
        let passed = max(0, Double((now - at).wholeMilliseconds) / 1000)
        tokens = min(Double(perSecond), tokens + passed * Double(perSecond))
        at = now
        return Int(tokens)
    }

    package mutating func spend(_ count: Int) { tokens -= Double(count) }

    /// Returns when the next computation is allowed, at the latest.
    package func opens(after now: UnixTime) -> UnixTime {
        guard tokens < 1 else { return now }
        return now + .milliseconds(Int64(1000 * (1 - tokens) / Double(perSecond)) + 1)
    }
}
