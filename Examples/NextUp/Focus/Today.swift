/// A goal that a person has on certain days of the week.
public struct Goal: Codable, Hashable, Sendable {
    /// The goal's own id. Of two goals with the same order the lower id comes first.
    public var id: String
    /// The title of the goal.
    public var title: String
    /// The rank among the goals. The lower comes first.
    public var order: Int
    /// The days on which the goal is due, from Monday as 1 to Sunday as 7.
    public var weekdays: Set<Int>

    /// Creates a goal. It is due every day unless it says otherwise.
    public init(id: String, title: String, order: Int, weekdays: Set<Int> = [1, 2, 3, 4, 5, 6, 7]) {
        self.id = id
        self.title = title
        self.order = order
        self.weekdays = weekdays
    }
}

/// A day on the calendar of the person: `2026-11-21`.
public struct Day: Hashable, Sendable, Codable, Comparable, CustomStringConvertible {
    private let days: Int

    /// Parses a day. Returns `nil` if the text is not a date of this form.
    public init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "-").compactMap { Int($0) }
        guard parts.count == 3, (1...12).contains(parts[1]), (1...31).contains(parts[2]), text.count == 10 else {
            return nil
        }
        // Days since 1970, by years that begin in March, so that leap days come last.
        let year = parts[1] <= 2 ? parts[0] - 1 : parts[0]
        let dayOfYear = (153 * ((parts[1] + 9) % 12) + 2) / 5 + parts[2] - 1
        days = year * 365 + year / 4 - year / 100 + year / 400 + dayOfYear - 719_468
        guard description == text else { return nil }
    }

    /// The day of the week, from Monday as 1 to Sunday as 7.
    public var weekday: Int { (days + 3) % 7 + 1 }

    /// Orders days, the earlier first.
    public static func < (left: Self, right: Self) -> Bool { left.days < right.days }

    /// The day as text, such as `2026-11-21`.
    public var description: String {
        let shifted = days + 719_468
        let century = (4 * shifted + 3) / 146_097
        let rest = shifted - 146_097 * century / 4
        let year = (4 * rest + 3) / 1461
        let dayOfYear = rest - 1461 * year / 4
        let month = (5 * dayOfYear + 2) / 153
        func pad(_ number: Int, _ width: Int) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        return pad(100 * century + year + (month >= 10 ? 1 : 0), 4) + "-" + pad(month < 10 ? month + 3 : month - 9, 2)
            + "-" + pad(dayOfYear - (153 * month + 2) / 5 + 1, 2)
    }

    /// Decodes the text.
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let day = Day(text) else {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "no day"))
        }
        self = day
    }

    /// Encodes the text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

/// A person's mark for a goal on one day.
public struct CheckIn: Codable, Hashable, Sendable {
    /// The state of the goal on that day.
    public enum Mark: String, Codable, Hashable, Sendable {
        /// Made ahead at night, and still to be done.
        case open
        /// Done, or not to be done on that day.
        case done, skipped
    }

    /// The goal.
    public var goal: String
    /// The day.
    public var day: Day
    /// The state of the goal on that day.
    public var mark: Mark

    /// Creates a check-in.
    public init(goal: String, day: Day, mark: Mark) {
        self.goal = goal
        self.day = day
        self.mark = mark
    }
}

/// The choice of what is next on one day. It is pure and deterministic, so the app links the same code and gets the
/// same result.
public struct Today: Hashable, Sendable {
    /// The goal that stays shown on its day until it is done.
    public struct Lock: Codable, Hashable, Sendable {
        /// The day of the lock.
        public var day: Day
        /// The goal.
        public var goal: String

        /// Creates a lock.
        public init(day: Day, goal: String) {
            self.day = day
            self.goal = goal
        }
    }

    /// The content state of the card.
    public var state: NextUpAttributes.ContentState
    /// The lock to remember for the next time.
    public var lock: Lock

    /// Returns what is due on a day, in order.
    public static func due(_ goals: [Goal], _ checkIns: [CheckIn], on day: Day) -> [Goal] {
        let over = Set(checkIns.filter { $0.day == day && $0.mark != .open }.map(\.goal))
        return goals.filter { $0.weekdays.contains(day.weekday) && !over.contains($0.id) }
            .sorted { ($0.order, $0.id) < ($1.order, $1.id) }
    }

    /// Returns what is next, or `nil` if nothing is due, which clears the lock.
    public init?(_ goals: [Goal], _ checkIns: [CheckIn], on day: Day, lock: Lock?) {
        let due = Self.due(goals, checkIns, on: day)
        let locked = due.first { $0.id == lock?.goal && lock?.day == day }
        guard let next = locked ?? due.first else { return nil }
        state = NextUpAttributes.ContentState(goal: next.id, title: next.title, remaining: due.count)
        self.lock = Lock(day: day, goal: next.id)
    }
}
