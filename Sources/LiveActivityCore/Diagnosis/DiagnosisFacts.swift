package import APNSModel

/// Facts on which a diagnosis is based.
package struct DiagnosisFacts: Sendable {
    /// Maximum number of activities in the diagnosis of a whole device.
    package static let maximumActivities = 20
    /// Number of timeline rows, newest first, that are searched for pushes to the device.
    package static let historyRows = 100

    /// One activity, as it concerns the device.
    package struct Card: Sendable {
        package var activity: ActivityRecord
        package var content: ContentRecord?
        package var lane: LaneRecord?
        /// The phone's situation; `nil` if the activity has nothing to do with the device.
        package var phone: PhoneSituation?
        /// `true` if the device's person is in the audience.
        package var isMember: Bool
        /// The activity's broadcast channels, of every run.
        package var channels: [ChannelRecord] = []
        /// Number of the activity's phones.
        package var phones = 0
        /// Timeline entries of the device, newest first, as far back as the search went.
        package var history: [HistoryEntry] = []
    }

    package var app: AppSettings
    package var now: UnixTime
    package var device: DeviceRecord
    package var deviceTokens: [DeviceTokenRecord]
    package var cards: [Card]
    /// Activity that was requested and does not exist.
    package var unknownActivity: ActivityID?
    /// Routes whose circuit is open.
    package var routes: [PushRoute: CircuitBoard.Status] = [:]
    /// Time by which APNs's clock is ahead of this machine's, as far as APNs has reported it.
    package var clockSkew: [APNSEnvironment: Duration] = [:]

    /// Returns the keys to load first: the device, and the requested activity.
    package static func keys(of device: DeviceID, _ activity: ActivityID?, in app: BundleID) -> [SnapshotKey] {
        [.device(app, device)] + (activity.map { [.activity(app, $0)] } ?? [])
    }

    /// Returns the keys to load next, derived from the first result. They include the first ones, so that all rows are
    /// from one instant.
    package static func moreKeys(
        of device: DeviceID, _ activity: ActivityID?, in app: BundleID, _ first: Snapshot
    ) -> [SnapshotKey] {
        guard let record = first.device(app, device) else { return [] }
        return keys(of: device, activity, in: app)
            + numbers(of: record, activity, first).flatMap { number -> [SnapshotKey] in
                guard let id = first.activities[number]?.id else { return [] }
                return [.phones(number, devices: [record.key]), .audience(app, id, [record.userID])]
            }
    }

    /// Collects the facts from a snapshot. Returns `nil` if the device does not exist.
    package init?(
        _ snapshot: Snapshot, of device: DeviceID, _ activity: ActivityID?, app: AppSettings, now: UnixTime
    ) {
        guard let record = snapshot.device(app.bundleID, device) else { return nil }
        self.app = app
        self.now = now
        self.device = record
        deviceTokens = snapshot.deviceTokens.values.filter { $0.device == record.key }
            .sorted { ($0.kind.rawValue, $0.type) < ($1.kind.rawValue, $1.type) }
        let draft = Draft(snapshot)
        cards = Self.numbers(of: record, activity, snapshot).compactMap { number in
            guard let its = snapshot.activities[number] else { return nil }
            let phone = draft.phone(.init(number, record.key), type: its.type)
            return Card(
                activity: its, content: snapshot.contents[number], lane: snapshot.lane(of: record.key, in: number),
                phone: phone, isMember: snapshot.members[number]?.contains(record.user) == true,
                channels: draft.channels(of: number), phones: draft.phoneCount(of: number))
        }
        if let activity, snapshot.activityNumbers[.init(app.bundleID, activity)] == nil { unknownActivity = activity }
    }

    /// Returns the requested activity. Without one, returns the device's activities: those that may still show
    /// something first, then newest first.
    private static func numbers(
        of device: DeviceRecord, _ activity: ActivityID?, _ snapshot: Snapshot
    ) -> [ActivityNumber] {
        if let activity { return snapshot.activityNumbers[.init(device.app, activity)].map { [$0] } ?? [] }
        let all = snapshot.cards.values.filter { $0.device == device.key }
        func rank(_ card: CardMachine) -> Int {
            card.state.mayHaveCard ? 2 : snapshot.activities[card.activity]?.phase == .active ? 1 : 0
        }
        return all.sorted { (rank($0), $0.activity) > (rank($1), $1.activity) }.prefix(maximumActivities)
            .map(\.activity)
    }
}

extension Snapshot {
    fileprivate func device(_ app: BundleID, _ id: DeviceID) -> DeviceRecord? {
        deviceKeys[.init(app, id)].flatMap { devices[$0] }
    }
}
