package import APNSModel

extension Draft {
    /// Keys of the rows that are new or differ from what was loaded.
    package struct Changes: Sendable, Equatable {
        package var activities: Set<ActivityNumber> = []
        /// Activities of `activities` whose place in a list changes: new ones, and those with another phase, run or
        /// end.
        package var movedActivities: Set<ActivityNumber> = []
        package var contents: Set<ActivityNumber> = []
        package var lanes: Set<LaneKey> = []
        package var users: Set<Snapshot.AppID<UserID>> = []
        package var devices: Set<DeviceKey> = []
        package var deviceTokens: Set<Snapshot.DeviceTokenKey> = []
        package var cards: Set<Snapshot.PhoneKey> = []
        /// Cards of `cards` that are new, or whose state or local id changed. These columns find a device's cards.
        package var movedCards: Set<Snapshot.PhoneKey> = []
        package var updateTokens: Set<Snapshot.PhoneKey> = []
        package var removedUpdateTokens: Set<Snapshot.PhoneKey> = []
        package var addedMembers: Set<Snapshot.MemberKey> = []
        package var removedMembers: Set<Snapshot.MemberKey> = []
        /// Members, new or old, whose mark has changed.
        package var memberMarks: Set<Snapshot.MemberKey> = []
        package var audiences: Set<ActivityNumber> = []
        package var idempotency: Set<Snapshot.AppID<[UInt8]>> = []
        package var tombstones: Set<Snapshot.TombstoneKey> = []
        package var removedTombstones: Set<Snapshot.TombstoneKey> = []
        package var owners: Set<Snapshot.OwnerKey> = []
        /// Times at which a holder released a token value whose owner was not loaded.
        package var releases: [TokenRelease: UnixTime] = [:]
        package var budgets: Set<BudgetKey> = []
        package var notifications: Set<NotificationNumber> = []
        package var removedNotifications: Set<NotificationNumber> = []
        package var addressees: Set<AddresseeKey> = []
        package var removedAddressees: Set<AddresseeKey> = []
        package var history: [HistoryRecord] = []
        /// Events in the order in which they happened.
        package var events: [EventRecord] = []
        package var refreshes: Set<RefreshKey> = []
        package var memos: Set<MemoKey> = []
        package var removedMemos: Set<MemoKey> = []
        package var channels: Set<ChannelKey> = []
        package var removedChannels: Set<ChannelKey> = []
        package var strangers: Set<StrangerKey> = []
        package var removedStrangers: Set<StrangerKey> = []
        /// Counts that are published after the commit. They are not stored.
        package var tally = Tally()

        package init() {}

        package var isEmpty: Bool {
            var rows = self
            rows.tally = Tally()
            return rows == Self()
        }
    }
}

extension Draft {
    /// Counts an event once this draft is committed.
    package mutating func count(_ event: Tally.Event, _ times: Int = 1) {
        changes.tally.count(event, times)
        onRefusal { draft in draft.changes.tally.count(event, -times) }
    }

    /// Records a measured value once this draft is committed.
    package mutating func observe(_ measure: Tally.Measure, _ value: Double) {
        let old = changes.tally.measures[measure]
        changes.tally.observe(measure, value)
        onRefusal { draft in draft.changes.tally.restore(measure, old) }
    }
}
