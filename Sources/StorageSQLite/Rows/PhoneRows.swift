import APNSModel
import LiveActivityCore

extension DeviceRecord: StoredRow {
    static let table = "device"
    static let columns = [
        "dk", "app", "id", "user", "user_id", "platform", "time_zone", "locale", "os_version", "app_version", "build",
        "model", "env", "activities_enabled", "frequent_pushes", "authorization", "inventory", "created_at",
        "contact_at", "signed_out_at",
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
        osVersion = try row.textOrNil().map { text in
            guard let version = OSVersion(text) else { throw DamagedRow(table: Self.table, column: "os_version") }
            return version
        }
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
    }
}

extension InstanceRecord: StoredRow {
    static let table = "instance"
    static let columns = [
        "activity", "dk", "run", "state", "sent_rev", "shown_rev", "ts", "alerted_rev", "token_gen", "tries", "due_at",
        "look_at", "parked_rev", "local_id", "created_at", "started_at", "start_expires_at", "high_at",
        "contradictions", "flags", "last_kind", "last_at", "last_rev", "last_status", "last_reason",
    ]
    static let keyColumns = ["activity", "dk"]

    init(_ row: inout RowReader) throws {
        self.init(activity: row.int(), device: row.int(), run: Int(row.int()), at: UnixTime(milliseconds: 0))
        state = try decodeCase(row.int(), Self.table, "state")
        sentRevision = row.int()
        shownRevision = row.int()
        timestamp = row.int()
        alertedRevision = row.int()
        tokenGeneration = row.int()
        tries = Int(row.int())
        dueAt = row.timeOrNil()
        lookAt = row.timeOrNil()
        parkedRevision = row.int()
        localID = row.textOrNil().map(LocalID.init(stored:))
        createdAt = row.time()
        startedAt = row.timeOrNil()
        startExpiresAt = row.timeOrNil()
        lastHighAt = row.timeOrNil()
        contradictions = Int(row.int())
        let flags = row.int()
        isWanted = flags & 1 != 0
        mayStart = flags & 2 != 0
        hasFallenBack = flags & 4 != 0
        stateBeforeRequest = try decodeCase(flags >> 3, Self.table, "flags")
        guard let kind = row.intOrNil() else { return }
        guard let at = row.timeOrNil(), let revision = row.intOrNil(), let status = row.intOrNil() else {
            throw DamagedRow(table: Self.table, column: "last_at")
        }
        last = LastDelivery(
            kind: try decodeCase(kind, Self.table, "last_kind"), at: at, revision: revision, status: Int(status),
            reason: try decodeReason(row.textOrNil(), Self.table, "last_reason") ?? Self.accepted)
    }

    /// Nearly always the reason, and not worth its bytes in every row.
    private static let accepted = Reason(.accepted)

    func bind(_ row: inout RowBinder) {
        row.int(activity)
        row.int(device)
        row.int(Int64(run))
        row.int(Int64(state.rawValue))
        row.int(sentRevision)
        row.int(shownRevision)
        row.int(timestamp)
        row.int(alertedRevision)
        row.int(tokenGeneration)
        row.int(Int64(tries))
        row.time(dueAt)
        row.time(lookAt)
        row.int(parkedRevision)
        row.text(localID?.text)
        row.time(createdAt)
        row.time(startedAt)
        row.time(startExpiresAt)
        row.time(lastHighAt)
        row.int(Int64(contradictions))
        let flags = (isWanted ? 1 : 0) | (mayStart ? 2 : 0) | (hasFallenBack ? 4 : 0)
        row.int(Int64(flags | stateBeforeRequest.rawValue << 3))
        row.int(last.map { Int64($0.kind.rawValue) })
        row.time(last?.at)
        row.int(last?.revision)
        row.int(last.map { Int64($0.status) })
        row.text(last.flatMap { $0.reason == Self.accepted ? nil : $0.reason.stored })
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
