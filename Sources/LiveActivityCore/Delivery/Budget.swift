package import APNSModel

/// What a device may still get of something that the system counts and does not tell: our estimate.
///
/// Apple publishes neither budget (developer.apple.com/documentation/activitykit/starting-and-updating-live-activities-
/// with-activitykit-push-notifications says that there is one, and that frequent updates raise it).
package struct BudgetRecord: Sendable, Hashable {
    package enum Kind: Int, Sendable, CaseIterable {
        /// Updates and ends of priority 10.
        case high = 1
        /// Starts.
        case start = 2
    }

    package var device: DeviceKey
    package var kind: Kind
    /// What was spent and has not run off again, in millionths of a push, in the hour's and in the day's measure.
    package var hour: Int64 = 0
    package var day: Int64 = 0
    /// When that was so.
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

/// How many pushes a device may get in any hour and in any day.
///
/// A leaky bucket keeps both: half of the number at once, the other half evenly over the time, so that no window of
/// that length, wherever it begins, sees more than the number.
package struct BudgetLimit: Sendable, Equatable {
    package var perHour: Int
    package var perDay: Int
    /// Of a hundred, how many are kept for alerts and ends.
    package var reserve = 10

    package init(perHour: Int, perDay: Int) {
        self.perHour = perHour
        self.perDay = perDay
    }

    package enum Use: Sendable { case ordinary, alertOrEnd }

    private static let unit: Int64 = 1_000_000
    private static let hour = Duration.seconds(3600)
    private static let day = Duration.seconds(86_400)

    /// When one more may go: `now`, or later.
    package func opens(_ record: BudgetRecord?, for use: Use, now: UnixTime) -> UnixTime {
        guard let record else { return now }
        return max(
            opens(record.hour, perHour, Self.hour, use, record.at, now),
            opens(record.day, perDay, Self.day, use, record.at, now))
    }

    /// What was spent and has not run off again, in pushes, rounded up.
    package func used(_ record: BudgetRecord?, now: UnixTime) -> (hour: Int, day: Int) {
        guard let record else { return (0, 0) }
        let current = Self.drained(record, self, now: now)
        return (Int((current.hour + Self.unit - 1) / Self.unit), Int((current.day + Self.unit - 1) / Self.unit))
    }

    /// One more has gone. Never taken back: a crash counts too much, never too little.
    package func spent(_ record: BudgetRecord?, _ key: BudgetKey, now: UnixTime) -> BudgetRecord {
        var record =
            record.map { Self.drained($0, self, now: now) }
            ?? BudgetRecord(device: key.device, kind: key.kind, at: now)
        record.hour += Self.unit
        record.day += Self.unit
        return record
    }

    /// What is left of what a device may get at once, of 1: the smaller of the hour's and the day's share.
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
        guard excess > 0 else { return now }
        // What is over runs off at half the number in one window, rounded up, from the instant of the level on: where
        // the clock has stepped back since, nothing runs off before it is there again.
        let milliseconds = window.wholeMilliseconds
        let rate = max(1, Int64(number) * Self.unit / 2)
        let wait = min((excess * milliseconds + rate - 1) / rate, milliseconds * 2)
        return max(now, at + .milliseconds(wait))
    }

    private func capacity(_ number: Int, _ use: Use) -> Int64 {
        let all = max(Self.unit, Int64(number) * Self.unit / 2)
        let kept: Int64 = use == .alertOrEnd ? 0 : all * Int64(reserve) / 100
        return max(Self.unit, all - kept)
    }

    private static func drained(_ record: BudgetRecord, _ limit: Self, now: UnixTime) -> BudgetRecord {
        // A clock that steps back gives nothing back.
        guard now > record.at else { return record }
        let passed = (now - record.at).wholeMilliseconds
        var current = record
        current.hour = left(record.hour, limit.perHour, passed, hour)
        current.day = left(record.day, limit.perDay, passed, day)
        current.at = now
        return current
    }

    /// Rounded up, so that rounding never gives a push away.
    private static func left(_ level: Int64, _ number: Int, _ passed: Int64, _ window: Duration) -> Int64 {
        let milliseconds = window.wholeMilliseconds
        guard passed < milliseconds * 2 else { return 0 }
        let drained = passed * (Int64(number) * unit / 2) / milliseconds
        return max(0, level - drained)
    }
}

/// The estimates of a device's budgets.
package struct BudgetPolicy: Sendable, Equatable {
    /// Where the person did not allow frequent updates, or nobody said.
    package var high = BudgetLimit(perHour: 20, perDay: 200)
    /// Where they did (`frequentPushesEnabled`).
    package var highFrequent = BudgetLimit(perHour: 60, perDay: 800)
    /// Starts: about ten in a short time are known to be taken.
    package var start = BudgetLimit(perHour: 10, perDay: 40)

    package init() {}

    package func high(_ device: DeviceFacts) -> BudgetLimit {
        device.frequentPushesEnabled == true ? highFrequent : high
    }
}
