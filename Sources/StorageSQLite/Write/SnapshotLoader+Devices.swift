import APNSModel
import LiveActivityCore

/// A device's part in its activities: of a phone or a person with very many so many rows and no more.
extension SnapshotLoader {
    /// - Parameter named: Activities that are named beside those of the keys.
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
        let list = jsonList(found.keys.sorted())
        try loadNewest(list)
        for (device, its) in found where snapshot.devicesWithMore.contains(device) {
            try loadOthers(of: device, its)
            for activity in named.compactMap({ snapshot.activityNumbers[$0] }) { want(activity, device) }
        }
        try sql.query(
            "SELECT \(TombstoneRecord.list) FROM tombstone WHERE dk IN (SELECT value FROM json_each(?))", [.text(list)]
        ) { row in
            let record = try TombstoneRecord(&row)
            snapshot.tombstones[.init(record.device, record.localID)] = record
        }
    }

    /// Of almost every device that is all of them.
    private mutating func loadNewest(_ devices: String) throws {
        var found: [DeviceKey: [ActivityNumber]] = [:]
        try sql.query(
            """
            SELECT i.dk, i.activity FROM json_each(?1) j CROSS JOIN instance i INDEXED BY instance_by_device
            ON i.dk = j.value AND i.activity >= coalesce((
                SELECT k.activity FROM instance k INDEXED BY instance_by_device WHERE k.dk = j.value
                ORDER BY k.activity DESC LIMIT 1 OFFSET ?2), 0)
            """, [.text(devices), .int(Int64(DeviceRows.newest))]
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
            let cards = Statements.Argument.text(jsonTexts(its.cards.map(\.text).sorted()))
            for table in ["instance i INDEXED BY instance_card", "tombstone i"] {
                try sql.query(
                    """
                    SELECT i.activity FROM json_each(?) j CROSS JOIN \(table) ON i.dk = ? AND i.local_id = j.value
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
        // One more than there is room for tells whether the device has others.
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

    /// The activities that people's devices are taken into.
    mutating func resolveMemberships(_ keys: [SnapshotKey], _ devices: [UserNumber: [DeviceKey]]) throws {
        var people: [String] = []
        for case .activitiesOf(let app, let user, let joinable) in keys {
            guard let number = snapshot.users[.init(app, user)] else { continue }
            let types = jsonTexts(joinable.reusableTypes)
            people.append("[\(number),\(joinable.endedSince.milliseconds),\(types)]")
        }
        guard !people.isEmpty else { return }
        var found: [UserNumber: Set<ActivityNumber>] = [:]
        try sql.query(
            """
            SELECT m.user, m.activity FROM json_each(?1) j CROSS JOIN member m INDEXED BY member_by_user
            ON m.user = j.value ->> 0 AND m.activity >= coalesce((
                SELECT k.activity FROM member k INDEXED BY member_by_user WHERE k.user = j.value ->> 0
                ORDER BY k.activity DESC LIMIT 1 OFFSET ?2), 0)
            CROSS JOIN activity a ON a.no = m.activity
            WHERE a.phase = 'active' OR a.phase = 'ended' AND (a.ended_at > j.value ->> 1
                OR a.type IN (SELECT value FROM json_each(j.value -> 2)))
            """, [.text("[" + people.joined(separator: ",") + "]"), .int(Int64(JoinableActivities.examined - 1))]
        ) { row in found[row.int(), default: []].insert(row.int()) }
        for (user, activities) in found {
            for activity in activities.sorted().suffix(JoinableActivities.limit) {
                snapshot.members[activity, default: []].insert(user)
                wanted.activities.insert(activity)
                for device in devices[user] ?? [] { wanted.phones.insert(.init(activity, device)) }
            }
        }
    }
}

extension DeviceRows {
    /// What any of several calls needs.
    fileprivate mutating func add(_ other: Self) {
        cards += other.cards
        withRunning = withRunning || other.withRunning
    }
}
