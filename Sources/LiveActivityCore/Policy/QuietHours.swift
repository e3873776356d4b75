package import APNSModel

/// A time of day, by the clock of each phone's own zone, in which no card is started by push: a start lights the
/// screen. Cards that are there are updated and ended as ever.
package struct QuietHours: Sendable, Equatable {
    package var from: TimeOfDay
    /// The first minute that is not quiet any more; before `from` it is on the next day.
    package var to: TimeOfDay
    /// For phones that named no zone, or one that nobody knows; without it these have no quiet hours.
    package var zone: String?
    /// Starts that carry an alert of the backend's wait too. Else they go out: who alerts means now.
    package var holdsAlerts: Bool
    /// Where zones are looked up: a name's rules are always the same, so they are no part of what is equal.
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

    /// The first instant at which it is not quiet any more on a phone of this zone; `nil`: it is not quiet now.
    package func end(at now: UnixTime, zone name: String?) -> UnixTime? {
        guard let rules = name.flatMap(zones.rules) ?? zone.flatMap(zones.rules) else { return nil }
        var time = now
        while isQuiet(rules.local(time).second) {
            let left = (Int64(to.minute) * 60 - Int64(rules.local(time).second)) % LocalTime.secondsOfDay
            let end = UnixTime(seconds: time.seconds + (left > 0 ? left : left + LocalTime.secondsOfDay))
            // Where the clock changes before, it is looked at anew: it may jump out of the quiet, or back.
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
