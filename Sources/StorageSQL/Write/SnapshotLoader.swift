import APNSModel
import Foundation
import LiveActivityCore
import LiveActivityStorage

/// Loads the data of a group of commands inside the writer's transaction, with one statement per table for any number
/// of commands.
struct SnapshotLoader {
    let sql: Statements
    var snapshot = Snapshot()
    /// The rows that remain to be loaded, as determined by rows that were loaded before.
    var wanted = Wanted()

    struct Wanted {
        var activities: Set<ActivityNumber> = []
        /// Activities without their content.
        var bare: Set<ActivityNumber> = []
        /// Devices with their tokens.
        var devices: Set<DeviceKey> = []
        /// Devices without their tokens. `starters` are those of them whose push-to-start tokens are needed.
        var others: Set<DeviceKey> = []
        var starters: Set<DeviceKey> = []
        /// Instances with their update tokens.
        var phones: Set<Snapshot.PhoneKey> = []
        /// Instances without their update tokens.
        var cards: Set<Snapshot.PhoneKey> = []
        /// Instances of devices that mostly follow one another in their activity, in order.
        var flights: [(ActivityNumber, [DeviceKey])] = []
        /// Instances with all data of the reconciler.
        var situations: Set<Snapshot.PhoneKey> = []
    }

    init(_ sql: Statements) {
        self.sql = sql
    }

    static func snapshot(of keys: [SnapshotKey], _ sql: Statements) throws -> Snapshot {
        var loader = Self(sql)
        try loader.load(keys)
        return loader.snapshot
    }

    /// Returns the data of commands, which may create rows.
    static func snapshot(forCommandsWith keys: [SnapshotKey], _ sql: Statements) throws -> Snapshot {
        var loader = Self(sql)
        try loader.load(keys)
        try loader.loadNextNumbers()
        return loader.snapshot
    }

    mutating func load(_ keys: [SnapshotKey]) throws {
        try resolve(keys)
        try Self.fetchActivities(
            wanted.activities.union(wanted.bare), contentsOf: wanted.activities, sql, &snapshot)
        try loadFewPhones(keys)
        let whole = wanted.devices
        try fetchDevices(whole.union(wanted.others))
        try fetchDeviceTokens(whole.union(wanted.starters)) { token in
            token.kind == .pushToStart || whole.contains(token.device)
        }
        try fetchCards(wanted.phones.union(wanted.cards))
        try fetchUpdateTokens(wanted.phones)
        for (activity, devices) in wanted.flights { try fetchNeighbours(devices, of: activity) }
        let phones = PhoneLoader(sql: sql)
        try phones.load(wanted.situations, &snapshot)
        try phones.loadStarts(wanted.situations, &snapshot)
        for case .due(let due) in keys { try DueLoader.load(due, sql, &snapshot) }
        try loadNotifications(keys)
    }

    /// Loads what only commands need: the numbers of rows that they may create.
    private mutating func loadNextNumbers() throws {
        snapshot.nextActivityNumber = (try sql.number("SELECT max(no) FROM activity") ?? 0) + 1
        snapshot.nextUserNumber = (try sql.number("SELECT max(no) FROM user") ?? 0) + 1
    }

    /// Maximum number of phones that one group loads for answers. The remaining answers read their phones themselves.
    static let maximumPhonesForAnswers = 1000

    /// Loads the phones of small activities. Only answers need them, so a row that cannot be read fails no command.
    private mutating func loadFewPhones(_ keys: [SnapshotKey]) throws {
        var small: Set<ActivityNumber> = []
        var room = Self.maximumPhonesForAnswers
        for case .activityWithPhones(let app, let id) in keys {
            guard let number = snapshot.activityNumbers[.init(app, id)] else { continue }
            let phones = (snapshot.lanes[number] ?? []).reduce(0) { $0 + $1.counts.total }
            guard 1...min(Snapshot.maximumFewPhones, max(1, room)) ~= phones, small.insert(number).inserted else {
                continue
            }
            room -= phones
        }
        guard !small.isEmpty else { return }
        let phones = PhoneLoader(sql: sql)
        do {
            let keys = try phones.load(
                where: "i.activity IN (SELECT value FROM list(?)) ORDER BY i.activity, i.dk",
                [.list(small.sorted())], &snapshot)
            try phones.loadStarts(keys, &snapshot)
            for key in keys { snapshot.addFewPhone(key) }
        } catch is DamagedRow {
        } catch is TokenKeyProblem {
        } catch let error as SQLError where error.kind == .corrupt {}
    }

    private mutating func loadNotifications(_ keys: [SnapshotKey]) throws {
        let loader = NotificationLoader(sql: sql)
        var addressees: Set<AddresseeKey> = []
        for key in keys {
            switch key {
            case .dueNotifications(let due): try loader.load(due, &snapshot)
            case .addressees(let keys): addressees.formUnion(keys)
            default: break
            }
        }
        try loader.load(addressees, &snapshot)
    }

    // MARK: - Keys

    private mutating func resolve(_ keys: [SnapshotKey]) throws {
        let provided = try provided(keys)
        try resolveActivities(keys, and: provided.activities)
        try resolveUsers(keys)
        try resolveRefreshes(keys, provided)
        try resolveChannels(keys)
        try resolveDevices(keys, and: provided.activities)
        try resolveMemberships(keys)
        try resolveOwners(keys)
        try resolveAudiences(keys)
        try fetchIdempotency(keys)
        for key in keys {
            switch key {
            case .cards(let activity, let devices):
                wanted.bare.insert(activity)
                if devices.count > Self.manyPhones {
                    wanted.flights.append((activity, devices.sorted()))
                } else {
                    wanted.cards.formUnion(devices.map { .init(activity, $0) })
                }
            case .phones(let activity, let devices):
                wanted.activities.insert(activity)
                wanted.situations.formUnion(devices.map { .init(activity, $0) })
            case .activity, .activityWithPhones, .members, .users, .device, .devicePage, .activitiesOf, .owners,
                .holders, .audience, .audiencePage, .idempotency, .due, .dueNotifications, .addressees, .refreshes,
                .memos, .provided, .dueRefreshes, .channel, .channels, .dueChannels:
                break
            }
        }
    }

    private mutating func resolveActivities(
        _ keys: [SnapshotKey], and others: Set<Snapshot.AppID<ActivityID>>
    ) throws {
        var ids = others
        for key in keys {
            switch key {
            case .activity(let app, let id), .activityWithPhones(let app, let id), .members(let app, let id),
                .users(let app, _, let id?), .audience(let app, let id, _), .audiencePage(let app, let id, _, _, _):
                ids.insert(.init(app, id))
            default: break
            }
        }
        for (key, number) in try numbers(of: ids, "activity", "no") {
            snapshot.name(number, key)
            wanted.activities.insert(number)
        }
        var whole: Set<ActivityNumber> = []
        for case .members(let app, let id) in keys {
            if let number = snapshot.activityNumbers[.init(app, id)] { whole.insert(number) }
        }
        guard !whole.isEmpty else { return }
        try fetchAudiences(whole)
        whole = whole.filter { snapshot.audiences[$0].map { $0.members <= SetDesiredState.maximumUsers } ?? true }
        guard !whole.isEmpty else { return }
        snapshot.wholeAudiences.formUnion(whole)
        for number in whole { snapshot.members[number] = [] }
        try sql.query(
            "SELECT activity, user, mark FROM member WHERE activity IN (SELECT value FROM list(?))",
            [.list(whole.sorted())]
        ) { row in note(.init(row.int(), row.int()), mark: row.int()) }
        let members = whole.map { ($0, snapshot.members[$0] ?? []) }
        let devices = try devices(of: members.reduce(into: []) { $0.formUnion($1.1) })
        for (number, users) in members {
            for user in users {
                for device in devices[user] ?? [] { wanted.phones.insert(.init(number, device)) }
            }
        }
    }

    private mutating func resolveUsers(_ keys: [SnapshotKey]) throws {
        var ids: Set<Snapshot.AppID<UserID>> = []
        // Only some devices of these people are needed: see `resolveMemberships`.
        var signingIn: Set<Snapshot.AppID<UserID>> = []
        for key in keys {
            switch key {
            case .users(let app, let users, _), .audience(let app, _, let users):
                ids.formUnion(users.map { .init(app, $0) })
            case .activitiesOf(let app, let user, _): signingIn.insert(.init(app, user))
            default: break
            }
        }
        guard !ids.isEmpty || !signingIn.isEmpty else { return }
        for (key, number) in try numbers(of: ids.union(signingIn), "user", "no") { snapshot.users[key] = number }
        let known = Set(snapshot.users.filter { ids.contains($0.key) }.values)
        let devices = try devices(of: known)
        for key in keys {
            let (app, users, id): (BundleID, [UserID], ActivityID)
            switch key {
            case .users(let itsApp, let named, let activity?), .audience(let itsApp, let activity, let named):
                (app, users, id) = (itsApp, named, activity)
            default: continue
            }
            guard let activity = snapshot.activityNumbers[.init(app, id)] else { continue }
            for user in users {
                guard let number = snapshot.users[.init(app, user)] else { continue }
                for device in devices[number] ?? [] { wanted.phones.insert(.init(activity, device)) }
            }
        }
    }

    func holders(_ keys: [SnapshotKey]) throws -> Set<DeviceKey> {
        var values: Set<Snapshot.OwnerKey> = []
        for case .holders(let app, let tokens) in keys { values.formUnion(tokens.map { .init(app, $0) }) }
        guard !values.isEmpty else { return [] }
        var found: Set<DeviceKey> = []
        try sql.query(
            "SELECT dk FROM token_owner WHERE hash IN (SELECT value FROM list(?)) AND kind IN (1, 2)",
            [.texts(try sql.sealing.hashes(of: values).keys.sorted())]
        ) { found.insert($0.int()) }
        return found
    }

    /// Loads the owners of values, with the card or device that may lose a value to another.
    private mutating func resolveOwners(_ keys: [SnapshotKey]) throws {
        var values: Set<Snapshot.OwnerKey> = []
        for case .owners(let app, let tokens) in keys { values.formUnion(tokens.map { .init(app, $0) }) }
        guard !values.isEmpty else { return }
        let hashes = try sql.sealing.hashes(of: values)
        var cards: [(Snapshot.PhoneKey, TokenValue)] = []
        var devices: [DeviceKey: Set<TokenValue>] = [:]
        try sql.query(
            """
            SELECT \(TokenOwnerRow.list) FROM token_owner
            WHERE hash IN (SELECT value FROM list(?))
            """, [.texts(hashes.keys.sorted())]
        ) { row in
            let record = try TokenOwnerRow(&row, of: hashes).record
            snapshot.owners[record.key] = record
            switch record.kind {
            case .update: cards.append((.init(record.activity, record.device), record.value))
            case .device, .pushToStart: devices[record.device, default: []].insert(record.value)
            }
        }
        try fetchUpdateTokens(Set(cards.map(\.0)))
        for (key, values) in Dictionary(grouping: cards, by: \.0).mapValues({ $0.map(\.1) }) {
            guard let token = snapshot.updateTokens[key], !values.contains(token.value) else { continue }
            snapshot.updateTokens[key] = nil
        }
        try fetchDeviceTokens(Set(devices.keys)) { devices[$0.device]?.contains($0.value) == true }
    }

    // MARK: - Rows

    /// Returns the numbers of rows by their ids, with one statement per app.
    func numbers<ID: ForeignIDKind>(
        of ids: Set<Snapshot.AppID<ForeignID<ID>>>, _ table: String, _ column: String
    ) throws -> [(Snapshot.AppID<ForeignID<ID>>, Int64)] {
        guard !ids.isEmpty else { return [] }
        var found: [(Snapshot.AppID<ForeignID<ID>>, Int64)] = []
        let byApp = Dictionary(grouping: ids, by: \.app)
        for (app, keys) in byApp {
            try sql.query(
                """
                SELECT t.id, t.\(column) FROM list(?1) j CROSS JOIN \(table) t
                ON t.app = ?2 AND t.id = j.value
                """, [.texts(keys.flatMap(\.id.spellings).sorted()), .text(app.text)]
            ) { row in found.append((.init(app, ForeignID(stored: row.text())), row.int())) }
        }
        return found
    }

    /// Returns the devices of people, and marks them to be loaded with their tokens.
    mutating func devices(of users: Set<UserNumber>) throws -> [UserNumber: [DeviceKey]] {
        guard !users.isEmpty else { return [:] }
        var found: [UserNumber: [DeviceKey]] = [:]
        try sql.query(
            "SELECT user, dk FROM device WHERE user IN (SELECT value FROM list(?))",
            [.list(users.sorted())]
        ) { row in
            let (user, device) = (row.int(), row.int())
            found[user, default: []].append(device)
            wanted.devices.insert(device)
        }
        return found
    }

    /// Loads activities with lanes and content. With `some`, only these activities get their content.
    static func fetchActivities(
        _ numbers: Set<ActivityNumber>, contentsOf some: Set<ActivityNumber>? = nil, _ sql: Statements,
        _ snapshot: inout Snapshot
    ) throws {
        guard !numbers.isEmpty else { return }
        try fetchContents(some ?? numbers, sql, &snapshot)
        let list = Statements.Argument.list(numbers.sorted())
        try sql.query(
            "SELECT \(ActivityRecord.list) FROM activity WHERE no IN (SELECT value FROM list(?))", [list]
        ) { row in
            let record = try ActivityRecord(&row)
            snapshot.activities[record.number] = record
            snapshot.name(record.number, .init(record.app, record.id))
        }
        try fetchChannels(of: numbers.filter { snapshot.activities[$0]?.hasChannels == true }, sql, &snapshot)
        try sql.query(
            """
            SELECT \(LaneRecord.list) FROM lane WHERE activity IN (SELECT value FROM list(?))
            ORDER BY activity, from_dk
            """, [list]
        ) { row in
            let record = try LaneRecord(&row)
            snapshot.lanes[record.activity, default: []].append(record)
        }
    }

    private static func fetchContents(
        _ numbers: Set<ActivityNumber>, _ sql: Statements, _ snapshot: inout Snapshot
    ) throws {
        guard !numbers.isEmpty else { return }
        try sql.query(
            "SELECT \(ContentRecord.list) FROM content WHERE activity IN (SELECT value FROM list(?))",
            [.list(numbers.sorted())]
        ) { row in
            let record = try ContentRecord(&row)
            snapshot.contents[record.activity] = record
        }
    }

    private mutating func fetchDevices(_ keys: Set<DeviceKey>) throws {
        guard !keys.isEmpty else { return }
        try sql.query(
            "SELECT \(DeviceRecord.list) FROM device WHERE dk IN (SELECT value FROM list(?))",
            [.list(keys.sorted())]
        ) { row in
            let record = try DeviceRecord(&row)
            snapshot.devices[record.key] = record
            snapshot.deviceKeys[.init(record.app, record.id)] = record.key
        }
    }

    private mutating func fetchDeviceTokens(
        _ keys: Set<DeviceKey>, where isWanted: (DeviceTokenRecord) -> Bool
    ) throws {
        guard !keys.isEmpty else { return }
        try sql.query(
            "SELECT \(DeviceTokenRow.list) FROM device_token WHERE dk IN (SELECT value FROM list(?))",
            [.list(keys.sorted())]
        ) { row in
            guard let record = try sql.token(false, { try DeviceTokenRow(&row) })?.record else { return }
            if isWanted(record) { snapshot.deviceTokens[.init(record.device, record.kind, record.type)] = record }
        }
    }
}
