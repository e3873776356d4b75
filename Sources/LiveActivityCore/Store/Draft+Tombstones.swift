import APNSModel

extension Draft {
    /// Writes a tombstone for the row's card under its local id, so that a late report does not affect another card.
    mutating func bury(_ card: CardMachine, as state: CardState, at now: UnixTime) {
        guard let localID = card.localID else { return }
        put(TombstoneRecord(device: card.device, localID: localID, activity: card.activity, state: state, at: now))
    }

    /// Keeps only the newest tombstones of a device, at most `TombstoneRecord.maximum`.
    mutating func forgetOldTombstones(of device: DeviceKey) {
        let all = tombstones(of: device)
        guard all.count > TombstoneRecord.maximum else { return }
        let oldest = all.sorted { ($0.at, $0.localID) < ($1.at, $1.localID) }
        for record in oldest.prefix(all.count - TombstoneRecord.maximum) {
            remove(Snapshot.TombstoneKey(device, record.localID))
        }
    }
}
