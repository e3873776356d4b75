import APNSModel
import LiveActivityCore

extension DeviceRecord: StoredRow {
    static let table = "device"
    static let columns = [
        "dk", "app", "id", "user", "user_id", "platform", "time_zone", "locale", "os_version", "app_version", "build",
        "model", "env", "activities_enabled", "frequent_pushes", "authorization", "inventory", "created_at",
        "contact_at", "signed_out_at", "credentials", "reports", "made_since", "made_cards", "made_tokens",
        "made_waiting", "channels",
    ]
    static let keyColumns = ["dk"]
    static let fixedColumns: Set<String> = ["app", "id"]

    init(_ row: inout RowReader) throws {
        let key = row.int()
        let app = try decodeBundleID(row.text(), Self.table)
        self.init(
            key: key, app: app, id: DeviceID(stored: row.text()), user: row.int(), userID: UserID(stored: row.text()),
            at: UnixTime(milliseconds: 0))
        platform = row.text()
        timeZone = row.textOrNil()
        locale = row.textOrNil()
        osVersion = try decodeOSVersion(row.textOrNil())
        appVersion = row.textOrNil()
        build = row.textOrNil()
        model = row.textOrNil()
        environment = try decodeCase(ifPresent: row.textOrNil(), Self.table, "env")
        activitiesEnabled = row.boolOrNil()
        frequentPushesEnabled = row.boolOrNil()
        notificationAuthorization = row.textOrNil()
        inventorySequence = row.int()
        createdAt = row.time()
        contactAt = row.time()
        signedOutAt = row.timeOrNil()
        guard let credentials = try row.bytes(Self.unpack) else {
            throw DamagedRow(table: Self.table, column: "credentials")
        }
        self.credentials = credentials
        reportSequence = row.int()
        made.since = row.time()
        made.cards = Int(row.int())
        made.tokens = Int(row.int())
        made.waiting = Int(row.int())
        channels = row.boolOrNil()
    }

    func bind(_ row: inout RowBinder) {
        row.int(key)
        row.text(app.text)
        row.text(id.text)
        row.int(user)
        row.text(userID.text)
        row.text(platform)
        row.text(timeZone)
        row.text(locale)
        row.text(osVersion?.description)
        row.text(appVersion)
        row.text(build)
        row.text(model)
        row.text(environment?.rawValue)
        row.bool(activitiesEnabled)
        row.bool(frequentPushesEnabled)
        row.text(notificationAuthorization)
        row.int(inventorySequence)
        row.time(createdAt)
        row.time(contactAt)
        row.time(signedOutAt)
        row.blob(packedCredentials)
        row.int(reportSequence)
        row.time(made.since)
        row.int(Int64(made.cards))
        row.int(Int64(made.tokens))
        row.int(Int64(made.waiting))
        row.bool(channels)
    }

    /// The credentials of phones that make calls of their own, which are few. `nil` for all others.
    private var packedCredentials: [UInt8]? {
        guard !credentials.isEmpty else { return nil }
        var writer = PackedWriter(reserving: credentials.count * 48)
        writer.unsigned(0)
        writer.unsigned(PackedFormat.credentials)
        for credential in credentials {
            writer.unsigned(UInt64(credential.secretHash.count))
            for byte in credential.secretHash { writer.unsigned(UInt64(byte)) }
            writer.signed(credential.createdAt.milliseconds)
            writer.unsigned(credential.usedAt == nil ? 0 : 1)
            if let usedAt = credential.usedAt { writer.signed(usedAt.milliseconds) }
        }
        return writer.bytes
    }

    /// Reads credentials. Returns `nil` if the bytes are not in the form that `packedCredentials` writes.
    ///
    /// - Throws: `DamagedRow` if the format is newer.
    private static func unpack(_ bytes: UnsafeRawBufferPointer) throws -> [PhoneCredentialRecord]? {
        var reader = PackedReader(bytes)
        if bytes.first == 0 {
            guard reader.unsigned() == 0, let format = reader.unsigned() else { return nil }
            guard format <= PackedFormat.credentials else {
                throw DamagedRow(table: table, column: "credentials", newerFormat: format)
            }
        }
        var credentials: [PhoneCredentialRecord] = []
        while !reader.isAtEnd {
            guard let count = reader.unsigned(), count <= 64 else { return nil }
            var hash: [UInt8] = []
            for _ in 0..<count {
                guard let byte = reader.unsigned(), byte <= 255 else { return nil }
                hash.append(UInt8(byte))
            }
            guard let created = reader.signed(), let wasUsed = reader.unsigned() else { return nil }
            var credential = PhoneCredentialRecord(secretHash: hash, createdAt: UnixTime(milliseconds: created))
            if wasUsed == 1 {
                guard let used = reader.signed() else { return nil }
                credential.usedAt = UnixTime(milliseconds: used)
            }
            credentials.append(credential)
        }
        return credentials
    }
}

/// A part of a device's row.
extension DeviceFacts {
    static let columns = [
        "dk", "id", "user_id", "time_zone", "os_version", "build", "env", "activities_enabled", "frequent_pushes",
        "authorization", "contact_at", "signed_out_at", "reports", "channels",
    ]

    init(_ row: inout RowReader) throws {
        self.init(
            key: row.int(), id: DeviceID(stored: row.text()), userID: UserID(stored: row.text()),
            contactAt: UnixTime(milliseconds: 0))
        timeZone = row.textOrNil()
        osVersion = try decodeOSVersion(row.textOrNil())
        build = row.textOrNil()
        environment = try decodeCase(ifPresent: row.textOrNil(), DeviceRecord.table, "env")
        activitiesEnabled = row.boolOrNil()
        frequentPushesEnabled = row.boolOrNil()
        notificationAuthorization = row.textOrNil()
        contactAt = row.time()
        signedOutAt = row.timeOrNil()
        reportSequence = row.int()
        channels = row.boolOrNil()
    }
}

private func decodeOSVersion(_ text: String?) throws -> OSVersion? {
    try text.map { text in
        guard let version = OSVersion(text) else {
            throw DamagedRow(table: DeviceRecord.table, column: "os_version")
        }
        return version
    }
}

extension TombstoneRecord: StoredRow {
    static let table = "tombstone"
    static let columns = ["dk", "local_id", "activity", "state", "at"]
    static let keyColumns = ["dk", "local_id"]

    init(_ row: inout RowReader) throws {
        self.init(
            device: row.int(), localID: LocalID(stored: row.text()), activity: row.int(),
            state: try decodeCase(row.int(), Self.table, "state"), at: row.time())
    }

    func bind(_ row: inout RowBinder) {
        row.int(device)
        row.text(localID.text)
        row.int(activity)
        row.int(Int64(state.rawValue))
        row.time(at)
    }
}

extension BudgetRecord: StoredRow {
    static let table = "budget"
    static let columns = ["dk", "kind", "hour", "day", "at"]
    static let keyColumns = ["dk", "kind"]

    init(_ row: inout RowReader) throws {
        let device = row.int()
        let kind: Kind = try decodeCase(row.int(), Self.table, "kind")
        let (hour, day) = (row.int(), row.int())
        self.init(device: device, kind: kind, at: row.time())
        self.hour = hour
        self.day = day
    }

    func bind(_ row: inout RowBinder) {
        row.int(device)
        row.int(Int64(kind.rawValue))
        row.int(hour)
        row.int(day)
        row.time(at)
    }
}
