import APNSModel
import LiveActivityCore
import LiveActivityStorage

// Devices of which nobody has heard for long, and tokens of who signed out.
extension Erasure {
    mutating func eraseTokensOfSignedOut() throws {
        guard room > 0 else { return }
        let devices = try numbers(
            """
            SELECT dk FROM device INDEXED BY device_unswept
            WHERE signed_out_at IS NOT NULL AND (swept_at IS NULL OR swept_at < signed_out_at) AND signed_out_at < ?
            ORDER BY signed_out_at LIMIT ?
            """, [before(limits.endedTokens), .int(Int64(Self.owners))])
        for device in devices where room > 0 {
            try eraseTokens(of: device)
            try sql.execute("UPDATE device SET swept_at = signed_out_at WHERE dk = ?", [.int(device)])
        }
        if devices.count == Self.owners { room = min(room, 0) }
    }

    private mutating func eraseTokens(of device: DeviceKey) throws {
        var app: BundleID?
        try sql.query("SELECT app FROM device WHERE dk = ?", [.int(device)]) { row in app = BundleID(row.text()) }
        var values: [TokenValue] = []
        var unread = 0
        let ofDevice = "device_token WHERE dk = ?1"
        try sql.query("SELECT \(DeviceTokenRow.list) FROM \(ofDevice)", [.int(device)]) { row in
            unread += 1
            guard let token = try sql.token(false, { try DeviceTokenRow(&row) })?.record else { return }
            unread -= 1
            values.append(token.value)
        }
        count("device_token", try sql.execute("DELETE FROM \(ofDevice)", [.int(device)]))
        let ofCards = """
            update_token WHERE (activity, dk) IN
                (SELECT activity, dk FROM instance INDEXED BY instance_by_device WHERE dk = ?1)
            """
        try sql.query("SELECT \(UpdateTokenRow.list) FROM \(ofCards)", [.int(device)]) { row in
            unread += 1
            guard let token = try sql.token(false, { try UpdateTokenRow(&row) })?.record else { return }
            unread -= 1
            values += token.values
        }
        count("update_token", try sql.execute("DELETE FROM \(ofCards)", [.int(device)]))
        if let app, unread == 0 {
            try free([device: values.map { .init(app, $0) }])
        } else {
            try freeAll(of: [device])
        }
    }

    mutating func eraseDevices() throws {
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

    /// Goes through all devices a stretch at a time: an index of when each was heard of last would be written with
    /// every call of a phone.
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
        try sql.execute("UPDATE meta SET value = ? WHERE name = 'device_walk'", [.int(next)])
    }

    /// All of it in one step: a device has as many rows as activities that it has seen since they were last erased.
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
            try sql.execute(
                """
                UPDATE lane SET absent = absent - ?, open = open - ?, live = live - ?, over = over - ?
                WHERE activity = ? AND from_dk = (SELECT max(from_dk) FROM lane WHERE activity = ? AND from_dk <= ?)
                """,
                [counts.absent, counts.open, counts.live, counts.over].map { .int(Int64($0)) }
                    + [.int(activity), .int(activity), .int(device)])
        }
        let pairs = Statements.Argument.text(jsonPairs(states.map { ($0.activity, device) }))
        count(
            "instance",
            try sql.execute(
                "DELETE FROM instance WHERE (activity, dk) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))",
                [pairs]))
        for table in ["tombstone", "budget"] {
            count(table, try sql.execute("DELETE FROM \(table) WHERE dk = ?", [.int(device)]))
        }
        let user = try sql.number("SELECT user FROM device WHERE dk = ?", [.int(device)])
        count("device", try sql.execute("DELETE FROM device WHERE dk = ?", [.int(device)]))
        if let user { try eraseUsers(.text(jsonList([user]))) }
    }

    /// `nil` for one that cannot be read, once it is clear that such rows are passed over: nobody knows how it was
    /// counted, and it goes all the same.
    private func state(_ raw: Int64) throws -> InstanceRecord.State? {
        do {
            return try decodeCase(raw, "instance", "state")
        } catch let row as DamagedRow {
            guard let notes = sql.damage else { throw row }
            notes.note(row)
            return nil
        }
    }

    mutating func eraseOwners(_ index: String, by column: String, olderThan age: Duration) throws {
        guard room > 0 else { return }
        count(
            "token_owner",
            try sql.execute(
                """
                DELETE FROM token_owner WHERE hash IN
                    (SELECT hash FROM token_owner INDEXED BY \(index)
                     WHERE \(column) IS NOT NULL AND \(column) < ? ORDER BY \(column) LIMIT ?)
                """, [before(age), .int(Int64(room))]))
    }
}
