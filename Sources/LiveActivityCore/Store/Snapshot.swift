package import APNSModel

/// Stored rows by their keys.
package struct Snapshot: Sendable, Equatable {
    package struct AppID<ID: Sendable & Hashable>: Sendable, Hashable {
        package let app: BundleID
        package let id: ID
        package init(_ app: BundleID, _ id: ID) {
            self.app = app
            self.id = id
        }
    }
    package typealias OwnerKey = AppID<TokenValue>
    package struct PhoneKey: Sendable, Hashable, Comparable {
        package let activity: ActivityNumber
        package let device: DeviceKey
        package init(_ activity: ActivityNumber, _ device: DeviceKey) {
            self.activity = activity
            self.device = device
        }
        package static func < (left: Self, right: Self) -> Bool {
            (left.activity, left.device) < (right.activity, right.device)
        }
    }
    package struct DeviceTokenKey: Sendable, Hashable, Comparable {
        package let device: DeviceKey
        package let kind: DeviceTokenRecord.Kind
        package let type: String
        package init(_ device: DeviceKey, _ kind: DeviceTokenRecord.Kind, _ type: String) {
            self.device = device
            self.kind = kind
            self.type = type
        }
        package static func < (left: Self, right: Self) -> Bool {
            (left.device, left.kind.rawValue, left.type) < (right.device, right.kind.rawValue, right.type)
        }
    }
    package struct TombstoneKey: Sendable, Hashable, Comparable {
        package let device: DeviceKey
        package let localID: LocalID
        package init(_ device: DeviceKey, _ localID: LocalID) {
            self.device = device
            self.localID = localID
        }
        package static func < (left: Self, right: Self) -> Bool {
            (left.device, left.localID) < (right.device, right.localID)
        }
    }
    /// One person in one activity's audience.
    package struct MemberKey: Sendable, Hashable, Comparable {
        package let activity: ActivityNumber
        package let user: UserNumber
        package init(_ activity: ActivityNumber, _ user: UserNumber) {
            self.activity = activity
            self.user = user
        }
        package static func < (left: Self, right: Self) -> Bool {
            (left.activity, left.user) < (right.activity, right.user)
        }
    }
    /// Key of a page of an audience. Several commands of one group may ask for different pages.
    package struct AudiencePageKey: Sendable, Hashable {
        package let activity: ActivityNumber
        package let after: UserNumber
        package let besides: Int64?
        package init(_ activity: ActivityNumber, after: UserNumber, besides: Int64?) {
            self.activity = activity
            self.after = after
            self.besides = besides
        }
    }
    /// Page of an audience.
    package struct AudiencePage: Sendable, Equatable {
        /// Members to look at, in order.
        package var members: [UserNumber]
        /// Last member of the page, to be looked at or not; `nil` if the page is empty.
        package var last: UserNumber?
        /// `true` if the audience ends here.
        package var isComplete: Bool
        package init(members: [UserNumber], last: UserNumber?, isComplete: Bool) {
            self.members = members
            self.last = last
            self.isComplete = isComplete
        }
    }
    /// Devices to which a notification must be sent now.
    package struct NotificationPage: Sendable, Equatable {
        package var devices: [DeviceKey]
        /// `true` if no due device was left out.
        package var isComplete: Bool
        /// Time at which the next of the other devices is due.
        package var nextDueAt: UnixTime?
        package init(devices: [DeviceKey], isComplete: Bool, nextDueAt: UnixTime? = nil) {
            self.devices = devices
            self.isComplete = isComplete
            self.nextDueAt = nextDueAt
        }
    }
    /// Page of a lane.
    package struct Page: Sendable, Equatable {
        package var devices: [DeviceKey]
        /// `true` if no phone of the range was left out.
        package var isComplete: Bool
        /// Earliest later time at which a single phone of the lane needs a look.
        package var nextLookAt: UnixTime?
        package init(devices: [DeviceKey], isComplete: Bool, nextLookAt: UnixTime? = nil) {
            self.devices = devices
            self.isComplete = isComplete
            self.nextLookAt = nextLookAt
        }
    }

    package var activities: [ActivityNumber: ActivityRecord] = [:]
    package var activityNumbers: [AppID<ActivityID>: ActivityNumber] = [:]
    package var contents: [ActivityNumber: ContentRecord] = [:]
    /// Lanes of each activity, in the order of their ranges, without gaps. An activity has none before its first phone.
    package var lanes: [ActivityNumber: [LaneRecord]] = [:]
    package var users: [AppID<UserID>: UserNumber] = [:]
    package var devices: [DeviceKey: DeviceRecord] = [:]
    /// Facts of devices that are read only for a decision.
    package var facts: [DeviceKey: DeviceFacts] = [:]
    package var deviceKeys: [AppID<DeviceID>: DeviceKey] = [:]
    package var deviceTokens: [DeviceTokenKey: DeviceTokenRecord] = [:]
    package var cards: [PhoneKey: CardMachine] = [:]
    /// All devices of an activity of few phones, in order: the result of `SnapshotKey.activityWithPhones`.
    package var fewPhones: [ActivityNumber: [DeviceKey]] = [:]
    /// Those phones of `fewPhones` that came with what a start needs, and the look of the card that it would start.
    package var startablePhones: [PhoneKey: CardLook] = [:]
    /// Devices that have more cards than `SnapshotKey.device` loads.
    package var devicesWithMore: Set<DeviceKey> = []
    /// Result of `SnapshotKey.devicePage`.
    package var devicePages: [DevicePage.Key: DevicePage] = [:]
    package var updateTokens: [PhoneKey: UpdateTokenRecord] = [:]
    package var members: [ActivityNumber: Set<UserNumber>] = [:]
    /// Number of the audience replacement that named a member last; 0 if none is stored.
    package var memberMarks: [MemberKey: Int64] = [:]
    package var audiences: [ActivityNumber: AudienceRecord] = [:]
    /// Activities of which `members` holds the whole audience.
    package var wholeAudiences: Set<ActivityNumber> = []
    /// Result of `SnapshotKey.audiencePage`.
    package var audiencePages: [AudiencePageKey: AudiencePage] = [:]
    package var idempotency: [AppID<[UInt8]>: IdempotencyRecord] = [:]
    package var tombstones: [TombstoneKey: TombstoneRecord] = [:]
    package var owners: [OwnerKey: TokenOwnerRecord] = [:]
    package var budgets: [BudgetKey: BudgetRecord] = [:]
    package var notifications: [NotificationNumber: NotificationRecord] = [:]
    package var addressees: [AddresseeKey: AddresseeRecord] = [:]
    /// Result of `SnapshotKey.dueNotifications`, in order. `notificationPages` holds the due devices of each.
    package var dueNotifications: [NotificationNumber] = []
    package var notificationPages: [NotificationNumber: NotificationPage] = [:]
    /// Result of `SnapshotKey.due`, in order.
    package var due: [LaneKey] = []
    /// Activities of `due` whose lanes must learn about a new lap.
    package var woken: [ActivityNumber] = []
    /// Phones of each due lane's page, in the order in which to look at them.
    package var pages: [LaneKey: Page] = [:]
    /// Number of phones in the lower half of each lane that should split.
    package var lowerHalves: [LaneKey: LaneCounts] = [:]
    /// Phones whose device has an open start of another activity with a card that could not be told apart from theirs.
    package var otherOpenStarts: Set<PhoneKey> = []
    /// Cards of their app that devices show, in the order of the activities. Loaded only where `DueLanes.counting` asks
    /// for them.
    package var deviceCards: [DeviceKey: [DeviceCard]] = [:]
    /// Descriptions of work that a claim had to skip because it could not be read.
    package var unreadable: [String] = []
    package var refreshes: [RefreshKey: RefreshRecord] = [:]
    package var memos: [MemoKey: MemoRecord] = [:]
    /// Result of `SnapshotKey.dueRefreshes`, in order.
    package var dueRefreshes: [RefreshKey] = []
    /// Channels of the loaded activities, or of a route.
    package var channels: [ChannelKey: ChannelRecord] = [:]
    /// Channels of a route that this server has not made.
    package var strangers: Set<StrangerKey> = []
    /// Result of `SnapshotKey.dueChannels`, in order.
    package var dueChannels: [ChannelKey] = []
    package var nextActivityNumber: ActivityNumber = 1
    package var nextUserNumber: UserNumber = 1

    package init() {}

    /// Maximum number of phones of an activity that `SnapshotKey.activityWithPhones` loads.
    package static let maximumFewPhones = 32

    /// Type and attributes of a card. Two open starts on a device that are equal in both cannot be told apart.
    package struct CardLook: Sendable, Equatable {
        let type: String
        let attributesDigest: UInt64?
    }

    func cardLook(of activity: ActivityNumber) -> CardLook? {
        activities[activity].map { CardLook(type: $0.type, attributesDigest: contents[activity]?.attributesDigest) }
    }

    /// Adds a phone that is loaded to those of its activity.
    package mutating func addFewPhone(_ key: PhoneKey) {
        fewPhones[key.activity, default: []].append(key.device)
        guard cards[key]?.needsDevice(in: activities[key.activity]) ?? true else { return }
        startablePhones[key] = cardLook(of: key.activity)
    }
}

extension Snapshot {
    /// Returns the lane that a device belongs to; `nil` if the activity has none yet.
    package func lane(of device: DeviceKey, in activity: ActivityNumber) -> LaneRecord? {
        guard let lanes = lanes[activity], let first = lanes.first else { return nil }
        guard lanes.count > 1 else { return first }
        var (low, high) = (0, lanes.count - 1)
        while low < high {
            let middle = (low + high + 1) / 2
            if lanes[middle].fromDevice <= device { low = middle } else { high = middle - 1 }
        }
        return lanes[low]
    }

    package func lane(_ key: LaneKey) -> LaneRecord? {
        guard let lane = lane(of: key.fromDevice, in: key.activity), lane.fromDevice == key.fromDevice else {
            return nil
        }
        return lane
    }

    /// Replaces the lane that begins at the same device, or inserts this one in order.
    package mutating func place(_ lane: LaneRecord) {
        var all = lanes[lane.activity] ?? []
        lanes[lane.activity] = nil
        let index = all.firstIndex { $0.fromDevice >= lane.fromDevice } ?? all.endIndex
        if index < all.endIndex, all[index].fromDevice == lane.fromDevice {
            all[index] = lane
        } else {
            all.insert(lane, at: index)
        }
        lanes[lane.activity] = all
    }
}

/// Index of a snapshot's rows by device and person. Without it, a group of a thousand commands would search the
/// snapshot a thousand times.
package struct DeviceIndex: Sendable {
    package private(set) var activities: [DeviceKey: Set<ActivityNumber>] = [:]
    package private(set) var tokens: [DeviceKey: Set<Snapshot.DeviceTokenKey>] = [:]
    package private(set) var devices: [UserNumber: Set<DeviceKey>] = [:]
    package private(set) var memberships: [UserNumber: Set<ActivityNumber>] = [:]
    package private(set) var tombstones: [DeviceKey: Set<LocalID>] = [:]

    init(_ snapshot: Snapshot) {
        for key in snapshot.cards.keys { add(key) }
        for key in snapshot.deviceTokens.keys { add(key) }
        for device in snapshot.devices.values { add(device) }
        for key in snapshot.tombstones.keys { add(key) }
        for (activity, users) in snapshot.members {
            for user in users { memberships[user, default: []].insert(activity) }
        }
    }

    mutating func add(_ key: Snapshot.PhoneKey) { activities[key.device, default: []].insert(key.activity) }
    mutating func remove(_ key: Snapshot.PhoneKey) { activities[key.device]?.remove(key.activity) }
    mutating func add(_ key: Snapshot.DeviceTokenKey) { tokens[key.device, default: []].insert(key) }
    mutating func remove(_ key: Snapshot.DeviceTokenKey) { tokens[key.device]?.remove(key) }
    mutating func add(_ key: Snapshot.TombstoneKey) { tombstones[key.device, default: []].insert(key.localID) }
    mutating func remove(_ key: Snapshot.TombstoneKey) { tombstones[key.device]?.remove(key.localID) }
    mutating func add(_ device: DeviceRecord) { devices[device.user, default: []].insert(device.key) }
    mutating func remove(_ device: DeviceRecord) { devices[device.user]?.remove(device.key) }
    mutating func add(_ user: UserNumber, to activity: ActivityNumber) {
        memberships[user, default: []].insert(activity)
    }
    mutating func remove(_ user: UserNumber, from activity: ActivityNumber) {
        memberships[user]?.remove(activity)
    }
}
