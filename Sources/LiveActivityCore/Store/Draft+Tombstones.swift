import APNSModel

extension Draft {
    /// Remembers the row's card as over, by the name that its phone gave it: late news of it touches no other.
    mutating func bury(_ card: CardMachine, as state: CardState, at now: UnixTime) {
        guard let localID = card.localID else { return }
        put(TombstoneRecord(device: card.device, localID: localID, activity: card.activity, state: state, at: now))
    }

    /// Keeps of a device's cards that are over only the newest, as many as a phone may have.
    mutating func forgetOldTombstones(of device: DeviceKey) {
        let all = tombstones(of: device)
        guard all.count > TombstoneRecord.maximum else { return }
        let oldest = all.sorted { ($0.at, $0.localID) < ($1.at, $1.localID) }
        for record in oldest.prefix(all.count - TombstoneRecord.maximum) {
            remove(Snapshot.TombstoneKey(device, record.localID))
        }
    }
}
