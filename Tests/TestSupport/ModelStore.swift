package import APNSModel
package import LiveActivityCore

/// The reference store: all rows in memory, commands one after another.
///
/// Every command sees exactly the rows that its keys name, so that a key it forgot shows; a refused command leaves
/// nothing behind. Copying the store copies the rows: a crash before a commit is going back to a copy.
package struct ModelStore: Sendable {
    /// All rows there are.
    package private(set) var rows = Snapshot()
    package private(set) var history: [HistoryRecord] = []
    /// What the last accepted command changed.
    package private(set) var lastChanges = Draft.Changes()

    package init() {}

    package mutating func run<C: Command>(_ command: C) -> Result<C.Reply, Refusal> {
        var draft = Draft(load(command.keys))
        do throws(Refusal) {
            let reply = try command.decide(&draft)
            apply(draft)
            return .success(reply)
        } catch {
            return .failure(error)
        }
    }

    /// For tests that set the scene: changes rows behind the commands' back.
    package mutating func edit(_ change: (inout Draft) -> Void) {
        var draft = Draft(rows)
        change(&draft)
        apply(draft)
    }

    /// The earliest instant that a lane waits for.
    package var nextWakeAt: UnixTime? { rows.activities.values.compactMap(\.wakeAt).min() }

    private mutating func apply(_ draft: Draft) {
        let (from, changes) = (draft.snapshot, draft.changes)
        for key in changes.activities {
            rows.activities[key] = from.activities[key]
            if let activity = from.activities[key] { rows.activityNumbers[.init(activity.app, activity.id)] = key }
        }
        for key in changes.contents { rows.contents[key] = from.contents[key] }
        for key in changes.lanes { rows.lanes[key] = from.lanes[key] }
        for key in changes.users { rows.users[key] = from.users[key] }
        for key in changes.devices {
            rows.devices[key] = from.devices[key]
            if let device = from.devices[key] { rows.deviceKeys[.init(device.app, device.id)] = key }
        }
        for key in changes.deviceTokens { rows.deviceTokens[key] = from.deviceTokens[key] }
        for key in changes.instances { rows.instances[key] = from.instances[key] }
        for key in changes.removedUpdateTokens { rows.updateTokens[key] = nil }
        for key in changes.updateTokens { rows.updateTokens[key] = from.updateTokens[key] }
        for (activity, user) in changes.addedMembers { rows.members[activity, default: []].insert(user) }
        for (activity, user) in changes.removedMembers { rows.members[activity]?.remove(user) }
        for key in changes.tombstones { rows.tombstones[key] = from.tombstones[key] }
        for key in changes.owners { rows.owners[key] = from.owners[key] }
        rows.nextActivityNumber = max(rows.nextActivityNumber, from.nextActivityNumber)
        rows.nextUserNumber = max(rows.nextUserNumber, from.nextUserNumber)
        history += changes.history
        lastChanges = changes
    }
}

// MARK: - Loading

extension ModelStore {
    package func load(_ keys: [SnapshotKey]) -> Snapshot {
        var part = Snapshot()
        part.nextActivityNumber = rows.nextActivityNumber
        part.nextUserNumber = rows.nextUserNumber
        for key in keys { load(key, &part) }
        return part
    }

    private func load(_ key: SnapshotKey, _ part: inout Snapshot) {
        switch key {
        case .activity(let app, let id):
            if let number = rows.activityNumbers[.init(app, id)] { loadActivity(number, &part) }
        case .phones(let number, let devices):
            loadActivity(number, &part)
            for device in devices { loadPhone(number, device, &part) }
        case .members(let app, let id):
            guard let number = rows.activityNumbers[.init(app, id)] else { return }
            loadActivity(number, &part)
            part.members[number] = rows.members[number]
            for user in rows.members[number] ?? [] { loadDevices(of: user, activity: number, &part) }
        case .users(let app, let ids, let activity):
            let number = activity.flatMap { rows.activityNumbers[.init(app, $0)] }
            for id in ids {
                guard let user = rows.users[.init(app, id)] else { continue }
                part.users[.init(app, id)] = user
                loadDevices(of: user, activity: number, &part)
            }
        case .device(let app, let id):
            guard let device = rows.deviceKeys[.init(app, id)] else { return }
            loadDevice(device, &part)
            for phone in rows.instances.keys where phone.device == device {
                loadActivity(phone.activity, &part)
                loadPhone(phone.activity, device, &part)
            }
            for (tombstone, record) in rows.tombstones where tombstone.device == device {
                part.tombstones[tombstone] = record
            }
        case .activitiesOf(let app, let id):
            guard let user = rows.users[.init(app, id)] else { return }
            part.users[.init(app, id)] = user
            for (number, members) in rows.members where members.contains(user) {
                loadActivity(number, &part)
                part.members[number] = members
                loadDevices(of: user, activity: number, &part)
            }
        case .owners(let values):
            for value in values { loadOwner(value, &part) }
        case .due(let time, let lanes, let phones, let node): loadDue(time, lanes, phones, node, &part)
        }
    }

    private func loadActivity(_ number: ActivityNumber, _ part: inout Snapshot) {
        guard let activity = rows.activities[number] else { return }
        part.activities[number] = activity
        part.activityNumbers[.init(activity.app, activity.id)] = number
        part.contents[number] = rows.contents[number]
        part.lanes[number] = rows.lanes[number]
    }

    private func loadDevice(_ key: DeviceKey, _ part: inout Snapshot) {
        guard let device = rows.devices[key] else { return }
        part.devices[key] = device
        part.deviceKeys[.init(device.app, device.id)] = key
        for (token, record) in rows.deviceTokens where token.device == key { part.deviceTokens[token] = record }
    }

    private func loadDevices(of user: UserNumber, activity: ActivityNumber?, _ part: inout Snapshot) {
        for device in rows.devices.values where device.user == user {
            loadDevice(device.key, &part)
            if let activity { loadPhone(activity, device.key, &part) }
        }
    }

    private func loadPhone(_ activity: ActivityNumber, _ device: DeviceKey, _ part: inout Snapshot) {
        let key = Snapshot.PhoneKey(activity, device)
        loadDevice(device, &part)
        part.instances[key] = rows.instances[key]
        part.updateTokens[key] = rows.updateTokens[key]
        let type = rows.activities[activity]?.type
        let hasOther = rows.instances.contains { other, instance in
            other.device == device && other.activity != activity && instance.hasOpenStart
                && rows.activities[other.activity]?.type == type
                && rows.contents[other.activity]?.attributesDigest == rows.contents[activity]?.attributesDigest
        }
        if hasOther { part.otherOpenStarts.insert(key) }
    }

    private func loadOwner(_ value: TokenValue, _ part: inout Snapshot) {
        guard let owner = rows.owners[value] else { return }
        part.owners[value] = owner
        let phone = Snapshot.PhoneKey(owner.activity, owner.device)
        if rows.updateTokens[phone]?.value == value { part.updateTokens[phone] = rows.updateTokens[phone] }
        for (token, record) in rows.deviceTokens where token.device == owner.device && record.value == value {
            part.deviceTokens[token] = record
        }
    }

    private func loadDue(_ time: UnixTime, _ lanes: Int, _ phones: Int, _ node: Int64, _ part: inout Snapshot) {
        let lost = rows.activities.values.filter { activity in
            rows.lanes[activity.number]?.flight.map { $0.node != node } ?? false
        }.sorted { $0.number < $1.number }
        let awake = rows.activities.values.filter { $0.wakeAt.map { $0 <= time } ?? false }
            .sorted { ($0.wakeAt ?? time, $0.number) < ($1.wakeAt ?? time, $1.number) }.prefix(lanes)
        let due = (lost + awake.filter { candidate in !lost.contains { $0.number == candidate.number } }).prefix(lanes)
        var left = phones
        for activity in due where left > 0 {
            loadActivity(activity.number, &part)
            part.due.append(activity.number)
            let lane = rows.lanes[activity.number] ?? LaneRecord(activity: activity.number)
            let page = page(of: lane, activity, at: time, node: node, limit: min(left, max(1, phones / 2)))
            part.pages[activity.number] = page
            for device in page.devices { loadPhone(activity.number, device, &part) }
            left -= page.devices.count
        }
    }

    private func page(
        of lane: LaneRecord, _ activity: ActivityRecord, at time: UnixTime, node: Int64, limit: Int
    ) -> Snapshot.Page {
        let devices = rows.instances.keys.filter { $0.activity == activity.number }.map(\.device).sorted()
        if let flight = lane.flight {
            guard lane.isAbandoned(now: time, node: node) else { return .init(devices: [], isComplete: true) }
            return .init(
                devices: devices.filter { (flight.fromDevice...flight.toDevice).contains($0) }, isComplete: true)
        }
        let all = lane.inLap(for: activity.revision).stretches.flatMap { stretch in devices.filter(stretch.contains) }
        return .init(devices: Array(all.prefix(limit)), isComplete: all.count <= limit)
    }
}
