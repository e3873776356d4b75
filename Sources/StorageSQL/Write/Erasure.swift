import APNSModel
import LiveActivityCore
import LiveActivityStorage

/// Erases one page of unneeded rows: tokens of ended activities, activities that ended long ago, and devices.
///
/// The erasure runs in the writer's transaction. Each step finds its rows by an index, and takes only as many as there
/// is room for. So a million rows go in a thousand small commits. The next page finds and continues what is half
/// erased, also after a crash.
struct Erasure {
    /// The app of activities that are being erased. Their ids are free from then on, and no query finds them.
    static let app = "islet.erased"
    /// Maximum number of activities and devices that one page examines. Each costs some statements.
    static let owners = 100
    /// Number of devices that one page of the walk examines.
    static let walk = 1000
    /// Number of people that one page of the walk examines.
    static let people = 1000

    let sql: Statements
    let limits: PruneLimits
    let now: UnixTime
    /// Number of rows that this page may still erase.
    private(set) var room: Int
    private(set) var erased: [String: Int] = [:]

    init(sql: Statements, limits: PruneLimits, now: UnixTime) {
        self.sql = sql
        self.limits = limits
        self.now = now
        room = limits.rows
    }

    mutating func run() throws {
        try eraseTokensOfEnded()
        try detachActivities()
        try eraseActivities()
        try eraseTokensOfSignedOut()
        try eraseDevices()
        try walkPeople()
        try eraseOwners()
    }

    mutating func count(_ table: String, _ rows: Int) {
        guard rows > 0 else { return }
        erased[table, default: 0] += rows
        room -= rows
    }

    func before(_ age: Duration) -> Statements.Argument { .int((now - age).milliseconds) }

    private func numbers(_ text: String, _ arguments: [Statements.Argument]) throws -> [Int64] {
        var found: [Int64] = []
        try sql.query(text, arguments) { found.append($0.int()) }
        return found
    }

    // MARK: - Activities

    private mutating func eraseTokensOfEnded() throws {
        let ended = try numbers(
            """
            SELECT no FROM activity INDEXED BY activity_unswept
            WHERE ended_at IS NOT NULL AND (swept_at IS NULL OR swept_at < ended_at) AND ended_at < ?
            ORDER BY ended_at LIMIT ?
            """, [before(limits.endedTokens), .int(Int64(Self.owners))])
        for number in ended where room > 0 {
            guard try eraseUpdateTokens(of: number) else { continue }
            try sql.run("UPDATE activity SET swept_at = ended_at WHERE no = ?", [.int(number)])
        }
        if ended.count == Self.owners { room = min(room, 0) }
    }

    /// Returns `false` while more tokens remain.
    private mutating func eraseUpdateTokens(of activity: ActivityNumber) throws -> Bool {
        var devices: [Int64] = []
        var values: [DeviceKey: [Snapshot.OwnerKey]] = [:]
        try sql.query(
            """
            SELECT \(UpdateTokenRow.list), (SELECT app FROM device WHERE device.dk = update_token.dk) FROM update_token
            WHERE activity = ? ORDER BY dk LIMIT ?
            """, [.int(activity), .int(Int64(room))]
        ) { row in
            devices.append(row.peek(1))
            let token = try sql.token(false) { try UpdateTokenRow(&row) }?.record
            guard let token, let app = row.textOrNil().flatMap({ BundleID($0) }) else { return }
            values[token.device, default: []] += token.values.map { .init(app, $0) }
        }
        guard !devices.isEmpty else { return true }
        let isAll = devices.count < room
        try free(values, of: activity)
        count(
            "update_token",
            try sql.execute(
                "DELETE FROM update_token WHERE activity = ? AND dk IN (SELECT value FROM list(?))",
                [.int(activity), .list(devices)]))
        return isAll
    }

    /// Deletes the owners of values. Dead values stay known as dead, and values that another device holds by now stay
    /// known as its own.
    ///
    /// - Parameter activity: The activity of the cards' tokens, or `nil` for all cards of the devices.
    private mutating func free(
        _ values: [DeviceKey: [Snapshot.OwnerKey]], of activity: ActivityNumber? = nil
    ) throws {
        var rows: [(Int64, String, Int64?, Int64?)] = []
        for (device, keys) in values.sorted(by: { $0.key < $1.key }) {
            for hash in try sql.sealing.hashes(of: Set(keys)).keys.sorted() { rows.append((device, hash, nil, nil)) }
        }
        guard !rows.isEmpty else { return }
        let freed = try sql.execute(
            """
            DELETE FROM token_owner WHERE (hash, dk) IN (SELECT b, a FROM tuples(?))
            AND dead_at IS NULL AND activity = coalesce(?, activity)
            """, [.tuples(rows), activity.map(Statements.Argument.int) ?? .null])
        if freed > 0 { erased["token_owner", default: 0] += freed }
    }

    /// Selects old announced activities. They are few among the running activities, which may be very many.
    static let oldAnnounced = """
        SELECT no FROM activity INDEXED BY activity_announced WHERE phase = 'announced' AND run_started_at < ?
        AND no < (SELECT max(no) FROM activity) ORDER BY run_started_at LIMIT ?
        """

    /// Detaches activities in one step. The highest number stays, because the next number follows from it.
    private mutating func detachActivities() throws {
        guard room > 0 else { return }
        let old =
            try numbers(
                """
                SELECT no FROM activity INDEXED BY activity_ended WHERE ended_at IS NOT NULL AND ended_at < ?
                AND phase = 'ended' AND no < (SELECT max(no) FROM activity) ORDER BY ended_at LIMIT ?
                """, [before(limits.ended), .int(Int64(Self.owners))])
            + numbers(
                Self.oldAnnounced, [before(limits.announced), .int(Int64(Self.owners))])
        guard !old.isEmpty else { return }
        let list = Statements.Argument.list(old)
        try sql.run(
            """
            UPDATE activity SET type = app, app = ?, id = no, phase = 'ended', ended_at = NULL, wake_at = NULL
            WHERE no IN (SELECT value FROM list(?))
            """, [.text(Self.app), list])
        // Their channels are deleted at APNs before their rows go.
        try sql.run(
            """
            UPDATE channel SET due_at = ?
            WHERE flight_node IS NULL AND activity IN (SELECT value FROM list(?))
            """, [.int(now.milliseconds), list])
        for (table, column) in [("lane", "activity"), ("content", "activity"), ("audience", "activity")] {
            count(
                table,
                try sql.execute("DELETE FROM \(table) WHERE \(column) IN (SELECT value FROM list(?))", [list]))
        }
    }

    private mutating func eraseActivities() throws {
        guard room > 0 else { return }
        let detached = try numbers(
            "SELECT no FROM activity WHERE app = ? ORDER BY id LIMIT ?", [.text(Self.app), .int(Int64(Self.owners))])
        for number in detached where room > 0 {
            guard try eraseRows(of: number) else { continue }
            count("activity", try sql.execute("DELETE FROM activity WHERE no = ?", [.int(number)]))
        }
        if detached.count == Self.owners { room = min(room, 0) }
    }

    /// Returns `false` while more rows remain.
    private mutating func eraseRows(of activity: ActivityNumber) throws -> Bool {
        guard try eraseUpdateTokens(of: activity), try erase("instance", "dk", of: activity) else { return false }
        let members = try numbers(
            "SELECT user FROM member WHERE activity = ? ORDER BY user LIMIT ?", [.int(activity), .int(Int64(room))])
        let isAll = members.count < room
        if !members.isEmpty {
            let list = Statements.Argument.list(members)
            count(
                "member",
                try sql.execute(
                    "DELETE FROM member WHERE activity = ? AND user IN (SELECT value FROM list(?))",
                    [.int(activity), list]))
            try eraseUsers(list)
        }
        guard isAll, try eraseHistory(of: activity) else { return false }
        // A phone's report may have created a lane again meanwhile.
        return try erase("lane", "from_dk", of: activity)
    }

    private mutating func erase(_ table: String, _ column: String, of activity: ActivityNumber) throws -> Bool {
        guard room > 0 else { return false }
        let before = room
        let rows = try sql.execute(
            """
            DELETE FROM \(table) WHERE activity = ?1 AND \(column) IN
                (SELECT \(column) FROM \(table) WHERE activity = ?1 ORDER BY \(column) LIMIT ?2)
            """, [.int(activity), .int(Int64(room))])
        count(table, rows)
        return rows < before
    }

    private mutating func eraseHistory(of activity: ActivityNumber) throws -> Bool {
        guard room > 0 else { return false }
        var bytes: Int64 = 0
        var sequences: [Int64] = []
        try sql.query(
            "SELECT seq, length(body) FROM history WHERE activity = ? ORDER BY seq LIMIT ?",
            [.int(activity), .int(Int64(room))]
        ) { row in
            sequences.append(row.int())
            bytes += row.int()
        }
        guard !sequences.isEmpty else { return true }
        let isAll = sequences.count < room
        count(
            "history",
            try sql.execute(
                "DELETE FROM history WHERE activity = ? AND seq IN (SELECT value FROM list(?))",
                [.int(activity), .list(sequences)]))
        try sql.run(
            """
            UPDATE meta SET value = CASE WHEN value > ?1 THEN value - ?1 ELSE 0 END
            WHERE name = 'history_bytes:' || (SELECT \(AppUse.owner) FROM activity a WHERE a.no = ?2)
            """, [.int(bytes), .int(activity)])
        return isAll
    }

    /// Walks through all people, one stretch at a time. No other row leads to a person who has left their last
    /// activity.
    private mutating func walkPeople() throws {
        guard room > 0 else { return }
        let position = try sql.number("SELECT value FROM meta WHERE name = 'user_walk'") ?? -1
        let stretch = try numbers(
            "SELECT no FROM user WHERE no > ? ORDER BY no LIMIT ?", [.int(position), .int(Int64(Self.people))])
        if !stretch.isEmpty { try eraseUsers(.list(stretch)) }
        let next = stretch.count < Self.people ? -1 : stretch.last ?? -1
        guard next != position else { return }
        try sql.run("UPDATE meta SET value = ? WHERE name = 'user_walk'", [.int(next)])
    }

    /// Deletes people without devices and memberships.
    private mutating func eraseUsers(_ list: Statements.Argument) throws {
        let rows = try sql.execute(
            """
            DELETE FROM user WHERE no IN (SELECT value FROM list(?)) AND no < (SELECT max(no) FROM user)
            AND NOT EXISTS (SELECT 1 FROM member WHERE member.user = user.no)
            AND NOT EXISTS (SELECT 1 FROM device WHERE device.user = user.no)
            """, [list])
        guard rows > 0 else { return }
        erased["user", default: 0] += rows
        // The provider's data for these people.
        for table in ["refresh", "memo"] {
            let rows = try sql.execute(
                """
                DELETE FROM \(table) WHERE user IN (SELECT value FROM list(?))
                AND NOT EXISTS (SELECT 1 FROM user WHERE user.no = \(table).user)
                """, [list])
            if rows > 0 { erased[table, default: 0] += rows }
        }
    }
}

// MARK: - Devices

extension Erasure {
    private mutating func eraseTokensOfSignedOut() throws {
        guard room > 0 else { return }
        let devices = try numbers(
            """
            SELECT dk FROM device INDEXED BY device_unswept
            WHERE signed_out_at IS NOT NULL AND (swept_at IS NULL OR swept_at < signed_out_at) AND signed_out_at < ?
            ORDER BY signed_out_at LIMIT ?
            """, [before(limits.endedTokens), .int(Int64(Self.owners))])
        for device in devices where room > 0 {
            try eraseTokens(of: device)
            try sql.run("UPDATE device SET swept_at = signed_out_at WHERE dk = ?", [.int(device)])
        }
        if devices.count == Self.owners { room = min(room, 0) }
    }

    private mutating func eraseTokens(of device: DeviceKey) throws {
        var app: BundleID?
        try sql.query("SELECT app FROM device WHERE dk = ?", [.int(device)]) { row in app = BundleID(row.text()) }
        var values: [TokenValue] = []
        let ofDevice = "device_token WHERE dk = ?1"
        try sql.query("SELECT \(DeviceTokenRow.list) FROM \(ofDevice)", [.int(device)]) { row in
            if let token = try sql.token(false, { try DeviceTokenRow(&row) })?.record { values.append(token.value) }
        }
        count("device_token", try sql.execute("DELETE FROM \(ofDevice)", [.int(device)]))
        let ofCards = """
            update_token WHERE (activity, dk) IN
                (SELECT activity, dk FROM instance INDEXED BY instance_by_device WHERE dk = ?1)
            """
        try sql.query("SELECT \(UpdateTokenRow.list) FROM \(ofCards)", [.int(device)]) { row in
            guard let token = try sql.token(false, { try UpdateTokenRow(&row) })?.record else { return }
            values += token.values
        }
        count("update_token", try sql.execute("DELETE FROM \(ofCards)", [.int(device)]))
        if let app { try free([device: values.map { .init(app, $0) }]) }
    }

    private mutating func eraseDevices() throws {
        guard room > 0 else { return }
        let signedOut = try numbers(
            """
            SELECT dk FROM device INDEXED BY device_signed_out WHERE signed_out_at IS NOT NULL AND signed_out_at < ?
            ORDER BY signed_out_at LIMIT ?
            """, [before(limits.signedOut), .int(Int64(Self.owners))])
        for device in signedOut where room > 0 { try eraseDevice(device) }
        if signedOut.count == Self.owners { room = min(room, 0) }
        try walkDevices()
    }

    /// Walks through all devices, one stretch at a time. An index of last contacts would be written at every call of a
    /// phone.
    private mutating func walkDevices() throws {
        guard room > 0 else { return }
        let position = try sql.number("SELECT value FROM meta WHERE name = 'device_walk'") ?? -1
        let oldest = (now - limits.silent).milliseconds
        var last = position
        var looked = 0
        var silent: [DeviceKey] = []
        try sql.query(
            "SELECT dk, contact_at FROM device WHERE dk > ? ORDER BY dk LIMIT ?",
            [.int(position), .int(Int64(Self.walk))]
        ) { row in
            last = row.int()
            looked += 1
            if row.int() < oldest { silent.append(last) }
        }
        for device in silent {
            guard room > 0 else {
                last = device - 1
                break
            }
            try eraseDevice(device)
        }
        let next = looked < Self.walk && room > 0 ? -1 : last
        guard next != position else { return }
        try sql.run("UPDATE meta SET value = ? WHERE name = 'device_walk'", [.int(next)])
    }

    /// Erases a device in one step. It has as many rows as it has seen activities since the last erasure of activities.
    private mutating func eraseDevice(_ device: DeviceKey) throws {
        try eraseTokens(of: device)
        var states: [(activity: Int64, state: Int64)] = []
        try sql.query(
            "SELECT activity, state FROM instance INDEXED BY instance_by_device WHERE dk = ?", [.int(device)]
        ) { row in states.append((row.int(), row.int())) }
        for (activity, raw) in states {
            guard let state = try state(raw) else { continue }
            var counts = LaneCounts()
            counts.count(state, 1)
            try sql.run(
                """
                UPDATE lane SET absent = absent - ?, open = open - ?, live = live - ?, over = over - ?
                WHERE activity = ? AND from_dk = (SELECT max(from_dk) FROM lane WHERE activity = ? AND from_dk <= ?)
                """,
                [counts.absent, counts.open, counts.live, counts.over].map { .int(Int64($0)) }
                    + [.int(activity), .int(activity), .int(device)])
        }
        let pairs = Statements.Argument.pairs(states.map { ($0.activity, device) })
        count(
            "instance",
            try sql.execute(
                "DELETE FROM instance WHERE (activity, dk) IN (SELECT a, b FROM pairs(?))",
                [pairs]))
        for table in ["tombstone", "budget"] {
            count(table, try sql.execute("DELETE FROM \(table) WHERE dk = ?", [.int(device)]))
        }
        let user = try sql.number("SELECT user FROM device WHERE dk = ?", [.int(device)])
        count("device", try sql.execute("DELETE FROM device WHERE dk = ?", [.int(device)]))
        if let user { try eraseUsers(.list([user])) }
    }

    /// Returns the state of an instance, or `nil` if it cannot be read and damaged rows are skipped.
    ///
    /// The lane's count of such an instance is unknown. The instance is erased all the same.
    private func state(_ raw: Int64) throws -> CardState? {
        do {
            return try decodeCase(raw, "instance", "state")
        } catch let row as DamagedRow {
            guard let notes = sql.damage else { throw row }
            notes.note(row)
            return nil
        }
    }
}
