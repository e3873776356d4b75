package import APNSModel

/// Rules of a time zone as data: offsets from UTC, and the instants at which they change.
package struct ZoneRules: Sendable, Equatable {
    /// Change of the offset. From `at` on, clocks are `offset` seconds ahead of UTC, or behind if it is negative.
    package struct Transition: Sendable, Equatable {
        package var at: UnixTime
        package var offset: Int

        package init(at time: UnixTime, offset: Int) {
            at = time
            self.offset = offset
        }
    }

    /// Offset before the first transition, in seconds.
    package let offset: Int
    /// Transitions in order. The offset of the last one has no end.
    package let transitions: [Transition]

    /// Creates rules. A transition that is not later than the one before is left out.
    package init(offset: Int, transitions: [Transition] = []) {
        self.offset = offset
        var ordered: [Transition] = []
        for transition in transitions where ordered.last.map({ $0.at < transition.at }) ?? true {
            ordered.append(transition)
        }
        self.transitions = ordered
    }

    package static let utc = Self(offset: 0)

    /// Returns the offset in seconds ahead of UTC.
    package func offset(at time: UnixTime) -> Int { stretch(at: time).offset }

    /// Returns the time that a clock in the zone shows.
    package func local(_ time: UnixTime) -> LocalTime {
        LocalTime(shown: time.seconds + Int64(offset(at: time)))
    }

    /// Returns the first instant after `time` at which the clock shows a later day: midnight, or the end of a gap
    /// around it.
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

    /// Span of time with one offset; `nil` for an open end.
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

/// Time on a clock in a zone: a day, and a second of that day.
package struct LocalTime: Sendable, Hashable {
    package static let secondsOfDay: Int64 = 86_400

    /// Days since 1970-01-01 in the zone's calendar.
    package let day: Int64
    /// Second of the day, from 0 to 86,399.
    package let second: Int

    /// - Parameter shown: Seconds since 1970-01-01T00:00:00, as a clock in the zone shows them.
    init(shown: Int64) {
        let days = shown >= 0 ? shown / Self.secondsOfDay : -((Self.secondsOfDay - 1 - shown) / Self.secondsOfDay)
        day = days
        second = Int(shown - days * Self.secondsOfDay)
    }

    package var timeOfDay: TimeOfDay { TimeOfDay(minute: second / 60) }

    /// Date in the form `2026-11-21`.
    package var date: String { String(UnixTime(seconds: day * Self.secondsOfDay).description.prefix(10)) }
}

/// Hour and minute of a day.
package struct TimeOfDay: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// Minutes since midnight, from 0 to 1,439.
    package let minute: Int

    package init(minute: Int) {
        self.minute = min(max(minute, 0), 1439)
    }

    /// Creates a time from text; `nil` unless it has the form `HH:MM`, from 00:00 to 23:59.
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

/// Source of a zone's rules, by its IANA name. A name's rules never change, so that decisions can be repeated.
package protocol ZoneSource: Sendable {
    /// Returns the rules; `nil` for an unknown name.
    func rules(of zone: String) -> ZoneRules?
}

/// Zones by their names.
package struct ZoneTable: ZoneSource {
    package var zones: [String: ZoneRules]

    package init(_ zones: [String: ZoneRules] = [:]) {
        self.zones = zones
    }

    package func rules(of zone: String) -> ZoneRules? { zones[zone] }
}
