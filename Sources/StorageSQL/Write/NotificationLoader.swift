import APNSModel
import LiveActivityCore

/// Finds the ordinary notifications that are due, and the devices of each: see `DueNotifications`.
struct NotificationLoader {
    /// Maximum number of devices of a small notification. Small ones are loaded together.
    private static let small = 32

    let sql: Statements

    func load(_ due: DueNotifications, _ snapshot: inout Snapshot) throws {
        var found: [NotificationRecord] = []
        try sql.query(
            "SELECT \(NotificationRecord.list) FROM notification WHERE next_at <= ? ORDER BY next_at, no LIMIT ?",
            [.int(due.at.milliseconds), .int(Int64(due.notifications))]
        ) { row in found.append(try NotificationRecord(&row)) }
        if let notes = sql.damage { try putOffUnreadable(due, besides: Set(found.map(\.number)), notes) }
        guard !found.isEmpty else { return }
        let small = try smallOnes(found)
        var room = due.addressees
        for notification in found where room > 0 {
            let limit = min(room, due.addresseesOfOne)
            let (rows, next) =
                if notification.addressees <= Self.small {
                    Self.due(of: notification, among: small[notification.number] ?? [], at: due.at)
                } else {
                    try large(notification, limit: limit + 1, at: due.at)
                }
            let page = rows.prefix(limit)
            room -= page.count
            snapshot.notifications[notification.number] = notification
            snapshot.dueNotifications.append(notification.number)
            for row in page { snapshot.addressees[row.key] = row }
            snapshot.notificationPages[notification.number] = Snapshot.NotificationPage(
                devices: page.map(\.device), isComplete: rows.count <= limit, nextDueAt: next)
        }
        try loadDevices(&snapshot)
        try loadInstances(&snapshot)
    }

    func load(_ keys: Set<AddresseeKey>, _ snapshot: inout Snapshot) throws {
        guard !keys.isEmpty else { return }
        try sql.query(
            "SELECT \(NotificationRecord.list) FROM notification WHERE no IN (SELECT value FROM list(?))",
            [.list(Set(keys.map(\.notification)).sorted())]
        ) { row in
            let record = try NotificationRecord(&row)
            snapshot.notifications[record.number] = record
        }
        let pairs = keys.sorted().map { ($0.notification, $0.device) }
        try sql.query(
            """
            SELECT \(AddresseeRecord.list(of: "a")) FROM pairs(?) j CROSS JOIN addressee a
            ON a.notification = j.a AND a.dk = j.b
            """, [.pairs(pairs)]
        ) { row in
            let record = try AddresseeRecord(&row)
            snapshot.addressees[record.key] = record
        }
        try loadInstances(&snapshot)
    }

    /// Postpones notifications that cannot be read, which would otherwise always be due. They are examined again later,
    /// because a person may repair them.
    private func putOffUnreadable(
        _ due: DueNotifications, besides found: Set<NotificationNumber>, _ notes: DamageNotes
    ) throws {
        var unreadable: [NotificationNumber] = []
        // Numbers can always be read.
        try sql.query(
            "SELECT no FROM notification WHERE next_at <= ? ORDER BY next_at, no LIMIT ?",
            [.int(due.at.milliseconds), .int(Int64(due.notifications))]
        ) { row in
            let number = row.int()
            if !found.contains(number) { unreadable.append(number) }
        }
        for number in unreadable {
            notes.note("notification number \(number) is put off for \(DamagedWork.pause.components.seconds) s")
            try sql.run(
                "UPDATE notification SET next_at = ? WHERE no = ?",
                [.int((due.at + DamagedWork.pause).milliseconds), .int(number)])
        }
    }

    // MARK: - Pages

    private func smallOnes(_ found: [NotificationRecord]) throws -> [NotificationNumber: [AddresseeRecord]] {
        let numbers = found.filter { $0.addressees <= Self.small }.map(\.number)
        guard !numbers.isEmpty else { return [:] }
        var rows: [NotificationNumber: [AddresseeRecord]] = [:]
        try sql.query(
            """
            SELECT \(AddresseeRecord.list) FROM addressee
            WHERE notification IN (SELECT value FROM list(?)) ORDER BY notification, dk
            """, [.list(numbers.sorted())]
        ) { row in
            let record = try AddresseeRecord(&row)
            rows[record.notification, default: []].append(record)
        }
        return rows
    }

    private static func due(
        of notification: NotificationRecord, among rows: [AddresseeRecord], at now: UnixTime
    ) -> (rows: [AddresseeRecord], next: UnixTime?) {
        guard now < notification.expiresAt else { return (rows, nil) }
        let due = rows.compactMap { row in row.dueAt.map { (at: $0, row: row) } }.filter { $0.at <= now }
            .sorted { ($0.at, $0.row.device) < ($1.at, $1.row.device) }.map(\.row)
        return (due, rows.compactMap(\.dueAt).filter { $0 > now }.min())
    }

    /// Selects the addressees that have waited longest, so that postponed ones do not block the others.
    static let pageOfDue = """
        SELECT \(AddresseeRecord.list) FROM addressee INDEXED BY addressee_due
        WHERE notification = ? AND due_at <= ? ORDER BY due_at, dk LIMIT ?
        """

    private func large(
        _ notification: NotificationRecord, limit: Int, at now: UnixTime
    ) throws -> (rows: [AddresseeRecord], next: UnixTime?) {
        var rows: [AddresseeRecord] = []
        let number = Statements.Argument.int(notification.number)
        guard now < notification.expiresAt else {
            try sql.query(
                "SELECT \(AddresseeRecord.list) FROM addressee WHERE notification = ? ORDER BY dk LIMIT ?",
                [number, .int(Int64(limit))]
            ) { row in rows.append(try AddresseeRecord(&row)) }
            return (rows, nil)
        }
        try sql.query(Self.pageOfDue, [number, .int(now.milliseconds), .int(Int64(limit))]) { row in
            rows.append(try AddresseeRecord(&row))
        }
        let next = try sql.number(
            "SELECT min(due_at) FROM addressee INDEXED BY addressee_due WHERE notification = ? AND due_at > ?",
            [number, .int(now.milliseconds)])
        return (rows, next.map(UnixTime.init(milliseconds:)))
    }

    // MARK: - Phones

    private func loadDevices(_ snapshot: inout Snapshot) throws {
        let devices = Set(snapshot.addressees.keys.map(\.device))
        guard !devices.isEmpty else { return }
        let list = Statements.Argument.list(devices.sorted())
        try sql.query(
            "SELECT \(DeviceRecord.list) FROM device WHERE dk IN (SELECT value FROM list(?))", [list]
        ) { row in
            let record = try DeviceRecord(&row)
            snapshot.devices[record.key] = record
        }
        try sql.query(
            """
            SELECT \(DeviceTokenRow.list) FROM device_token
            WHERE dk IN (SELECT value FROM list(?)) AND kind = 1
            """, [list]
        ) { row in
            let record = try DeviceTokenRow(&row).record
            snapshot.deviceTokens[.init(record.device, record.kind, record.type)] = record
        }
    }

    /// Loads the instances of phones that get a fallback instead of a card.
    private func loadInstances(_ snapshot: inout Snapshot) throws {
        var keys: Set<Snapshot.PhoneKey> = []
        for key in snapshot.addressees.keys {
            guard let fallback = snapshot.notifications[key.notification]?.fallback else { continue }
            let phone = Snapshot.PhoneKey(fallback.activity, key.device)
            if snapshot.cards[phone] == nil { keys.insert(phone) }
        }
        try SnapshotLoader.fetch(CardMachine.self, keys, sql) { record in
            snapshot.cards[.init(record.activity, record.device)] = record
        }
    }
}
