import APNSModel
import LiveActivityCore

extension UpdateTokenRecord: StoredRow {
    static let table = "update_token"
    static let columns = ["activity", "dk", "gen", "env", "value", "seen_at", "dead_at", "predecessor"]
    static let keyColumns = ["activity", "dk"]

    init(_ row: inout RowReader) throws {
        self.init(
            activity: row.int(), device: row.int(), generation: row.int(),
            environment: try decodeCase(row.text(), Self.table, "env"), value: TokenValue(stored: row.text()),
            firstSeenAt: row.time())
        deadAt = row.timeOrNil()
        predecessor = row.textOrNil().map(TokenValue.init(stored:))
    }

    func bind(_ row: inout RowBinder) {
        row.int(activity)
        row.int(device)
        row.int(generation)
        row.text(environment.rawValue)
        row.text(value.hex)
        row.time(firstSeenAt)
        row.time(deadAt)
        row.text(predecessor?.hex)
    }
}

extension DeviceTokenRecord: StoredRow {
    static let table = "device_token"
    static let columns = ["dk", "kind", "type", "gen", "env", "value", "seen_at", "dead_at", "missed_starts"]
    static let keyColumns = ["dk", "kind", "type"]

    init(_ row: inout RowReader) throws {
        self.init(
            device: row.int(), kind: try decodeCase(row.int(), Self.table, "kind"), type: row.text(),
            generation: row.int(), environment: try decodeCase(row.text(), Self.table, "env"),
            value: TokenValue(stored: row.text()), firstSeenAt: row.time())
        deadAt = row.timeOrNil()
        missedStarts = Int(row.int())
    }

    func bind(_ row: inout RowBinder) {
        row.int(device)
        row.int(Int64(kind.rawValue))
        row.text(type)
        row.int(generation)
        row.text(environment.rawValue)
        row.text(value.hex)
        row.time(firstSeenAt)
        row.time(deadAt)
        row.int(Int64(missedStarts))
    }
}

extension TokenOwnerRecord: StoredRow {
    static let table = "token_owner"
    static let columns = ["value", "kind", "dk", "activity", "seen_at", "dead_at"]
    static let keyColumns = ["value"]

    init(_ row: inout RowReader) throws {
        self.init(
            value: TokenValue(stored: row.text()), kind: try decodeCase(row.int(), Self.table, "kind"),
            device: row.int(), activity: row.int(), firstSeenAt: row.time())
        deadAt = row.timeOrNil()
    }

    func bind(_ row: inout RowBinder) {
        row.text(value.hex)
        row.int(Int64(kind.rawValue))
        row.int(device)
        row.int(activity)
        row.time(firstSeenAt)
        row.time(deadAt)
    }
}

/// A person's number.
struct UserRow: StoredRow {
    static let table = "user"
    static let columns = ["no", "app", "id"]
    static let keyColumns = ["no"]
    static let fixedColumns: Set<String> = ["app", "id"]

    let number: UserNumber
    let app: BundleID
    let id: UserID

    init(number: UserNumber, app: BundleID, id: UserID) {
        self.number = number
        self.app = app
        self.id = id
    }

    init(_ row: inout RowReader) throws {
        number = row.int()
        app = try decodeBundleID(row.text(), Self.table)
        id = UserID(stored: row.text())
    }

    func bind(_ row: inout RowBinder) {
        row.int(number)
        row.text(app.text)
        row.text(id.text)
    }
}

/// A timeline row: all that one flight or one change has to say.
struct HistoryRow: StoredRow {
    static let table = "history"
    static let columns = ["activity", "seq", "at", "rev", "n", "body"]
    static let keyColumns = ["activity", "seq"]

    let sequence: Int64
    let record: HistoryRecord
    let body: [UInt8]

    init(sequence: Int64, record: HistoryRecord) {
        self.sequence = sequence
        self.record = record
        body = HistoryCoder.encode(record.entries, seed: record.seed)
    }

    init(_ row: inout RowReader) throws {
        let activity = row.int()
        sequence = row.int()
        let (at, revision) = (row.time(), row.int())
        _ = row.int()
        body = row.blob()
        guard let (entries, seed) = HistoryCoder.decode(body) else {
            throw DamagedRow(table: Self.table, column: "body")
        }
        record = HistoryRecord(activity: activity, at: at, revision: revision, entries: entries, seed: seed)
    }

    func bind(_ row: inout RowBinder) {
        row.int(record.activity)
        row.int(sequence)
        row.time(record.at)
        row.int(record.revision)
        row.int(Int64(record.entries.count))
        row.blob(body)
    }
}
