package import APNSModel

/// Hours of the day, by each phone's own time zone, in which no card is started by push, because a start lights the
/// screen. Existing cards are updated and ended as usual.
package struct QuietHours: Sendable, Equatable {
    package var from: TimeOfDay
    /// First minute that is no longer quiet. If it is before `from`, it is on the next day.
    package var to: TimeOfDay
    /// Zone of phones that named none, or an unknown one; `nil` if these have no quiet hours.
    package var zone: String?
    /// `true` if starts with an alert of the backend wait too. Otherwise they are sent, because an alert is meant for
    /// now.
    package var holdsAlerts: Bool
    /// Source of the zones' rules. It does not count for equality, because a name's rules are always the same.
    package var zones: any ZoneSource

    package init(
        from: TimeOfDay, to end: TimeOfDay, zone: String? = nil, holdsAlerts: Bool = false, zones: any ZoneSource
    ) {
        self.from = from
        to = end
        self.zone = zone
        self.holdsAlerts = holdsAlerts
        self.zones = zones
    }

    /// Returns the first instant that is no longer quiet on a phone of this zone; `nil` if it is not quiet now.
    package func end(at now: UnixTime, zone name: String?) -> UnixTime? {
        guard let rules = name.flatMap(zones.rules) ?? zone.flatMap(zones.rules) else { return nil }
        var time = now
        while isQuiet(rules.local(time).second) {
            let left = (Int64(to.minute) * 60 - Int64(rules.local(time).second)) % LocalTime.secondsOfDay
            let end = UnixTime(seconds: time.seconds + (left > 0 ? left : left + LocalTime.secondsOfDay))
            // If the zone's offset changes before that, check again: the clock may jump out of the quiet hours, or
            // back.
            guard let change = rules.stretch(at: time).end, change <= end else { return end }
            time = change
        }
        return time > now ? time : nil
    }

    private func isQuiet(_ second: Int) -> Bool {
        let (begins, ends) = (from.minute * 60, to.minute * 60)
        return begins < ends ? (begins..<ends).contains(second) : second >= begins || second < ends
    }

    package static func == (left: Self, right: Self) -> Bool {
        (left.from, left.to, left.zone, left.holdsAlerts) == (right.from, right.to, right.zone, right.holdsAlerts)
    }
}
