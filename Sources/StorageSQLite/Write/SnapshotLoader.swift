import APNSModel
import GRDB
import LiveActivityCore

/// Loads what a command needs to see, one statement per table and key, inside the writer's transaction.
struct SnapshotLoader {
    let db: Database
    private(set) var snapshot = Snapshot()

    init(_ db: Database) {
        self.db = db
    }

    static func snapshot(of keys: [SnapshotKey], _ db: Database) throws -> Snapshot {
        var loader = Self(db)
        for key in keys { try loader.load(key) }
        loader.snapshot.nextActivityNumber =
            try (Int64.fetchOne(db.cachedStatement(sql: "SELECT max(no) FROM activity")) ?? 0) + 1
        loader.snapshot.nextUserNumber =
            try (Int64.fetchOne(db.cachedStatement(sql: "SELECT max(no) FROM user")) ?? 0) + 1
        return loader.snapshot
    }

    private mutating func load(_ key: SnapshotKey) throws {
        switch key {
        case .activity(let app, let id):
            _ = try activity(app, id)
        case .phones(let number, let devices):
            try activities("SELECT ? AS value", [number])
            try phones(of: number, "i.dk IN (SELECT value FROM json_each(?))", [jsonList(devices)])
        case .members(let app, let id):
            guard let number = try activity(app, id) else { return }
            try members("activity = ?", [number])
            try self.devices(
                "user IN (SELECT user FROM member WHERE activity = ?)", [number], instancesOf: number)
        case .users(let app, let ids, let activity):
            let number = try activity.flatMap { try self.activity(app, $0) }
            for id in ids {
                guard let user = try self.user(app, id) else { continue }
                try devices("user = ?", [user], instancesOf: number)
            }
        case .device(let app, let id):
            try device(app, id)
        case .activitiesOf(let app, let id):
            guard let user = try self.user(app, id) else { return }
            try activities("SELECT activity AS value FROM member WHERE user = ?", [user])
            try members("user = ?", [user])
            try instances(
                """
                i.activity IN (SELECT activity FROM member WHERE user = ?)
                    AND i.dk IN (SELECT dk FROM device WHERE user = ?)
                """, [user, user])
        case .owners(let values):
            for value in values { try owner(value) }
        case .due(let time, let lanes, let phones, let node):
            try due(at: time, lanes: lanes, phones: phones, node: node)
        }
    }

    // MARK: - Activities

    private mutating func activity(_ app: BundleID, _ id: ActivityID) throws -> ActivityNumber? {
        let statement = try db.cachedStatement(sql: "SELECT no FROM activity WHERE app = ? AND id = ?")
        guard let number = try Int64.fetchOne(statement, arguments: [app.text, id.text]) else { return nil }
        try activities("SELECT ? AS value", [number])
        return number
    }

    /// Activities with content and lanes, by a query that gives their numbers as `value`.
    private mutating func activities(_ numbers: String, _ arguments: StatementArguments) throws {
        let rows = try db.cachedStatement(
            sql: "SELECT \(ActivityRecord.columns) FROM activity WHERE no IN (\(numbers))")
        for row in try Row.fetchAll(rows, arguments: arguments) {
            let record = try ActivityRecord(row)
            snapshot.activities[record.number] = record
            snapshot.activityNumbers[.init(record.app, record.id)] = record.number
        }
        let contents = try db.cachedStatement(sql: "SELECT * FROM content WHERE activity IN (\(numbers))")
        for row in try Row.fetchAll(contents, arguments: arguments) {
            let record = try ContentRecord(row)
            snapshot.contents[record.activity] = record
        }
        let lanes = try db.cachedStatement(sql: "SELECT * FROM lane WHERE activity IN (\(numbers))")
        for row in try Row.fetchAll(lanes, arguments: arguments) {
            let record = try LaneRecord(row)
            snapshot.lanes[record.activity] = record
        }
    }

    private mutating func members(_ condition: String, _ arguments: StatementArguments) throws {
        let statement = try db.cachedStatement(sql: "SELECT activity, user FROM member WHERE \(condition)")
        for row in try Row.fetchAll(statement, arguments: arguments) {
            snapshot.members[row["activity"], default: []].insert(row["user"])
        }
    }

    // MARK: - People and devices

    private mutating func user(_ app: BundleID, _ id: UserID) throws -> UserNumber? {
        let statement = try db.cachedStatement(sql: "SELECT no FROM user WHERE app = ? AND id = ?")
        guard let number = try Int64.fetchOne(statement, arguments: [app.text, id.text]) else { return nil }
        snapshot.users[.init(app, id)] = number
        return number
    }

    private mutating func devices(
        _ condition: String, _ arguments: StatementArguments, instancesOf activity: ActivityNumber? = nil
    ) throws {
        let statement = try db.cachedStatement(sql: "SELECT * FROM device WHERE \(condition)")
        for row in try Row.fetchAll(statement, arguments: arguments) {
            let record = try DeviceRecord(row)
            snapshot.devices[record.key] = record
            snapshot.deviceKeys[.init(record.app, record.id)] = record.key
        }
        try deviceTokens("dk IN (SELECT dk FROM device WHERE \(condition))", arguments)
        if let activity {
            try instances(
                "i.activity = ? AND i.dk IN (SELECT dk FROM device WHERE \(condition))", [activity] + arguments)
        }
    }

    private mutating func deviceTokens(_ condition: String, _ arguments: StatementArguments) throws {
        let statement = try db.cachedStatement(sql: "SELECT * FROM device_token WHERE \(condition)")
        for row in try Row.fetchAll(statement, arguments: arguments) {
            let record = try DeviceTokenRecord(row)
            snapshot.deviceTokens[.init(record.device, record.kind, record.type)] = record
        }
    }

    private mutating func device(_ app: BundleID, _ id: DeviceID) throws {
        let statement = try db.cachedStatement(sql: "SELECT dk FROM device WHERE app = ? AND id = ?")
        guard let key = try DeviceKey.fetchOne(statement, arguments: [app.text, id.text]) else { return }
        try devices("dk = ?", [key])
        try activities("SELECT activity AS value FROM instance WHERE dk = ?", [key])
        try instances("i.dk = ?", [key])
        let tombstones = try db.cachedStatement(sql: "SELECT * FROM tombstone WHERE dk = ?")
        for row in try Row.fetchAll(tombstones, arguments: [key]) {
            let record = try TombstoneRecord(row)
            snapshot.tombstones[.init(record.device, record.localID)] = record
        }
    }

    private mutating func owner(_ value: TokenValue) throws {
        let statement = try db.cachedStatement(sql: "SELECT * FROM token_owner WHERE value = ?")
        guard let row = try Row.fetchOne(statement, arguments: [value.hex]) else { return }
        let record = try TokenOwnerRecord(row)
        snapshot.owners[value] = record
        // The card or the device it belonged to may lose it to another.
        switch record.kind {
        case .update:
            let statement = try db.cachedStatement(
                sql: "SELECT * FROM update_token WHERE activity = ? AND dk = ? AND value = ?")
            guard
                let row = try Row.fetchOne(statement, arguments: [record.activity, record.device, value.hex])
            else { return }
            snapshot.updateTokens[.init(record.activity, record.device)] = try UpdateTokenRecord(row)
        case .device, .pushToStart: try deviceTokens("dk = ? AND value = ?", [record.device, value.hex])
        }
    }

    // MARK: - Phones

    private mutating func instances(_ condition: String, _ arguments: StatementArguments) throws {
        let statement = try db.cachedStatement(sql: "SELECT i.* FROM instance i WHERE \(condition)")
        for row in try Row.fetchAll(statement, arguments: arguments) {
            let record = try InstanceRecord(row)
            snapshot.instances[.init(record.activity, record.device)] = record
        }
        let tokens = try db.cachedStatement(
            sql: """
                SELECT t.* FROM update_token t JOIN instance i ON i.activity = t.activity AND i.dk = t.dk
                WHERE \(condition)
                """)
        for row in try Row.fetchAll(tokens, arguments: arguments) {
            let record = try UpdateTokenRecord(row)
            snapshot.updateTokens[.init(record.activity, record.device)] = record
        }
    }

    /// Instances of one activity with everything the reconciler looks at.
    private mutating func phones(
        of activity: ActivityNumber, _ condition: String, _ arguments: StatementArguments
    ) throws {
        // Bound, not written into the text: every text is a statement that stays prepared.
        let here = "i.activity = ? AND \(condition)"
        let arguments = [activity] + arguments
        try instances(here, arguments)
        let devices = try db.cachedStatement(
            sql: "SELECT d.* FROM device d JOIN instance i ON i.dk = d.dk WHERE \(here)")
        for row in try Row.fetchAll(devices, arguments: arguments) {
            let record = try DeviceRecord(row)
            snapshot.devices[record.key] = record
            snapshot.deviceKeys[.init(record.app, record.id)] = record.key
        }
        let tokens = try db.cachedStatement(
            sql: "SELECT t.* FROM device_token t JOIN instance i ON i.dk = t.dk WHERE t.kind = 2 AND \(here)")
        for row in try Row.fetchAll(tokens, arguments: arguments) {
            let record = try DeviceTokenRecord(row)
            snapshot.deviceTokens[.init(record.device, record.kind, record.type)] = record
        }
    }

    // MARK: - Due work

    private mutating func due(at time: UnixTime, lanes: Int, phones: Int, node: Int64) throws {
        let statement = try db.cachedStatement(
            sql: "SELECT no FROM activity WHERE wake_at <= ? ORDER BY wake_at, no LIMIT ?")
        // What a process that is gone had on its way comes first, though its lease may run on.
        let lost = try db.cachedStatement(
            sql: """
                SELECT DISTINCT activity FROM lane INDEXED BY lane_in_flight
                WHERE flight_node IS NOT NULL AND flight_node <> ? LIMIT ?
                """)
        let abandoned = try Int64.fetchAll(lost, arguments: [node, lanes])
        let due = try Int64.fetchAll(statement, arguments: [time, lanes])
        let numbers = (abandoned + due.filter { !abandoned.contains($0) }).prefix(lanes)
        try activities("SELECT value FROM json_each(?)", [jsonList(numbers)])
        var room = phones
        for number in numbers {
            guard room > 0, let activity = snapshot.activities[number] else { break }
            snapshot.due.append(number)
            let lane = snapshot.lanes[number] ?? LaneRecord(activity: number)
            if let flight = lane.flight {
                guard lane.isAbandoned(now: time, node: node) else { continue }
                try page(of: number, [flight.fromDevice..<flight.toDevice + 1], limit: .max)
            } else {
                try page(of: number, lane.inLap(for: activity.revision).stretches, limit: min(room, max(1, phones / 2)))
                try openStarts(besides: number)
            }
            room -= snapshot.pages[number]?.devices.count ?? 0
        }
    }

    private mutating func page(of activity: ActivityNumber, _ stretches: [Range<DeviceKey>], limit: Int) throws {
        var devices: [DeviceKey] = []
        for stretch in stretches {
            let statement = try db.cachedStatement(
                sql: "SELECT dk FROM instance WHERE activity = ? AND dk >= ? AND dk < ? ORDER BY dk LIMIT ?")
            // One more than there is room for tells whether the page is all there is.
            let room = min(limit, 1 << 40) - devices.count
            let found = try Int64.fetchAll(
                statement, arguments: [activity, stretch.lowerBound, stretch.upperBound, room + 1])
            let taken = found.prefix(room)
            if let first = taken.first, let last = taken.last {
                try phones(of: activity, "i.dk BETWEEN ? AND ?", [first, last])
            }
            devices += taken
            if found.count > room {
                snapshot.pages[activity] = Snapshot.Page(devices: devices, isComplete: false)
                return
            }
        }
        snapshot.pages[activity] = Snapshot.Page(devices: devices, isComplete: true)
    }

    /// Devices of the page that have an unmatched start of another activity which its card could not be told from.
    private mutating func openStarts(besides activity: ActivityNumber) throws {
        guard let record = snapshot.activities[activity], let content = snapshot.contents[activity],
            let page = snapshot.pages[activity], let first = page.devices.min(), let last = page.devices.max()
        else { return }
        let statement = try db.cachedStatement(
            sql: """
                SELECT DISTINCT i.dk FROM instance i INDEXED BY open_start
                JOIN activity a ON a.no = i.activity JOIN content c ON c.activity = i.activity
                WHERE i.state IN (2, 3) AND i.local_id IS NULL AND i.dk BETWEEN ? AND ? AND i.activity <> ?
                    AND a.type = ? AND a.app = ? AND c.attributes_digest = ?
                """)
        let devices = try Int64.fetchAll(
            statement,
            arguments: [
                first, last, activity, record.type, record.app.text, Int64(bitPattern: content.attributesDigest),
            ])
        for device in devices { snapshot.otherOpenStarts.insert(.init(activity, device)) }
    }
}
