package import APNSModel

/// What the clocks of a time zone show, as data: the offsets from UTC and the instants at which they change.
package struct ZoneRules: Sendable, Equatable {
    /// From this instant on, clocks are so many seconds ahead of UTC; behind when negative.
    package struct Transition: Sendable, Equatable {
        package var at: UnixTime
        package var offset: Int

        package init(at time: UnixTime, offset: Int) {
            at = time
            self.offset = offset
        }
    }

    /// The offset before the first transition.
    package let offset: Int
    /// In order. After the last one its offset holds on.
    package let transitions: [Transition]

    /// Transitions that do not come after the one before are left out.
    package init(offset: Int, transitions: [Transition] = []) {
        self.offset = offset
        var ordered: [Transition] = []
        for transition in transitions where ordered.last.map({ $0.at < transition.at }) ?? true {
            ordered.append(transition)
        }
        self.transitions = ordered
    }

    package static let utc = Self(offset: 0)

    /// Seconds ahead of UTC.
    package func offset(at time: UnixTime) -> Int { stretch(at: time).offset }

    /// What a clock shows.
    package func local(_ time: UnixTime) -> LocalTime {
        LocalTime(shown: time.seconds + Int64(offset(at: time)))
    }

    /// The first instant after `time` at which the clock shows a later day: midnight, or the end of a gap around it.
    package func nextDay(after time: UnixTime) -> UnixTime {
        let midnight = (local(time).day + 1) * LocalTime.secondsOfDay
        var stretch = stretch(at: time)
        while let end = stretch.end {
            let turns = UnixTime(seconds: midnight - Int64(stretch.offset))
            if turns < end { return max(turns, stretch.start ?? turns) }
            stretch = self.stretch(at: end)
        }
        let turns = UnixTime(seconds: midnight - Int64(stretch.offset))
        return max(turns, stretch.start ?? turns)
    }

    /// A time with one offset; `nil` ends are open.
    struct Stretch {
        var start: UnixTime?
        var end: UnixTime?
        var offset: Int
    }

    func stretch(at time: UnixTime) -> Stretch {
        var (low, high) = (0, transitions.count)
        while low < high {
            let middle = (low + high) / 2
            if transitions[middle].at <= time { low = middle + 1 } else { high = middle }
        }
        let current = low > 0 ? transitions[low - 1] : nil
        return Stretch(
            start: current?.at, end: low < transitions.count ? transitions[low].at : nil,
            offset: current?.offset ?? offset)
    }
}

/// What a clock on a wall shows: a day and a second of it.
package struct LocalTime: Sendable, Hashable {
    package static let secondsOfDay: Int64 = 86_400

    /// Days since 1970-01-01 in the calendar of the place.
    package let day: Int64
    /// From 0 to 86,399.
    package let second: Int

    /// - Parameter shown: Seconds since 1970-01-01T00:00:00 as that clock shows them.
    init(shown: Int64) {
        let days = shown >= 0 ? shown / Self.secondsOfDay : -((Self.secondsOfDay - 1 - shown) / Self.secondsOfDay)
        day = days
        second = Int(shown - days * Self.secondsOfDay)
    }

    package var timeOfDay: TimeOfDay { TimeOfDay(minute: second / 60) }

    /// The date as `2026-11-21`.
    package var date: String { String(UnixTime(seconds: day * Self.secondsOfDay).description.prefix(10)) }
}

/// An hour and a minute on a clock's face.
package struct TimeOfDay: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// Since midnight, from 0 to 1,439.
    package let minute: Int

    package init(minute: Int) {
        self.minute = min(max(minute, 0), 1439)
    }

    /// `nil` unless the text is `HH:MM` from 00:00 to 23:59.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 5, bytes[2] == UInt8(ascii: ":") else { return nil }
        var digits: [Int] = []
        for index in [0, 1, 3, 4] {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[index]) else { return nil }
            digits.append(Int(bytes[index] - UInt8(ascii: "0")))
        }
        let (hour, minute) = (digits[0] * 10 + digits[1], digits[2] * 10 + digits[3])
        guard hour < 24, minute < 60 else { return nil }
        self.minute = hour * 60 + minute
    }

    package static func < (left: Self, right: Self) -> Bool { left.minute < right.minute }

    package var description: String {
        func pad(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(pad(minute / 60)):\(pad(minute % 60))"
    }
}

/// Where the rules of a zone are looked up by its IANA name. The answer for a name is always the same, so that what is
/// decided with it can be decided again.
package protocol ZoneSource: Sendable {
    /// `nil` for a name that nobody knows.
    func rules(of zone: String) -> ZoneRules?
}

/// Zones by name.
package struct ZoneTable: ZoneSource {
    package var zones: [String: ZoneRules]

    package init(_ zones: [String: ZoneRules] = [:]) {
        self.zones = zones
    }

    package func rules(of zone: String) -> ZoneRules? { zones[zone] }
}
