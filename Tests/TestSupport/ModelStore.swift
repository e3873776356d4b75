package import APNSModel
package import LiveActivityCore

/// The reference store: all rows in memory, and commands one after another.
///
/// Every command sees exactly the rows that its keys name, so that a missing key becomes visible. A refused command
/// leaves nothing behind. A copy of the store copies the rows, so a crash before a commit is a return to a copy.
package struct ModelStore: Sendable {
    /// All rows.
    package private(set) var rows = Snapshot()
    package private(set) var history: [HistoryRecord] = []
    /// The recorded events, in the order of their numbers.
    package private(set) var events: [EventRecord] = []
    /// The changes of the last accepted command.
    package private(set) var lastChanges = Draft.Changes()
    /// Earliest time at which the last command has made work due.
    package internal(set) var workDueAt: UnixTime?

    package init() {}

    /// Makes a store with these rows, without history and events.
    package init(rows: Snapshot) { self.rows = rows }

    package mutating func run<C: Command>(_ command: C) -> Result<C.Reply, Refusal> {
        var draft = Draft(load(command.keys))
        let result = draft.run(command)
        workDueAt = draft.workDueAt
        apply(draft)
        return result
    }

    /// Changes rows without a command. For tests that set up a state.
    package mutating func edit(_ change: (inout Draft) -> Void) {
        var draft = Draft(rows)
        change(&draft)
        apply(draft)
    }

    /// Removes all events. For tests of later events.
    package mutating func forgetEvents() { events = [] }

    /// The earliest instant that a lane waits for.
    package var nextWakeAt: UnixTime? {
        (rows.activities.values.compactMap(\.wakeAt) + rows.lanes.values.flatMap { $0.compactMap(\.nextAt) }).min()
    }

    /// Conditions that lanes wait for.
    package var laneConditions: [LaneCondition] {
        Set(rows.lanes.values.flatMap { $0.compactMap(\.waitsFor) }).sorted { $0.stored < $1.stored }
    }

    /// The earliest instant that an ordinary notification waits for.
    package var nextNotificationAt: UnixTime? { rows.notifications.values.map(\.nextAt).min() }

    mutating func apply(_ draft: Draft) {
        let (from, changes) = (draft.snapshot, draft.changes)
        for key in changes.activities {
            rows.activities[key] = from.activities[key]
            if let activity = from.activities[key] { rows.activityNumbers[.init(activity.app, activity.id)] = key }
        }
        for key in changes.contents { rows.contents[key] = from.contents[key] }
        for key in changes.lanes.sorted() { if let lane = from.lane(key) { rows.place(lane) } }
        for key in changes.users { rows.users[key] = from.users[key] }
        for key in changes.devices {
            rows.devices[key] = from.devices[key]
            if let device = from.devices[key] { rows.deviceKeys[.init(device.app, device.id)] = key }
        }
        for key in changes.deviceTokens { rows.deviceTokens[key] = from.deviceTokens[key] }
        for key in changes.cards { rows.cards[key] = from.cards[key] }
        for key in changes.removedUpdateTokens { rows.updateTokens[key] = nil }
        for key in changes.updateTokens { rows.updateTokens[key] = from.updateTokens[key] }
        for key in changes.removedMembers {
            rows.members[key.activity]?.remove(key.user)
            if rows.members[key.activity]?.isEmpty ?? false { rows.members[key.activity] = nil }
            rows.memberMarks[key] = nil
        }
        for key in changes.addedMembers { rows.members[key.activity, default: []].insert(key.user) }
        for key in changes.memberMarks { rows.memberMarks[key] = from.memberMarks[key] }
        for key in changes.audiences { rows.audiences[key] = from.audiences[key] }
        for key in changes.idempotency { rows.idempotency[key] = from.idempotency[key] }
        for key in changes.removedTombstones { rows.tombstones[key] = nil }
        for key in changes.tombstones { rows.tombstones[key] = from.tombstones[key] }
        for key in changes.owners { rows.owners[key] = from.owners[key] }
        for (release, time) in changes.releases {
            guard let owner = rows.owners[release.value], release.isOf(owner) else { continue }
            rows.owners[release.value]?.releasedAt = time
        }
        for key in changes.budgets { rows.budgets[key] = from.budgets[key] }
        for key in changes.removedNotifications { rows.notifications[key] = nil }
        for key in changes.notifications { rows.notifications[key] = from.notifications[key] }
        for key in changes.removedAddressees { rows.addressees[key] = nil }
        for key in changes.addressees { rows.addressees[key] = from.addressees[key] }
        for key in changes.refreshes { rows.refreshes[key] = from.refreshes[key] }
        for key in changes.removedMemos { rows.memos[key] = nil }
        for key in changes.memos { rows.memos[key] = from.memos[key] }
        applyChannels(from, changes, &rows)
        rows.nextActivityNumber = max(rows.nextActivityNumber, from.nextActivityNumber)
        rows.nextUserNumber = max(rows.nextUserNumber, from.nextUserNumber)
        history += changes.history
        events += changes.events
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
        case .activityWithPhones(let app, let id):
            guard let number = rows.activityNumbers[.init(app, id)] else { return }
            loadActivity(number, &part)
            let devices = rows.cards.keys.filter { $0.activity == number }.map(\.device).sorted()
            guard 1...Snapshot.maximumFewPhones ~= devices.count else { return }
            for device in devices {
                loadSituation(number, device, &part)
                part.addFewPhone(.init(number, device))
            }
        case .cards(let number, let devices):
            loadActivity(number, &part)
            for device in devices {
                let key = Snapshot.PhoneKey(number, device)
                if part.cards[key] == nil { part.cards[key] = rows.cards[key] }
            }
        case .phones(let number, let devices):
            loadActivity(number, &part)
            for device in devices { loadSituation(number, device, &part) }
        case .members(let app, let id):
            guard let number = rows.activityNumbers[.init(app, id)] else { return }
            loadActivity(number, &part)
            part.audiences[number] = rows.audiences[number]
            guard rows.audiences[number].map({ $0.members <= SetDesiredState.maximumUsers }) ?? true else { return }
            part.members[number] = rows.members[number] ?? []
            part.wholeAudiences.insert(number)
            for user in rows.members[number] ?? [] { loadMember(user, of: number, &part) }
            for user in rows.members[number] ?? [] { loadDevices(of: user, activity: number, &part) }
        case .users(let app, let ids, let activity):
            let number = activity.flatMap { rows.activityNumbers[.init(app, $0)] }
            for id in ids {
                guard let user = rows.users[.init(app, id)] else { continue }
                part.users[.init(app, id)] = user
                loadDevices(of: user, activity: number, &part)
            }
        case .device(let app, let id, let its):
            if let device = rows.deviceKeys[.init(app, id)] { loadDevice(device, its, &part) }
        case .devicePage(let app, let id, let below):
            if let device = rows.deviceKeys[.init(app, id)] { loadPage(of: device, below: below, &part) }
        case .holders(let app, let values):
            for value in values {
                guard let owner = rows.owners[.init(app, value)], owner.kind != .update else { continue }
                loadDevice(owner.device, DeviceRows(), &part)
            }
        case .activitiesOf(let app, let id, let joinable): loadActivities(of: id, in: app, joinable, &part)
        case .owners(let app, let values):
            for value in values { loadOwner(.init(app, value), &part) }
        case .audience, .audiencePage: loadAudience(key, &part)
        case .idempotency(let app, let hash):
            part.idempotency[.init(app, hash)] = rows.idempotency[.init(app, hash)]
        case .due(let due): loadDue(due, &part)
        case .dueNotifications(let due): loadNotifications(due, &part)
        case .addressees(let keys): loadAddressees(keys, &part)
        case .refreshes, .memos, .provided, .dueRefreshes: loadRefreshes(key, &part)
        case .channel, .channels, .dueChannels: loadChannels(key, &part)
        }
    }

    private func loadAudience(_ key: SnapshotKey, _ part: inout Snapshot) {
        switch key {
        case .audience(let app, let id, let users):
            // The people are always loaded, because a command before this one may make the activity.
            let number = rows.activityNumbers[.init(app, id)]
            if let number { loadAudience(number, &part) }
            for id in users {
                guard let user = rows.users[.init(app, id)] else { continue }
                part.users[.init(app, id)] = user
                if let number { loadMember(user, of: number, &part) }
                loadDevices(of: user, activity: number, &part)
            }
        case .audiencePage(let app, let id, let after, let limit, let mark):
            guard let number = rows.activityNumbers[.init(app, id)] else { return }
            loadAudience(number, &part)
            let rest = (rows.members[number] ?? []).filter { $0 > after }.sorted()
            let page = rest.prefix(limit)
            let wanted = page.filter { rows.memberMarks[.init(number, $0), default: 0] != mark }
            for user in wanted {
                loadMember(user, of: number, &part)
                loadDevices(of: user, activity: number, &part)
            }
            if after == 0, mark == nil, rest.count <= limit { part.wholeAudiences.insert(number) }
            part.audiencePages[.init(number, after: after, besides: mark)] = .init(
                members: wanted, last: page.last, isComplete: rest.count <= limit)
        default: break
        }
    }

    private func loadAudience(_ number: ActivityNumber, _ part: inout Snapshot) {
        loadActivity(number, &part)
        part.audiences[number] = rows.audiences[number]
    }

    private func loadMember(_ user: UserNumber, of number: ActivityNumber, _ part: inout Snapshot) {
        guard rows.members[number]?.contains(user) == true else { return }
        part.members[number, default: []].insert(user)
        part.memberMarks[.init(number, user)] = rows.memberMarks[.init(number, user)]
    }

    func loadActivity(_ number: ActivityNumber, _ part: inout Snapshot) {
        guard let activity = rows.activities[number] else { return }
        part.activities[number] = activity
        part.activityNumbers[.init(activity.app, activity.id)] = number
        part.contents[number] = rows.contents[number]
        part.lanes[number] = rows.lanes[number]
        if activity.hasChannels { loadChannels(of: number, &part) }
    }

    func loadDevice(_ key: DeviceKey, _ part: inout Snapshot) {
        loadDeviceAlone(key, &part)
        for (token, record) in rows.deviceTokens where token.device == key { part.deviceTokens[token] = record }
    }

    private func loadDevices(of user: UserNumber, activity: ActivityNumber?, _ part: inout Snapshot) {
        for device in rows.devices.values where device.user == user {
            loadDevice(device.key, &part)
            if let activity { loadPhone(activity, device.key, &part) }
        }
    }

    func loadPhone(_ activity: ActivityNumber, _ device: DeviceKey, _ part: inout Snapshot) {
        let key = Snapshot.PhoneKey(activity, device)
        loadDevice(device, &part)
        part.cards[key] = rows.cards[key]
        part.updateTokens[key] = rows.updateTokens[key]
    }

    /// Loads everything that the reconciler looks at. Start tokens and other starts are loaded only if a card may be
    /// started.
    func loadSituation(_ activity: ActivityNumber, _ device: DeviceKey, _ part: inout Snapshot) {
        let key = Snapshot.PhoneKey(activity, device)
        part.facts[device] = rows.devices[device]?.facts
        part.cards[key] = rows.cards[key]
        part.updateTokens[key] = rows.updateTokens[key]
        part.budgets[.init(device, .high)] = rows.budgets[.init(device, .high)]
        if let card = rows.cards[key], !card.needsDevice(in: part.activities[activity]) { return }
        part.budgets[.init(device, .start)] = rows.budgets[.init(device, .start)]
        for (token, record) in rows.deviceTokens where token.device == device {
            part.deviceTokens[token] = record
        }
        let type = part.activities[activity]?.type
        let hasOther = rows.cards.contains { other, card in
            other.device == device && other.activity != activity && card.hasOpenStart
                && rows.activities[other.activity]?.type == type
                && rows.contents[other.activity]?.attributesDigest == part.contents[activity]?.attributesDigest
        }
        if hasOther { part.otherOpenStarts.insert(key) }
    }

    /// Loads the cards that the device already shows, if a card may be started.
    package func loadCards(on device: DeviceKey, for activity: ActivityRecord, _ part: inout Snapshot) {
        if let own = rows.cards[.init(activity.number, device)], !own.needsDevice(in: activity) { return }
        let shown = rows.cards.filter { key, card in
            key.device == device && [.starting, .unconfirmed, .live].contains(card.state)
        }.sorted { $0.key < $1.key }
        guard !shown.isEmpty else { return }
        part.deviceCards[device] = shown.map { key, card in
            let token = rows.updateTokens[key]
            return DeviceCard(
                activity: key.activity, relevance: rows.activities[key.activity]?.relevance ?? 0,
                startedAt: card.startedAt ?? rows.activities[key.activity]?.runStartedAt ?? card.createdAt,
                canBeEnded: card.state == .live && token != nil && token?.deadAt == nil)
        }
    }

    private func loadOwner(_ key: Snapshot.OwnerKey, _ part: inout Snapshot) {
        guard let owner = rows.owners[key] else { return }
        part.owners[key] = owner
        let value = owner.value
        let phone = Snapshot.PhoneKey(owner.activity, owner.device)
        if rows.updateTokens[phone]?.value == value { part.updateTokens[phone] = rows.updateTokens[phone] }
        for (token, record) in rows.deviceTokens where token.device == owner.device && record.value == value {
            part.deviceTokens[token] = record
        }
    }
}
