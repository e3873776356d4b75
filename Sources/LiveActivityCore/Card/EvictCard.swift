package import APNSModel

/// Ends a card on one device so that another fits there. The card does not come back in this run.
package struct EvictCard: Command {
    package let app: AppSettings
    package let activity: ActivityNumber
    package let device: DeviceKey
    package let now: UnixTime

    package init(app: AppSettings, activity: ActivityNumber, device: DeviceKey, now: UnixTime) {
        self.app = app
        self.activity = activity
        self.device = device
        self.now = now
    }

    package static var mayBeRefused: Bool { false }
    package var rank: CommandRank { .settle }
    package var keys: [SnapshotKey] { [.phones(activity, devices: [device])] }

    /// Marks the card to be ended.
    ///
    /// - Returns: `true` if there was a live card that was not marked yet.
    package func decide(_ draft: inout Draft) throws(Refusal) -> Bool {
        let key = Snapshot.PhoneKey(activity, device)
        guard var card = draft.snapshot.cards[key], let record = draft.snapshot.activities[activity],
            card.state == .live, !card.isEvicted
        else { return false }
        card.evict(at: now)
        draft.put(card)
        Lanes.review(key, app.types[record.type], now: now, &draft)
        return true
    }
}

extension ClaimWork.Room {
    /// Adds the starts that this claim has already planned on the device, so that they count as its cards.
    func count(into phone: inout PhoneSituation) {
        guard let number = startsOn[phone.device.key] else { return }
        let cards = (0..<number).map { _ in
            DeviceCard(activity: 0, relevance: 0, startedAt: phone.card.createdAt, canBeEnded: false)
        }
        phone.deviceCards = (phone.deviceCards ?? []) + cards
    }
}
