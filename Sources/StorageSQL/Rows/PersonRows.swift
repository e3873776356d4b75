import APNSModel
import LiveActivityCore

/// A person's number and id.
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

/// A timeline row: the entries of one flight or one change.
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
            throw DamagedRow(table: Self.table, column: "body", newerFormat: HistoryCoder.newerFormat(of: body))
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
