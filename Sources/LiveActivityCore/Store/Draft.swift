package import APNSModel

/// Snapshot that commands change one after another. Reads see earlier changes, and changed rows are known by key. The
/// changes of a refused command are undone.
package struct Draft: Sendable {
    package internal(set) var snapshot: Snapshot
    package internal(set) var changes = Changes()
    /// Index of the snapshot, made on first use and updated with each change.
    private var index: DeviceIndex?
    /// Activities whose members or member marks a command has changed. A refused command leaves its own entries here.
    var touchedAudiences: Set<ActivityNumber> = []
    /// `true` if a command has limited an activity's card to one device. For a sign-in, the other devices' cards of
    /// that activity were not loaded. A refused command leaves this set.
    var narrowsDevices = false
    /// Steps that undo the running command; `nil` if no command that may be refused is running.
    private var journal: [@Sendable (inout Draft) -> Void]?

    typealias Rows<Key: Hashable, Row> = any WritableKeyPath<Snapshot, [Key: Row]> & Sendable
    /// Keys of a table's rows to write or to erase.
    typealias Marks<Key: Hashable> = any WritableKeyPath<Changes, Set<Key>> & Sendable

    package init(_ snapshot: Snapshot) {
        self.snapshot = snapshot
    }

    // MARK: - Running

    /// Runs a command on the result of the earlier ones. A refused command leaves no change.
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

    /// Runs a command as a step of another one. A refused step leaves no change, and the outer command may continue.
    mutating func step<C: Command>(_ command: C) -> Result<C.Reply, Refusal> {
        step { (draft) throws(Refusal) in try command.decide(&draft) }
    }

    /// Runs a part of a command as a step. A refused step leaves no change, and the command may continue.
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

    /// Returns the loaded cards of a device, in order.
    package mutating func phones(on device: DeviceKey) -> [Snapshot.PhoneKey] {
        indexed().activities[device, default: []].sorted().map { Snapshot.PhoneKey($0, device) }
    }

    /// Returns the loaded tokens of a device, in order.
    package mutating func tokens(of device: DeviceKey) -> [Snapshot.DeviceTokenKey] {
        indexed().tokens[device, default: []].sorted()
    }

    /// Returns the loaded tombstones of a device, in order.
    mutating func tombstones(of device: DeviceKey) -> [TombstoneRecord] {
        indexed().tombstones[device, default: []].sorted().compactMap { snapshot.tombstones[.init(device, $0)] }
    }

    /// Returns the loaded devices of a person, in order.
    package mutating func devices(of user: UserNumber) -> [DeviceRecord] {
        indexed().devices[user, default: []].sorted().compactMap { snapshot.devices[$0] }
    }

    /// Returns the loaded activities whose audience includes a person, in order.
    package mutating func memberships(of user: UserNumber) -> [ActivityNumber] {
        indexed().memberships[user, default: []].sorted()
    }

    private mutating func indexed() -> DeviceIndex {
        if let index { return index }
        let made = DeviceIndex(snapshot)
        index = made
        return made
    }

    /// Returns what is known about an activity's phone; `nil` if its device or its card was not loaded.
    package func phone(_ key: Snapshot.PhoneKey, type: String) -> PhoneSituation? {
        guard let card = snapshot.cards[key],
            let device = snapshot.devices[key.device]?.facts ?? snapshot.facts[key.device]
        else { return nil }
        var phone = PhoneSituation(
            card: card, device: device, updateToken: snapshot.updateTokens[key],
            pushToStartToken: snapshot.deviceTokens[.init(key.device, .pushToStart, type)],
            deviceToken: snapshot.deviceTokens[.init(key.device, .device, "")],
            hasOtherOpenStart: snapshot.otherOpenStarts.contains(key),
            highBudget: snapshot.budgets[.init(key.device, .high)],
            startBudget: snapshot.budgets[.init(key.device, .start)])
        if !snapshot.deviceCards.isEmpty {
            phone.deviceCards = snapshot.deviceCards[key.device]?.filter { $0.activity != key.activity }
        }
        return phone
    }

    /// Returns all phones of an activity, ordered by key. Returns `nil` if they are many, or if the draft does not hold
    /// everything that a read would find, as for a phone that a command has added.
    package func fewPhones(of activity: ActivityRecord) -> [PhoneSituation]? {
        let total = (snapshot.lanes[activity.number] ?? []).reduce(0) { $0 + $1.counts.total }
        let devices = snapshot.fewPhones[activity.number] ?? []
        guard devices.count == total else { return nil }
        let othersHaveChanged =
            changes.cards.contains { $0.activity != activity.number }
            || changes.contents.contains { $0 != activity.number }
        var phones: [PhoneSituation] = []
        for device in devices {
            let key = Snapshot.PhoneKey(activity.number, device)
            guard var phone = phone(key, type: activity.type) else { return nil }
            if !phone.card.needsDevice(in: activity) {
                // Another command may have asked for it.
                phone.forgetDevice()
            } else if othersHaveChanged || snapshot.startablePhones[key] != snapshot.cardLook(of: activity.number) {
                // A start may be held behind another whose card looks the same.
                return nil
            }
            phones.append(phone)
        }
        return phones
    }

    /// Earliest time at which a changed row has work for the dispatcher; `nil` if none has.
    package var workDueAt: UnixTime? {
        let activities = changes.activities.lazy.compactMap { snapshot.activities[$0]?.wakeAt }.min()
        let lanes = changes.lanes.lazy.compactMap { snapshot.lane($0)?.nextAt }.min()
        let notifications = changes.notifications.lazy.compactMap { snapshot.notifications[$0]?.nextAt }.min()
        return [activities, lanes, notifications].compactMap { $0 }.min()
    }

    // MARK: - Changing

    /// Puts a row into a table and marks it to be written. A refusal undoes both.
    @inline(__always)
    mutating func write<Key: Hashable & Sendable, Row: Sendable>(
        _ row: Row, at key: Key, _ rows: Rows<Key, Row>, _ put: Marks<Key>
    ) {
        let old = snapshot[keyPath: rows].updateValue(row, forKey: key)
        mark(key, put)
        onRefusal { draft in draft.snapshot[keyPath: rows][key] = old }
    }

    /// Puts a row into a table and marks it to be written, unless an equal row is already there. A refusal undoes both.
    ///
    /// - Returns: The earlier row, which is `nil` if there was none. The outer optional is `nil` if an equal row was
    ///   there.
    @inline(__always)
    mutating func replace<Key: Hashable & Sendable, Row: Equatable & Sendable>(
        _ row: Row, at key: Key, _ rows: Rows<Key, Row>, _ put: Marks<Key>
    ) -> Row?? {
        let old = snapshot[keyPath: rows].updateValue(row, forKey: key)
        guard old != row else { return nil }
        mark(key, put)
        onRefusal { draft in draft.snapshot[keyPath: rows][key] = old }
        return .some(old)
    }

    /// Puts a row into a table whose rows may be erased. The row is marked to be written, and no longer to be erased.
    @inline(__always)
    mutating func write<Key: Hashable & Sendable, Row: Sendable>(
        _ row: Row, at key: Key, _ rows: Rows<Key, Row>, _ put: Marks<Key>, removed: Marks<Key>
    ) {
        write(row, at: key, rows, put)
        unmark(key, removed)
    }

    /// Removes a row from a table and marks it to be erased. A refusal undoes both.
    ///
    /// - Returns: The removed row; `nil` if there was none.
    @inline(__always) @discardableResult
    mutating func erase<Key: Hashable & Sendable, Row: Sendable>(
        _ key: Key, _ rows: Rows<Key, Row>, _ put: Marks<Key>, removed: Marks<Key>
    ) -> Row? {
        guard let old = snapshot[keyPath: rows].removeValue(forKey: key) else { return nil }
        unmark(key, put)
        mark(key, removed)
        onRefusal { draft in draft.snapshot[keyPath: rows][key] = old }
        return old
    }

    /// Marks a key.
    ///
    /// - Returns: `true` if it was not marked before.
    @inline(__always) @discardableResult
    mutating func mark<Key: Hashable & Sendable>(_ key: Key, _ marks: Marks<Key>) -> Bool {
        guard changes[keyPath: marks].insert(key).inserted else { return false }
        onRefusal { draft in draft.changes[keyPath: marks].remove(key) }
        return true
    }

    /// Removes the mark of a key.
    ///
    /// - Returns: `true` if it was marked before.
    @inline(__always) @discardableResult
    mutating func unmark<Key: Hashable & Sendable>(_ key: Key, _ marks: Marks<Key>) -> Bool {
        guard changes[keyPath: marks].remove(key) != nil else { return false }
        onRefusal { draft in draft.changes[keyPath: marks].insert(key) }
        return true
    }

    package mutating func put(_ activity: ActivityRecord) {
        guard let old = replace(activity, at: activity.number, \.activities, \.activities) else { return }
        if activity.devices == .lastActive, let old, old.devices != .lastActive { narrowsDevices = true }
        if old.map({ !$0.stands(where: activity) }) ?? true { mark(activity.number, \.movedActivities) }
        if activity.hasChannels, old.map({ $0.lap != activity.lap || !$0.stands(where: activity) }) ?? false {
            lookAtChannels(of: activity)
        }
        guard old == nil else { return }
        let key = Snapshot.AppID(activity.app, activity.id)
        snapshot.activityNumbers[key] = activity.number
        onRefusal { draft in draft.snapshot.activityNumbers[key] = nil }
    }

    package mutating func put(_ content: ContentRecord) {
        write(content, at: content.activity, \.contents, \.contents)
    }

    package mutating func put(_ lane: LaneRecord) {
        guard snapshot.lane(lane.key) != lane else { return }
        let old = snapshot.lanes[lane.activity]
        snapshot.place(lane)
        mark(lane.key, \.lanes)
        onRefusal { draft in draft.snapshot.lanes[lane.activity] = old }
    }

    /// Changes a lane. If the lane does not exist, it is created first.
    package mutating func change(_ key: LaneKey, _ change: (inout LaneRecord) -> Void) {
        var lane = snapshot.lane(key) ?? LaneRecord(activity: key.activity)
        change(&lane)
        put(lane)
    }

    package mutating func put(_ device: DeviceRecord) {
        guard let old = replace(device, at: device.key, \.devices, \.devices) else { return }
        let key = Snapshot.AppID(device.app, device.id)
        snapshot.deviceKeys[key] = device.key
        if let old { index?.remove(old) }
        index?.add(device)
        onRefusal { draft in
            if old == nil { draft.snapshot.deviceKeys[key] = nil }
            draft.index?.remove(device)
            if let old { draft.index?.add(old) }
        }
    }

    package mutating func put(_ token: DeviceTokenRecord) {
        let key = Snapshot.DeviceTokenKey(token.device, token.kind, token.type)
        guard let old = replace(token, at: key, \.deviceTokens, \.deviceTokens), old == nil else { return }
        index?.add(key)
        onRefusal { draft in draft.index?.remove(key) }
    }

    /// Puts a card, and updates its lane's counts and the time of the lane's next look.
    package mutating func put(_ card: CardMachine) {
        let key = Snapshot.PhoneKey(card.activity, card.device)
        guard let old = replace(card, at: key, \.cards, \.cards) else { return }
        if old == nil {
            index?.add(key)
            onRefusal { draft in draft.index?.remove(key) }
        }
        if old?.state != card.state || old?.localID != card.localID { mark(key, \.movedCards) }
        let isCountedAnew =
            old?.state != card.state || old?.run != card.run || old?.subscription == nil && card.subscription != nil
            || old?.subscription != nil && card.subscription == nil
        if isCountedAnew || (card.lookAt != nil && old?.lookAt != card.lookAt) {
            var lane = snapshot.lane(of: key.device, in: key.activity) ?? LaneRecord(activity: key.activity)
            if let old { lane.count(old, -1) }
            lane.count(card, 1)
            if let time = card.lookAt, old?.lookAt != time { lane.look(at: time) }
            put(lane)
        }
    }

    package mutating func put(_ tombstone: TombstoneRecord) {
        let key = Snapshot.TombstoneKey(tombstone.device, tombstone.localID)
        let isNew = snapshot.tombstones[key] == nil
        write(tombstone, at: key, \.tombstones, \.tombstones, removed: \.removedTombstones)
        guard isNew else { return }
        index?.add(key)
        onRefusal { draft in draft.index?.remove(key) }
    }

    mutating func remove(_ key: Snapshot.TombstoneKey) {
        guard erase(key, \.tombstones, \.tombstones, removed: \.removedTombstones) != nil else { return }
        index?.remove(key)
        onRefusal { draft in draft.index?.add(key) }
    }

    package mutating func put(_ budget: BudgetRecord) {
        write(budget, at: budget.key, \.budgets, \.budgets)
    }

    package mutating func addMember(_ user: UserNumber, to activity: ActivityNumber) {
        let isNew = snapshot.members[activity] == nil
        guard snapshot.members[activity, default: []].insert(user).inserted else { return }
        touchedAudiences.insert(activity)
        let key = Snapshot.MemberKey(activity, user)
        // The row of a member who left and came back still exists, with its earlier mark.
        if unmark(key, \.removedMembers) { mark(key, \.memberMarks) } else { mark(key, \.addedMembers) }
        index?.add(user, to: activity)
        onRefusal { draft in
            if isNew { draft.snapshot.members[activity] = nil } else { draft.snapshot.members[activity]?.remove(user) }
            draft.index?.remove(user, from: activity)
        }
    }

    package mutating func removeMember(_ user: UserNumber, from activity: ActivityNumber) {
        guard snapshot.members[activity]?.remove(user) != nil else { return }
        touchedAudiences.insert(activity)
        let key = Snapshot.MemberKey(activity, user)
        if !unmark(key, \.addedMembers) { mark(key, \.removedMembers) }
        let marked = snapshot.memberMarks.removeValue(forKey: key)
        unmark(key, \.memberMarks)
        index?.remove(user, from: activity)
        onRefusal { draft in
            draft.snapshot.members[activity, default: []].insert(user)
            draft.snapshot.memberMarks[key] = marked
            draft.index?.add(user, to: activity)
        }
    }

    package mutating func record(_ history: HistoryRecord) {
        changes.history.append(history)
        onRefusal { draft in draft.changes.history.removeLast() }
    }

    /// Adds one entry to an activity's timeline.
    mutating func record(_ entry: HistoryEntry, of activity: ActivityRecord) {
        record(
            HistoryRecord(activity: activity.number, at: entry.at, revision: activity.revision, entries: [entry]))
    }

    /// Returns the person's number. A person without a number gets the next one.
    package mutating func user(_ app: BundleID, _ id: UserID) -> UserNumber {
        let key = Snapshot.AppID(app, id)
        if let number = snapshot.users[key] { return number }
        let number = snapshot.nextUserNumber
        snapshot.nextUserNumber += 1
        write(number, at: key, \.users, \.users)
        onRefusal { draft in draft.snapshot.nextUserNumber = number }
        return number
    }

    package mutating func takeActivityNumber() -> ActivityNumber {
        let number = snapshot.nextActivityNumber
        snapshot.nextActivityNumber += 1
        // A new activity has no members, so its whole audience is known.
        snapshot.wholeAudiences.insert(number)
        onRefusal { draft in
            draft.snapshot.nextActivityNumber = number
            draft.snapshot.wholeAudiences.remove(number)
        }
        return number
    }
}
