package import APNSModel

/// A snapshot being changed: reads see earlier changes, and what changed is known by key.
package struct Draft: Sendable {
    package private(set) var snapshot: Snapshot
    package private(set) var changes = Changes()

    /// The keys whose rows differ from what was loaded, or are new.
    package struct Changes: Sendable {
        package var activities: Set<ActivityNumber> = []
        package var contents: Set<ActivityNumber> = []
        package var lanes: Set<ActivityNumber> = []
        package var users: Set<Snapshot.AppID<UserID>> = []
        package var devices: Set<DeviceKey> = []
        package var deviceTokens: Set<Snapshot.DeviceTokenKey> = []
        package var instances: Set<Snapshot.PhoneKey> = []
        package var updateTokens: Set<Snapshot.PhoneKey> = []
        package var removedUpdateTokens: Set<Snapshot.PhoneKey> = []
        package var addedMembers: [(ActivityNumber, UserNumber)] = []
        package var removedMembers: [(ActivityNumber, UserNumber)] = []
        package var tombstones: Set<Snapshot.TombstoneKey> = []
        package var owners: Set<TokenValue> = []
        package var history: [HistoryRecord] = []

        package init() {}

        package var isEmpty: Bool {
            activities.isEmpty && contents.isEmpty && lanes.isEmpty && users.isEmpty && devices.isEmpty
                && deviceTokens.isEmpty && instances.isEmpty && updateTokens.isEmpty && removedUpdateTokens.isEmpty
                && addedMembers.isEmpty && removedMembers.isEmpty && tombstones.isEmpty && owners.isEmpty
                && history.isEmpty
        }
    }

    package init(_ snapshot: Snapshot) {
        self.snapshot = snapshot
    }

    // MARK: - Reading

    package func activity(_ app: BundleID, _ id: ActivityID) -> ActivityRecord? {
        snapshot.activityNumbers[.init(app, id)].flatMap { snapshot.activities[$0] }
    }

    package func device(_ app: BundleID, _ id: DeviceID) -> DeviceRecord? {
        snapshot.deviceKeys[.init(app, id)].flatMap { snapshot.devices[$0] }
    }

    package func lane(of activity: ActivityNumber) -> LaneRecord {
        snapshot.lanes[activity] ?? LaneRecord(activity: activity)
    }

    /// What is known about a phone of an activity; `nil` when its device or instance was not loaded.
    package func phone(_ key: Snapshot.PhoneKey, type: String) -> PhoneSituation? {
        guard let instance = snapshot.instances[key], let device = snapshot.devices[key.device] else { return nil }
        return PhoneSituation(
            instance: instance, device: device, updateToken: snapshot.updateTokens[key],
            pushToStartToken: snapshot.deviceTokens[.init(key.device, .pushToStart, type)],
            hasOtherOpenStart: snapshot.otherOpenStarts.contains(key))
    }

    // MARK: - Changing

    package mutating func put(_ activity: ActivityRecord) {
        snapshot.activities[activity.number] = activity
        snapshot.activityNumbers[.init(activity.app, activity.id)] = activity.number
        changes.activities.insert(activity.number)
    }

    package mutating func put(_ content: ContentRecord) {
        snapshot.contents[content.activity] = content
        changes.contents.insert(content.activity)
    }

    package mutating func put(_ lane: LaneRecord) {
        snapshot.lanes[lane.activity] = lane
        changes.lanes.insert(lane.activity)
    }

    package mutating func put(_ device: DeviceRecord) {
        snapshot.devices[device.key] = device
        snapshot.deviceKeys[.init(device.app, device.id)] = device.key
        changes.devices.insert(device.key)
    }

    package mutating func put(_ token: DeviceTokenRecord) {
        let key = Snapshot.DeviceTokenKey(token.device, token.kind, token.type)
        snapshot.deviceTokens[key] = token
        changes.deviceTokens.insert(key)
    }

    package mutating func put(_ instance: InstanceRecord) {
        let key = Snapshot.PhoneKey(instance.activity, instance.device)
        guard snapshot.instances[key] != instance else { return }
        snapshot.instances[key] = instance
        changes.instances.insert(key)
    }

    package mutating func put(_ token: UpdateTokenRecord) {
        let key = Snapshot.PhoneKey(token.activity, token.device)
        snapshot.updateTokens[key] = token
        changes.updateTokens.insert(key)
        changes.removedUpdateTokens.remove(key)
    }

    package mutating func removeUpdateToken(_ key: Snapshot.PhoneKey) {
        guard snapshot.updateTokens.removeValue(forKey: key) != nil else { return }
        changes.updateTokens.remove(key)
        changes.removedUpdateTokens.insert(key)
    }

    package mutating func put(_ tombstone: TombstoneRecord) {
        let key = Snapshot.TombstoneKey(tombstone.device, tombstone.localID)
        snapshot.tombstones[key] = tombstone
        changes.tombstones.insert(key)
    }

    package mutating func put(_ owner: TokenOwnerRecord) {
        snapshot.owners[owner.value] = owner
        changes.owners.insert(owner.value)
    }

    package mutating func addMember(_ user: UserNumber, to activity: ActivityNumber) {
        guard snapshot.members[activity, default: []].insert(user).inserted else { return }
        changes.addedMembers.append((activity, user))
    }

    package mutating func removeMember(_ user: UserNumber, from activity: ActivityNumber) {
        guard snapshot.members[activity, default: []].remove(user) != nil else { return }
        changes.removedMembers.append((activity, user))
    }

    package mutating func record(_ history: HistoryRecord) {
        changes.history.append(history)
    }

    /// The person's number, made now if nobody spoke of them before.
    package mutating func user(_ app: BundleID, _ id: UserID) -> UserNumber {
        let key = Snapshot.AppID(app, id)
        if let number = snapshot.users[key] { return number }
        let number = snapshot.nextUserNumber
        snapshot.nextUserNumber += 1
        snapshot.users[key] = number
        changes.users.insert(key)
        return number
    }

    package mutating func takeActivityNumber() -> ActivityNumber {
        defer { snapshot.nextActivityNumber += 1 }
        return snapshot.nextActivityNumber
    }
}
