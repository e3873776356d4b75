import APNSModel
import LiveActivityCore

/// Loads a device's part in its activities. A phone or person with very many activities loads a bounded number of rows.
extension SnapshotLoader {
    /// - Parameter named: Activities that are named in addition to those of the keys.
    mutating func resolveDevices(
        _ keys: [SnapshotKey], and named: Set<Snapshot.AppID<ActivityID>>
    ) throws {
        var rows: [Snapshot.AppID<DeviceID>: DeviceRows] = [:]
        var named = named
        var pages: [(Snapshot.AppID<DeviceID>, below: ActivityNumber)] = []
        for key in keys {
            switch key {
            case .device(let app, let id, let its):
                rows[.init(app, id), default: DeviceRows(withRunning: false)].add(its)
                named.formUnion(its.activities.map { .init(app, $0) })
            case .devicePage(let app, let id, let below): pages.append((.init(app, id), below))
            default: break
            }
        }
        var found: [DeviceKey: DeviceRows] = [:]
        for key in try holders(keys) { found[key] = DeviceRows() }
        for (id, key) in try numbers(of: Set(rows.keys).union(pages.map(\.0)), "device", "dk") {
            snapshot.deviceKeys[id] = key
            if let its = rows[id] { found[key, default: DeviceRows(withRunning: false)].add(its) }
        }
        for (id, below) in pages {
            if let key = snapshot.deviceKeys[id] { try loadPage(of: key, below: below) }
        }
        guard !found.isEmpty else { return }
        wanted.devices.formUnion(found.keys)
        let list = Statements.Argument.list(found.keys.sorted())
        try loadNewest(list)
        for (device, its) in found where snapshot.devicesWithMore.contains(device) {
            try loadOthers(of: device, its)
            for activity in named.compactMap({ snapshot.activityNumbers[$0] }) { want(activity, device) }
        }
        try sql.query(
            "SELECT \(TombstoneRecord.list) FROM tombstone WHERE dk IN (SELECT value FROM list(?))", [list]
        ) { row in
            let record = try TombstoneRecord(&row)
            snapshot.tombstones[.init(record.device, record.localID)] = record
        }
    }

    /// Loads a device's newest activities. For almost every device, these are all.
    private mutating func loadNewest(_ devices: Statements.Argument) throws {
        var found: [DeviceKey: [ActivityNumber]] = [:]
        try sql.query(
            """
            SELECT i.dk, i.activity FROM list(?1) j CROSS JOIN instance i INDEXED BY instance_by_device
            ON i.dk = j.value AND i.activity >= coalesce((
                SELECT k.activity FROM instance k INDEXED BY instance_by_device WHERE k.dk = j.value
                ORDER BY k.activity DESC LIMIT 1 OFFSET ?2), 0)
            """, [devices, .int(Int64(DeviceRows.newest))]
        ) { row in found[row.int(), default: []].append(row.int()) }
        for (device, activities) in found {
            if activities.count > DeviceRows.newest { snapshot.devicesWithMore.insert(device) }
            for activity in activities.sorted().suffix(DeviceRows.newest) { want(activity, device) }
        }
    }

    private mutating func loadOthers(of device: DeviceKey, _ its: DeviceRows) throws {
        let key = Statements.Argument.int(device)
        var found: [ActivityNumber] = []
        try sql.query(
            """
            SELECT activity FROM instance INDEXED BY instance_open WHERE dk = ? AND state IN (1, 2, 3, 4, 5)
            ORDER BY activity DESC LIMIT ?
            """, [key, .int(Int64(DeviceRows.open))]
        ) { row in found.append(row.int()) }
        if !its.cards.isEmpty {
            let cards = Statements.Argument.texts(its.cards.map(\.text).sorted())
            for table in ["instance i INDEXED BY instance_card", "tombstone i"] {
                try sql.query(
                    """
                    SELECT i.activity FROM list(?) j CROSS JOIN \(table) ON i.dk = ? AND i.local_id = j.value
                    """, [cards, key]
                ) { row in found.append(row.int()) }
            }
        }
        if its.withRunning {
            try sql.query(
                """
                SELECT i.activity FROM instance i INDEXED BY instance_by_device
                CROSS JOIN activity a ON a.no = i.activity
                WHERE i.dk = ?1 AND i.activity >= coalesce((
                    SELECT k.activity FROM instance k INDEXED BY instance_by_device WHERE k.dk = ?1
                    ORDER BY k.activity DESC LIMIT 1 OFFSET ?2), 0) AND a.phase <> 'ended'
                ORDER BY i.activity DESC LIMIT ?3
                """, [key, .int(Int64(DeviceRows.examined - 1)), .int(Int64(DeviceRows.running))]
            ) { row in found.append(row.int()) }
        }
        for activity in found { want(activity, device) }
    }

    private mutating func loadPage(of device: DeviceKey, below: ActivityNumber) throws {
        var found: [ActivityNumber] = []
        // One row beyond the limit shows whether the device has more.
        try sql.query(
            """
            SELECT activity FROM instance INDEXED BY instance_by_device WHERE dk = ? AND activity < ?
            ORDER BY activity DESC LIMIT ?
            """, [.int(device), .int(below), .int(Int64(DevicePage.limit + 1))]
        ) { row in found.append(row.int()) }
        let page = found.prefix(DevicePage.limit)
        wanted.devices.insert(device)
        for activity in page { want(activity, device) }
        snapshot.devicePages[.init(device, below: below)] = DevicePage(
            last: page.last, isComplete: found.count <= DevicePage.limit)
    }

    private mutating func want(_ activity: ActivityNumber, _ device: DeviceKey) {
        wanted.activities.insert(activity)
        wanted.phones.insert(.init(activity, device))
    }

    // MARK: - Sign-in

    /// Loads the activities that people's devices may join, and the data of their other devices that decides it.
    mutating func resolveMemberships(_ keys: [SnapshotKey]) throws {
        // `nil` stands for a device that is not known yet.
        var signingIn: [UserNumber: Set<DeviceKey?>] = [:]
        var people: [Joining] = []
        for case .activitiesOf(let app, let user, let joinable) in keys {
            guard let number = snapshot.users[.init(app, user)] else { continue }
            signingIn[number, default: []].insert(snapshot.deviceKeys[.init(app, joinable.device)])
            // No type is empty.
            for type in [""] + joinable.reusableTypes {
                people.append((number, type, joinable.endedSince.milliseconds, nil))
            }
        }
        guard !people.isEmpty else { return }
        let recent = try recentDevices(of: Set(signingIn.keys))
        for devices in recent.values { wanted.others.formUnion(devices) }
        let joinable = try joinableActivities(people)
        let own = try ownInstances(of: signingIn, in: joinable)
        for (user, activities) in joinable {
            let (devices, others) = (signingIn[user] ?? [], recent[user] ?? [])
            let candidates = activities.map { activity in
                let looksAtOthers = devices.contains { device in
                    Audience.looksAtOthers(
                        activity.isLastActive ? .lastActive : .all, device.flatMap { own[.init(activity.number, $0)] })
                }
                return JoinableActivities.Candidate(activity.number, looksAtOthers: looksAtOthers)
            }
            let pick = JoinableActivities.pick(candidates, others: others.count)
            for activity in pick.taken {
                snapshot.members[activity, default: []].insert(user)
                wanted.activities.insert(activity)
                for device in devices.compactMap({ $0 }) { wanted.phones.insert(.init(activity, device)) }
            }
            guard !pick.withOthers.isEmpty else { continue }
            wanted.starters.formUnion(others)
            for activity in pick.withOthers { wanted.cards.formUnion(others.map { .init(activity, $0) }) }
        }
    }

    /// An activity that a device may join. With `isLastActive`, only one of the person's devices shows the card.
    private typealias Joinable = (number: ActivityNumber, isLastActive: Bool)

    /// A person, a type whose ended activities are wanted, and the time since which all ended activities are.
    private typealias Joining = (Int64, String, Int64?, Int64?)

    /// Returns the activities that people may join, newest first.
    private func joinableActivities(_ people: [Joining]) throws -> [UserNumber: [Joinable]] {
        var found: [UserNumber: [ActivityNumber: Bool]] = [:]
        try sql.query(
            """
            SELECT m.user, m.activity, a.devices = ?3
            FROM tuples(?1) j CROSS JOIN member m INDEXED BY member_by_user
            ON m.user = j.a AND m.activity >= coalesce((
                SELECT k.activity FROM member k INDEXED BY member_by_user WHERE k.user = j.a
                ORDER BY k.activity DESC LIMIT 1 OFFSET ?2), 0)
            CROSS JOIN activity a ON a.no = m.activity
            WHERE a.phase = 'active' OR a.phase = 'ended' AND (a.ended_at > j.c OR a.type = j.b)
            """,
            [.tuples(people), .int(Int64(JoinableActivities.examined - 1)), .text(ActivityCoding.text(.lastActive))]
        ) { row in
            let (user, activity) = (row.int(), row.int())
            found[user, default: [:]][activity] = row.bool()
        }
        return found.mapValues { activities in
            let newest = activities.sorted { $0.key > $1.key }.prefix(JoinableActivities.limit)
            return newest.map { (number: $0.key, isLastActive: $0.value) }
        }
    }

    /// Returns the instances of devices that sign in, for activities whose card only one device shows.
    private func ownInstances(
        of devices: [UserNumber: Set<DeviceKey?>], in joinable: [UserNumber: [Joinable]]
    ) throws -> [Snapshot.PhoneKey: CardMachine] {
        var keys: Set<Snapshot.PhoneKey> = []
        for (user, activities) in joinable {
            for device in (devices[user] ?? []).compactMap({ $0 }) {
                for activity in activities where activity.isLastActive { keys.insert(.init(activity.number, device)) }
            }
        }
        var own: [Snapshot.PhoneKey: CardMachine] = [:]
        try Self.fetch(CardMachine.self, keys, sql) { record in
            own[.init(record.activity, record.device)] = record
        }
        return own
    }

    /// Returns each person's devices with the most recent contact.
    private func recentDevices(of users: Set<UserNumber>) throws -> [UserNumber: [DeviceKey]] {
        var found: [UserNumber: [(key: DeviceKey, contactAt: UnixTime)]] = [:]
        try sql.query(
            """
            SELECT d.user, d.dk, d.contact_at FROM list(?1) j CROSS JOIN device d INDEXED BY device_by_user
            ON d.user = j.value AND d.dk <= coalesce((
                SELECT k.dk FROM device k INDEXED BY device_by_user WHERE k.user = j.value
                ORDER BY k.dk LIMIT 1 OFFSET ?2), ?3)
            """, [.list(users.sorted()), .int(Int64(RecentDevices.examined - 1)), .int(.max)]
        ) { row in
            let user = row.int()
            found[user, default: []].append((key: row.int(), contactAt: row.time()))
        }
        return found.mapValues { RecentDevices.pick($0) }
    }
}

extension DeviceRows {
    /// Adds the needs of another call.
    fileprivate mutating func add(_ other: Self) {
        cards += other.cards
        withRunning = withRunning || other.withRunning
    }
}
