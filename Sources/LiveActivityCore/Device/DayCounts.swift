package import APNSModel

/// How many rows of some kinds a device has made in the day that began with the first of them.
package struct DayCounts: Sendable, Hashable {
    static let length = Duration.seconds(86_400)
    /// New token values that a device may name in a day: a card has a few, and a phone a handful of start tokens.
    package static let maximumTokens = 500

    package var since = UnixTime(milliseconds: 0)
    /// Cards that it reported on its own word, of activities whose audience its person is not in.
    package var cards = 0
    /// Those of them whose activity did not know the person, whatever became of the wait.
    package var waiting = 0
    package var tokens = 0

    package init() {}

    /// The counts that hold now. A day of a clock that was ahead and was set back since is over.
    func current(at now: UnixTime) -> Self {
        if since <= now, now < since + Self.length { return self }
        var fresh = Self()
        fresh.since = now
        return fresh
    }
}

extension Draft {
    /// Counts a token value that nobody has named before.
    mutating func countNewToken(of device: DeviceKey, at now: UnixTime) throws(Refusal) {
        guard var record = snapshot.devices[device] else { return }
        record.made = record.made.current(at: now)
        guard record.made.tokens < DayCounts.maximumTokens else {
            throw .tooManyTokens(limit: DayCounts.maximumTokens)
        }
        record.made.tokens += 1
        put(record)
    }

    /// Counts a card that a phone reports on its own word.
    ///
    /// The count does not depend on the rows that were loaded: of a device with many cards they are a part, and a count
    /// over them would tell which activities there are.
    ///
    /// - Parameter waits: The activity does not know the phone's person.
    mutating func countNewCard(of device: DeviceKey, waits: Bool, at now: UnixTime) throws(Refusal) {
        guard var record = snapshot.devices[device] else { return }
        record.made = record.made.current(at: now)
        if waits {
            guard record.made.waiting < CardIntake.maximumAwaiting else {
                throw .tooManyAwaiting(limit: CardIntake.maximumAwaiting)
            }
            record.made.waiting += 1
        }
        guard record.made.cards < CardIntake.maximumNew else { throw .tooManyCards(limit: CardIntake.maximumNew) }
        record.made.cards += 1
        put(record)
    }
}
