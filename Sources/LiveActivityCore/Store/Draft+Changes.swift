package import APNSModel

extension Draft {
    /// The keys whose rows differ from what was loaded, or are new.
    package struct Changes: Sendable, Equatable {
        package var activities: Set<ActivityNumber> = []
        /// Of these those that stand elsewhere in a list than they did: new ones, and those whose phase, run or end is
        /// another.
        package var movedActivities: Set<ActivityNumber> = []
        package var contents: Set<ActivityNumber> = []
        package var lanes: Set<LaneKey> = []
        package var users: Set<Snapshot.AppID<UserID>> = []
        package var devices: Set<DeviceKey> = []
        package var deviceTokens: Set<Snapshot.DeviceTokenKey> = []
        package var cards: Set<Snapshot.PhoneKey> = []
        /// Of these those whose state or card is another, which a device's cards are found by, and new ones.
        package var movedCards: Set<Snapshot.PhoneKey> = []
        package var updateTokens: Set<Snapshot.PhoneKey> = []
        package var removedUpdateTokens: Set<Snapshot.PhoneKey> = []
        package var addedMembers: Set<Snapshot.MemberKey> = []
        package var removedMembers: Set<Snapshot.MemberKey> = []
        /// Members, new ones or old, whose mark is another now.
        package var memberMarks: Set<Snapshot.MemberKey> = []
        package var audiences: Set<ActivityNumber> = []
        package var idempotency: Set<Snapshot.AppID<[UInt8]>> = []
        package var tombstones: Set<Snapshot.TombstoneKey> = []
        package var removedTombstones: Set<Snapshot.TombstoneKey> = []
        package var owners: Set<Snapshot.OwnerKey> = []
        /// Who let go of a value when, where its owner was not loaded.
        package var releases: [TokenRelease: UnixTime] = [:]
        package var budgets: Set<BudgetKey> = []
        package var notifications: Set<NotificationNumber> = []
        package var removedNotifications: Set<NotificationNumber> = []
        package var addressees: Set<AddresseeKey> = []
        package var removedAddressees: Set<AddresseeKey> = []
        package var history: [HistoryRecord] = []
        /// In the order in which they happened.
        package var events: [EventRecord] = []
        package var refreshes: Set<RefreshKey> = []
        package var memos: Set<MemoKey> = []
        package var removedMemos: Set<MemoKey> = []
        /// What is counted once this is committed; no row.
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
    /// Counts something once this is committed.
    package mutating func count(_ event: Tally.Event, _ times: Int = 1) {
        changes.tally.count(event, times)
        onRefusal { draft in draft.changes.tally.count(event, -times) }
    }

    /// Counts a measured value once this is committed.
    package mutating func observe(_ measure: Tally.Measure, _ value: Double) {
        let old = changes.tally.measures[measure]
        changes.tally.observe(measure, value)
        onRefusal { draft in draft.changes.tally.restore(measure, old) }
    }
}
