import APNSModel

extension Draft {
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
