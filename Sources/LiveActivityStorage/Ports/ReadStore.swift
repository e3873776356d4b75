package import APNSModel
package import LiveActivityCore

/// What can be asked without changing anything.
package protocol ReadStore: Sendable {
    func activity(_ app: BundleID, _ id: ActivityID) async throws(StorageError) -> ActivityState?
    /// The phones of an activity in the order of their keys, from the one after `after`, at most `limit`.
    func phones(
        of activity: ActivityNumber, after: DeviceKey, limit: Int
    ) async throws(StorageError) -> [PhoneSituation]
    /// Rows of an activity's timeline, oldest first, from the one after `after`, at most `limit`.
    func history(
        of activity: ActivityNumber, after: Int64, limit: Int
    ) async throws(StorageError) -> [(sequence: Int64, record: HistoryRecord)]
    /// What a device should show, and what it is thought to hold; empty for an unknown device.
    func activities(
        on device: DeviceID, of app: BundleID
    ) async throws(StorageError) -> [(state: ActivityState, card: CardMachine)]
    /// An app's activities in the order of their numbers, or the other way round. A page may be shorter than its limit,
    /// or empty, and still not be the last: how far one call looks is limited.
    func activities(of app: BundleID, _ filter: ActivityFilter) async throws(StorageError) -> ActivityPage
    /// Runs a command on what stands now, keeps nothing of it, and tells what would stand then of an activity and of
    /// two stretches of its phones.
    func preview<C: Command>(
        _ command: C, of activity: ActivityID, in app: BundleID, phones: [PhoneStretch]
    ) async throws(StorageError) -> Result<Preview<C.Reply>, Refusal>
    /// Rows of an activity's timeline, the newest first, at most `limit`.
    func latestHistory(of activity: ActivityNumber, limit: Int) async throws(StorageError) -> [HistoryRecord]
    /// An app's activities of a type of which something happened from an instant on and before another, those with the
    /// newest row of a timeline first, at most `limit`. Of a long stretch only its newest rows are looked at.
    func activities(
        of app: BundleID, _ type: String, from: UnixTime, before: UnixTime, limit: Int
    ) async throws(StorageError) -> RecentActivities
    /// What a command with these keys would see, at one instant.
    func snapshot(of keys: [SnapshotKey]) async throws(StorageError) -> Snapshot
    /// What stands of a person's computations, by type.
    func refreshes(of user: UserID, in app: BundleID) async throws(StorageError) -> [RefreshRecord]
    /// People of an app that have a device, in the order of their numbers, from the one after `after`, at most `limit`.
    func people(
        of app: BundleID, after: UserNumber, limit: Int
    ) async throws(StorageError) -> [(number: UserNumber, id: UserID)]
    /// Which of these devices have a token that starts cards of a type, and which one for ordinary notifications; dead
    /// ones do not count.
    func tokenHolders(
        among devices: [DeviceKey], starting type: String
    ) async throws(StorageError) -> TokenHolders
    /// The ids of devices by their keys.
    func deviceIDs(_ keys: [DeviceKey]) async throws(StorageError) -> [DeviceKey: DeviceID]
}
