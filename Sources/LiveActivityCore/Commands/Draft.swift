package import APNSModel

/// A snapshot being changed by one command after another: reads see earlier changes, what changed is known by key, and
/// what a refused command did is undone.
package struct Draft: Sendable {
    package internal(set) var snapshot: Snapshot
    package internal(set) var changes = Changes()
    /// Made when first asked for, and kept true from then on.
    private var index: DeviceIndex?
    /// Activities whose members or their marks a command has changed; a refused one leaves its own here.
    var touchedAudiences: Set<ActivityNumber> = []
    /// A command has given an activity's card to one device alone: of that activity the others were not loaded for who
    /// signs in. A refused one leaves this too.
    var narrowsDevices = false
    /// How to undo the command that is running; `nil` when none is that may be refused.
    private var journal: [@Sendable (inout Draft) -> Void]?

    package init(_ snapshot: Snapshot) {
        self.snapshot = snapshot
    }

    // MARK: - Running

    /// Runs a command on what those before it left. A refused one leaves nothing.
    package mutating func run<C: Command>(_ command: C) -> Result<C.Reply, Refusal> {
        journal = C.mayBeRefused ? [] : nil
        defer { journal = nil }
        do throws(Refusal) {
            return .success(try command.decide(&self))
        } catch {
            let undo = journal ?? []
            journal = nil
            for step in undo.reversed() { step(&self) }
            return .failure(error)
        }
    }

    /// Runs a command as a step of another one. A refused step leaves nothing, and the whole may go on.
    mutating func step<C: Command>(_ command: C) -> Result<C.Reply, Refusal> {
        step { (draft) throws(Refusal) in try command.decide(&draft) }
    }

    /// The same of a part of a command.
    mutating func step<Reply>(_ decide: (inout Draft) throws(Refusal) -> Reply) -> Result<Reply, Refusal> {
        let outer = journal
        journal = []
        defer { journal = outer.map { $0 + (journal ?? []) } }
        do throws(Refusal) {
            return .success(try decide(&self))
        } catch {
            let undo = journal ?? []
            journal = []
            for step in undo.reversed() { step(&self) }
            journal = []
            return .failure(error)
        }
    }

    mutating func onRefusal(_ undo: @escaping @Sendable (inout Draft) -> Void) {
        journal?.append(undo)
    }

    // MARK: - Reading

    package func activity(_ app: BundleID, _ id: ActivityID) -> ActivityRecord? {
        snapshot.activityNumbers[.init(app, id)].flatMap { snapshot.activities[$0] }
    }

    package func device(_ app: BundleID, _ id: DeviceID) -> DeviceRecord? {
        snapshot.deviceKeys[.init(app, id)].flatMap { snapshot.devices[$0] }
    }

    package func audience(of activity: ActivityNumber) -> AudienceRecord {
        snapshot.audiences[activity] ?? AudienceRecord(activity: activity)
    }

    /// The instances that were loaded of a device, in order.
    package mutating func phones(on device: DeviceKey) -> [Snapshot.PhoneKey] {
        indexed().activities[device, default: []].sorted().map { Snapshot.PhoneKey($0, device) }
    }

    /// The tokens that were loaded of a device, in order.
    package mutating func tokens(of device: DeviceKey) -> [Snapshot.DeviceTokenKey] {
        indexed().tokens[device, default: []].sorted()
    }

    /// The cards that are over and were loaded of a device, in order.
    mutating func tombstones(of device: DeviceKey) -> [TombstoneRecord] {
        indexed().tombstones[device, default: []].sorted().compactMap { snapshot.tombstones[.init(device, $0)] }
    }

    /// The devices that were loaded of a person, in order.
    package mutating func devices(of user: UserNumber) -> [DeviceRecord] {
        indexed().devices[user, default: []].sorted().compactMap { snapshot.devices[$0] }
    }

    /// The activities that were loaded of whose audience a person is, in order.
    package mutating func memberships(of user: UserNumber) -> [ActivityNumber] {
        indexed().memberships[user, default: []].sorted()
    }

    private mutating func indexed() -> DeviceIndex {
        if let index { return index }
        let made = DeviceIndex(snapshot)
        index = made
        return made
    }

    /// What is known about a phone of an activity; `nil` when its device or instance was not loaded.
    package func phone(_ key: Snapshot.PhoneKey, type: String) -> PhoneSituation? {
        guard let instance = snapshot.instances[key],
            let device = snapshot.devices[key.device]?.facts ?? snapshot.facts[key.device]
        else { return nil }
        var phone = PhoneSituation(
            instance: instance, device: device, updateToken: snapshot.updateTokens[key],
            pushToStartToken: snapshot.deviceTokens[.init(key.device, .pushToStart, type)],
            deviceToken: snapshot.deviceTokens[.init(key.device, .device, "")],
            hasOtherOpenStart: snapshot.otherOpenStarts.contains(key),
            highBudget: snapshot.budgets[.init(key.device, .high)],
            startBudget: snapshot.budgets[.init(key.device, .start)])
        if !snapshot.cards.isEmpty {
            phone.cards = snapshot.cards[key.device]?.filter { $0.activity != key.activity }
        }
        return phone
    }

    // MARK: - Changing

    package mutating func put(_ activity: ActivityRecord) {
        let (old, was) = (snapshot.activities[activity.number], changes.activities.contains(activity.number))
        guard old != activity else { return }
        if activity.devices == .lastActive, let old, old.devices != .lastActive { narrowsDevices = true }
        let key = Snapshot.AppID(activity.app, activity.id)
        snapshot.activities[activity.number] = activity
        snapshot.activityNumbers[key] = activity.number
        changes.activities.insert(activity.number)
        let isMoved = old.map { !$0.stands(where: activity) } ?? true
        let isFirstMove = isMoved && changes.movedActivities.insert(activity.number).inserted
        onRefusal { draft in
            if isFirstMove { draft.changes.movedActivities.remove(activity.number) }
            draft.snapshot.activities[activity.number] = old
            if old == nil { draft.snapshot.activityNumbers[key] = nil }
            if !was { draft.changes.activities.remove(activity.number) }
        }
    }

    package mutating func put(_ content: ContentRecord) {
        let (old, was) = (snapshot.contents[content.activity], changes.contents.contains(content.activity))
        snapshot.contents[content.activity] = content
        changes.contents.insert(content.activity)
        onRefusal { draft in
            draft.snapshot.contents[content.activity] = old
            if !was { draft.changes.contents.remove(content.activity) }
        }
    }

    package mutating func put(_ lane: LaneRecord) {
        let key = lane.key
        let (old, was) = (snapshot.lanes[lane.activity], changes.lanes.contains(key))
        guard snapshot.lane(key) != lane else { return }
        snapshot.place(lane)
        changes.lanes.insert(key)
        onRefusal { draft in
            draft.snapshot.lanes[lane.activity] = old
            if !was { draft.changes.lanes.remove(key) }
        }
    }

    /// Changes a lane where it stands; one that is not there is made first.
    package mutating func change(_ key: LaneKey, _ change: (inout LaneRecord) -> Void) {
        var lane = snapshot.lane(key) ?? LaneRecord(activity: key.activity)
        change(&lane)
        put(lane)
    }

    package mutating func put(_ device: DeviceRecord) {
        let (old, was) = (snapshot.devices[device.key], changes.devices.contains(device.key))
        guard old != device else { return }
        let key = Snapshot.AppID(device.app, device.id)
        snapshot.devices[device.key] = device
        snapshot.deviceKeys[key] = device.key
        changes.devices.insert(device.key)
        if let old { index?.remove(old) }
        index?.add(device)
        onRefusal { draft in
            draft.snapshot.devices[device.key] = old
            if old == nil { draft.snapshot.deviceKeys[key] = nil }
            if !was { draft.changes.devices.remove(device.key) }
            draft.index?.remove(device)
            if let old { draft.index?.add(old) }
        }
    }

    package mutating func put(_ token: DeviceTokenRecord) {
        let key = Snapshot.DeviceTokenKey(token.device, token.kind, token.type)
        let (old, was) = (snapshot.deviceTokens[key], changes.deviceTokens.contains(key))
        guard old != token else { return }
        snapshot.deviceTokens[key] = token
        changes.deviceTokens.insert(key)
        index?.add(key)
        onRefusal { draft in
            draft.snapshot.deviceTokens[key] = old
            if !was { draft.changes.deviceTokens.remove(key) }
            if old == nil { draft.index?.remove(key) }
        }
    }

    /// Its lane counts it, and looks at it when it wants to be looked at.
    package mutating func put(_ instance: InstanceRecord) {
        let key = Snapshot.PhoneKey(instance.activity, instance.device)
        let (old, was) = (snapshot.instances[key], changes.instances.contains(key))
        guard old != instance else { return }
        snapshot.instances[key] = instance
        changes.instances.insert(key)
        if old == nil { index?.add(key) }
        let hadMoved = changes.movedInstances.contains(key)
        if old?.state != instance.state || old?.localID != instance.localID { changes.movedInstances.insert(key) }
        if old?.state != instance.state || (instance.lookAt != nil && old?.lookAt != instance.lookAt) {
            var lane = snapshot.lane(of: key.device, in: key.activity) ?? LaneRecord(activity: key.activity)
            if let old { lane.counts.count(old.state, -1) }
            lane.counts.count(instance.state, 1)
            if let time = instance.lookAt, old?.lookAt != time { lane.look(at: time) }
            put(lane)
        }
        onRefusal { draft in
            draft.snapshot.instances[key] = old
            if !was { draft.changes.instances.remove(key) }
            if !hadMoved { draft.changes.movedInstances.remove(key) }
            if old == nil { draft.index?.remove(key) }
        }
    }

    package mutating func put(_ tombstone: TombstoneRecord) {
        let key = Snapshot.TombstoneKey(tombstone.device, tombstone.localID)
        let (old, was) = (snapshot.tombstones[key], changes.tombstones.contains(key))
        let wasRemoved = changes.removedTombstones.remove(key) != nil
        snapshot.tombstones[key] = tombstone
        changes.tombstones.insert(key)
        index?.add(key)
        onRefusal { draft in
            draft.snapshot.tombstones[key] = old
            if !was { draft.changes.tombstones.remove(key) }
            if wasRemoved { draft.changes.removedTombstones.insert(key) }
            if old == nil { draft.index?.remove(key) }
        }
    }

    mutating func remove(_ key: Snapshot.TombstoneKey) {
        guard let old = snapshot.tombstones.removeValue(forKey: key) else { return }
        let was = changes.tombstones.remove(key) != nil
        changes.removedTombstones.insert(key)
        index?.remove(key)
        onRefusal { draft in
            draft.snapshot.tombstones[key] = old
            if was { draft.changes.tombstones.insert(key) }
            draft.changes.removedTombstones.remove(key)
            draft.index?.add(key)
        }
    }

    package mutating func put(_ budget: BudgetRecord) {
        let (old, was) = (snapshot.budgets[budget.key], changes.budgets.contains(budget.key))
        snapshot.budgets[budget.key] = budget
        changes.budgets.insert(budget.key)
        onRefusal { draft in
            draft.snapshot.budgets[budget.key] = old
            if !was { draft.changes.budgets.remove(budget.key) }
        }
    }

    package mutating func addMember(_ user: UserNumber, to activity: ActivityNumber) {
        let isNew = snapshot.members[activity] == nil
        guard snapshot.members[activity, default: []].insert(user).inserted else { return }
        touchedAudiences.insert(activity)
        let key = Snapshot.MemberKey(activity, user)
        let wasRemoved = changes.removedMembers.remove(key) != nil
        // The row of one who left and is back still stands, with the mark of then.
        if wasRemoved { changes.memberMarks.insert(key) } else { changes.addedMembers.insert(key) }
        index?.add(user, to: activity)
        onRefusal { draft in
            if isNew { draft.snapshot.members[activity] = nil } else { draft.snapshot.members[activity]?.remove(user) }
            if wasRemoved {
                draft.changes.removedMembers.insert(key)
                draft.changes.memberMarks.remove(key)
            } else {
                draft.changes.addedMembers.remove(key)
            }
            draft.index?.remove(user, from: activity)
        }
    }

    package mutating func removeMember(_ user: UserNumber, from activity: ActivityNumber) {
        guard snapshot.members[activity]?.remove(user) != nil else { return }
        touchedAudiences.insert(activity)
        let key = Snapshot.MemberKey(activity, user)
        let wasAdded = changes.addedMembers.remove(key) != nil
        if !wasAdded { changes.removedMembers.insert(key) }
        let (mark, wasMarked) = (snapshot.memberMarks[key], changes.memberMarks.contains(key))
        snapshot.memberMarks[key] = nil
        changes.memberMarks.remove(key)
        index?.remove(user, from: activity)
        onRefusal { draft in
            draft.snapshot.members[activity, default: []].insert(user)
            if wasAdded { draft.changes.addedMembers.insert(key) } else { draft.changes.removedMembers.remove(key) }
            draft.snapshot.memberMarks[key] = mark
            if wasMarked { draft.changes.memberMarks.insert(key) }
            draft.index?.add(user, to: activity)
        }
    }

    package mutating func record(_ history: HistoryRecord) {
        changes.history.append(history)
        onRefusal { draft in draft.changes.history.removeLast() }
    }

    /// The person's number, made now if nobody spoke of them before.
    package mutating func user(_ app: BundleID, _ id: UserID) -> UserNumber {
        let key = Snapshot.AppID(app, id)
        if let number = snapshot.users[key] { return number }
        let number = snapshot.nextUserNumber
        snapshot.nextUserNumber += 1
        snapshot.users[key] = number
        changes.users.insert(key)
        onRefusal { draft in
            draft.snapshot.nextUserNumber = number
            draft.snapshot.users[key] = nil
            draft.changes.users.remove(key)
        }
        return number
    }

    package mutating func takeActivityNumber() -> ActivityNumber {
        let number = snapshot.nextActivityNumber
        snapshot.nextActivityNumber += 1
        // Nobody is in the audience of an activity that is not there yet.
        snapshot.wholeAudiences.insert(number)
        onRefusal { draft in
            draft.snapshot.nextActivityNumber = number
            draft.snapshot.wholeAudiences.remove(number)
        }
        return number
    }
}
