package import APNSModel

/// Estimate of the budget that iOS still allows a device for one kind of push.
///
/// iOS keeps budgets and does not report them. Apple publishes no numbers. Its article "Starting and updating Live
/// Activities with ActivityKit push notifications" says only that a budget exists, and that frequent updates raise it.
package struct BudgetRecord: Sendable, Hashable {
    package enum Kind: Int, Sendable, CaseIterable {
        /// Updates and ends of priority 10.
        case high = 1
        case start = 2
    }

    package var device: DeviceKey
    package var kind: Kind
    /// Pushes spent and not yet drained, in millionths of a push: the level of the hourly bucket. `day` is that of the
    /// daily bucket.
    package var hour: Int64 = 0
    package var day: Int64 = 0
    /// Time at which `hour` and `day` were computed.
    package var at: UnixTime

    package init(device: DeviceKey, kind: Kind, at time: UnixTime) {
        self.device = device
        self.kind = kind
        at = time
    }

    package var key: BudgetKey { BudgetKey(device, kind) }
}

package struct BudgetKey: Sendable, Hashable, Comparable {
    package let device: DeviceKey
    package let kind: BudgetRecord.Kind

    package init(_ device: DeviceKey, _ kind: BudgetRecord.Kind) {
        self.device = device
        self.kind = kind
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.device, left.kind.rawValue) < (right.device, right.kind.rawValue)
    }
}

/// Limits of the pushes that a device may get in any hour and in any day.
///
/// A leaky bucket enforces each limit. Half of the number may be sent at once, and the other half drains evenly over
/// the window.
/// Therefore no window of that length exceeds the number, wherever it begins.
///
/// If the clock is set back, what has drained in between counts again, so that a window holds although the clock passes
/// it twice. This applies up to two windows. Beyond that, a clock that was wrong by days would block phones for days,
/// and only the pushes that have not drained yet count.
package struct BudgetLimit: Sendable, Equatable {
    package var perHour: Int
    package var perDay: Int
    /// Percentage of each bucket that is reserved for alerts and ends.
    package var reserve = 10

    package init(perHour: Int, perDay: Int) {
        self.perHour = perHour
        self.perDay = perDay
    }

    package enum Use: Sendable { case ordinary, alertOrEnd }

    private static let unit: Int64 = 1_000_000
    private static let hour = Duration.seconds(3600)
    private static let day = Duration.seconds(86_400)

    /// Returns the earliest time at which one more push may be sent: `now`, or later.
    package func opens(_ record: BudgetRecord?, for use: Use, now: UnixTime) -> UnixTime {
        guard let record else { return now }
        return max(
            opens(record.hour, perHour, Self.hour, use, record.at, now),
            opens(record.day, perDay, Self.day, use, record.at, now))
    }

    /// Returns the pushes spent and not yet drained, rounded up to whole pushes.
    package func used(_ record: BudgetRecord?, now: UnixTime) -> (hour: Int, day: Int) {
        guard let record else { return (0, 0) }
        let current = Self.drained(record, self, now: now)
        return (Int((current.hour + Self.unit - 1) / Self.unit), Int((current.day + Self.unit - 1) / Self.unit))
    }

    /// Returns the record after one more push.
    ///
    /// A spent push is never refunded, so a crash makes the estimate too high but never too low.
    package func spent(_ record: BudgetRecord?, _ key: BudgetKey, now: UnixTime) -> BudgetRecord {
        var record =
            record.map { Self.drained($0, self, now: now) }
            ?? BudgetRecord(device: key.device, kind: key.kind, at: now)
        record.hour += Self.unit
        record.day += Self.unit
        return record
    }

    /// Returns the fraction, 0 to 1, that is left of what a device may get at once: the smaller of the hourly and daily
    /// fractions.
    package func shareLeft(_ record: BudgetRecord) -> Double {
        func share(_ level: Int64, _ number: Int) -> Double {
            max(0, 1 - Double(level) / Double(capacity(number, .alertOrEnd)))
        }
        return min(share(record.hour, perHour), share(record.day, perDay))
    }

    private func opens(
        _ level: Int64, _ number: Int, _ window: Duration, _ use: Use, _ at: UnixTime, _ now: UnixTime
    ) -> UnixTime {
        let capacity = capacity(number, use)
        let excess = level + Self.unit - capacity
        let milliseconds = window.wholeMilliseconds
        if excess <= 0, (at - now).wholeMilliseconds >= milliseconds * 2 { return now }
        // The excess drains at half the number per window, counted from the time of the level. If there is none, the
        // budget opened before that time, which may lie ahead of a clock that was set back.
        let rate = max(1, Int64(number) * Self.unit / 2)
        let wait = min(Self.product(excess, milliseconds, over: rate), milliseconds * 2)
        return max(now, at + .milliseconds(wait))
    }

    private func capacity(_ number: Int, _ use: Use) -> Int64 {
        let all = max(Self.unit, Int64(number) * Self.unit / 2)
        let kept: Int64 = use == .alertOrEnd ? 0 : all * Int64(reserve) / 100
        return max(Self.unit, all - kept)
    }

    private static func drained(_ record: BudgetRecord, _ limit: Self, now: UnixTime) -> BudgetRecord {
        let passed = (now - record.at).wholeMilliseconds
        var current = record
        current.hour = left(record.hour, limit.perHour, passed, hour)
        current.day = left(record.day, limit.perDay, passed, day)
        current.at = now
        return current
    }

    /// Returns the level after draining, rounded up so that rounding never grants a push.
    ///
    /// - Parameter passed: Milliseconds; negative if the clock was set back.
    private static func left(_ level: Int64, _ number: Int, _ passed: Int64, _ window: Duration) -> Int64 {
        let milliseconds = window.wholeMilliseconds
        guard abs(passed) < milliseconds * 2 else { return passed > 0 ? 0 : level }
        return max(0, level + product(-passed, Int64(number) * unit / 2, over: milliseconds))
    }

    /// Returns the product of two numbers divided by a third, rounded up. The product may exceed 64 bits.
    private static func product(_ left: Int64, _ right: Int64, over divisor: Int64) -> Int64 {
        let product = left.magnitude.multipliedFullWidth(by: right.magnitude)
        let (quotient, rest) = divisor.magnitude.dividingFullWidth(product)
        return left < 0 ? -Int64(quotient) : Int64(quotient) + (rest > 0 ? 1 : 0)
    }
}

/// Budgets that Islet assumes for each device.
package struct BudgetPolicy: Sendable, Equatable {
    /// Limit of high-priority pushes if frequent updates are not allowed, or if this is unknown.
    package var high = BudgetLimit(perHour: 20, perDay: 200)
    /// Limit of high-priority pushes if the person allows frequent updates (`frequentPushesEnabled`).
    package var highFrequent = BudgetLimit(perHour: 60, perDay: 800)
    /// Limit of starts. Phones are known to accept about ten in a short time.
    package var start = BudgetLimit(perHour: 10, perDay: 40)

    package init() {}

    package func high(_ device: DeviceFacts) -> BudgetLimit {
        device.frequentPushesEnabled == true ? highFrequent : high
    }
}
