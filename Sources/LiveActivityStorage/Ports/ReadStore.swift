package import APNSModel
package import LiveActivityCore

/// Queries that change nothing.
package protocol ReadStore: Sendable {
    func activity(_ app: BundleID, _ id: ActivityID) async throws(StorageError) -> ActivityState?
    /// Returns an activity and, if they are few, all its phones, ordered by key. Both are from one instant.
    func activityWithPhones(
        _ app: BundleID, _ id: ActivityID
    ) async throws(StorageError) -> ActivityWithPhones?
    /// Returns at most `limit` phones of an activity, ordered by key, starting after `after`.
    func phones(
        of activity: ActivityNumber, after: DeviceKey, limit: Int
    ) async throws(StorageError) -> [PhoneSituation]
    /// Returns at most `limit` rows of an activity's timeline, oldest first, starting after `after`.
    func history(
        of activity: ActivityNumber, after: Int64, limit: Int
    ) async throws(StorageError) -> [(sequence: Int64, record: HistoryRecord)]
    /// Returns the activities that a device should show, with the state of its cards; empty for an unknown device.
    func activities(
        on device: DeviceID, of app: BundleID
    ) async throws(StorageError) -> [(state: ActivityState, card: CardMachine)]
    /// Returns an app's activities, ordered by number or in reverse.
    ///
    /// One call examines a limited number of activities. So a page may be shorter than its limit, or empty, and still
    /// not be the last one.
    func activities(of app: BundleID, _ filter: ActivityFilter) async throws(StorageError) -> ActivityPage
    /// Runs a command on the present state and rolls it back. Returns the resulting state of an activity and of ranges
    /// of its phones.
    func preview<C: Command>(
        _ command: C, of activity: ActivityID, in app: BundleID, phones: [PhoneStretch]
    ) async throws(StorageError) -> Result<Preview<C.Reply>, Refusal>
    /// Returns at most `limit` rows of an activity's timeline, newest first.
    func latestHistory(of activity: ActivityNumber, limit: Int) async throws(StorageError) -> [HistoryRecord]
    /// Returns at most `limit` activities of a type on which something happened in a period: from `from`, up to but not
    /// including `before`.
    ///
    /// Activities with the newest timeline row come first. Only the newest rows of a long period are searched.
    func activities(
        of app: BundleID, _ type: String, from: UnixTime, before: UnixTime, limit: Int
    ) async throws(StorageError) -> RecentActivities
    /// Returns the rows that a command with these keys would see, all from one instant.
    func snapshot(of keys: [SnapshotKey]) async throws(StorageError) -> Snapshot
    /// Returns the records of a person's computations, one for each type.
    func refreshes(of user: UserID, in app: BundleID) async throws(StorageError) -> [RefreshRecord]
    /// Returns at most `limit` people of an app who have a device, ordered by number, starting after `after`.
    func people(
        of app: BundleID, after: UserNumber, limit: Int
    ) async throws(StorageError) -> [(number: UserNumber, id: UserID)]
    /// Returns which of these devices have a push-to-start token of a type, and which have a token for ordinary
    /// notifications. Dead tokens do not count.
    func tokenHolders(
        among devices: [DeviceKey], starting type: String
    ) async throws(StorageError) -> TokenHolders
    /// Returns at most `limit` broadcast channels, those of the newest activities first, starting after `after`.
    ///
    /// - Parameter app: The app that they belong to; `nil` for all apps.
    func channels(of app: BundleID?, after: ChannelKey?, limit: Int) async throws(StorageError) -> ChannelPage
    /// Returns the numbers of broadcast channels of each route that has any; `nil` asks for all apps.
    func channelCounts(of app: BundleID?) async throws(StorageError) -> [PushRoute: ChannelCounts]
    /// Returns the ids of devices by their keys.
    func deviceIDs(_ keys: [DeviceKey]) async throws(StorageError) -> [DeviceKey: DeviceID]
}
