package import APNSModel

/// Numbers of rows that a device has made in the 24 hours that began with the first of them.
package struct DayCounts: Sendable, Hashable {
    static let length = Duration.seconds(86_400)
    /// Maximum number of new token values per device and day. A card has a few, and a phone has a handful of start
    /// tokens.
    package static let maximumTokens = 500

    package var since = UnixTime(milliseconds: 0)
    /// Cards that the device reported on its own word for activities whose audience does not include its person.
    package var cards = 0
    /// Those of them whose activity did not know the person, even if the person was named later.
    package var waiting = 0
    package var tokens = 0

    package init() {}

    /// Returns the counts that apply now. A period that begins in the future, by a clock that was ahead, is over.
    func current(at now: UnixTime) -> Self {
        if since <= now, now < since + Self.length { return self }
        var fresh = Self()
        fresh.since = now
        return fresh
    }
}

extension Draft {
    /// Counts a token value that is new to the server.
    ///
    /// - Throws: `Refusal.tooManyTokens` beyond the day's limit.
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
    /// The count does not depend on the loaded rows. For a device with many cards only some are loaded, and a count
    /// over them would reveal which activities exist.
    ///
    /// - Parameter waits: The activity does not know the phone's person.
    /// - Throws: `Refusal.tooManyAwaiting` or `Refusal.tooManyCards` beyond the day's limits.
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
