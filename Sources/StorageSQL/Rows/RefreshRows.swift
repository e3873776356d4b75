import APNSModel
import LiveActivityCore

extension RefreshRecord: StoredRow {
    static let table = "refresh"
    static let columns = [
        "user", "type", "app", "user_id", "asked", "done", "pace", "due_at", "fence", "node", "tries", "failure",
        "finished_at",
    ]
    static let keyColumns = ["user", "type"]
    static let fixedColumns: Set<String> = ["app", "user_id"]

    init(_ row: inout RowReader) throws {
        let (user, type) = (row.int(), row.text())
        let app = try decodeBundleID(row.text(), Self.table)
        self.init(user: user, type: type, app: app, userID: UserID(stored: row.text()))
        asked = row.int()
        done = row.int()
        pace = try decodeCase(row.int(), Self.table, "pace")
        dueAt = row.timeOrNil()
        fence = row.int()
        node = row.intOrNil()
        tries = Int(row.int())
        failure = row.textOrNil()
        finishedAt = row.timeOrNil()
    }

    func bind(_ row: inout RowBinder) {
        row.int(user)
        row.text(type)
        row.text(app.text)
        row.text(userID.text)
        row.int(asked)
        row.int(done)
        row.int(Int64(pace.rawValue))
        row.time(dueAt)
        row.int(fence)
        row.int(node)
        row.int(Int64(tries))
        row.text(failure)
        row.time(finishedAt)
    }
}

extension MemoRecord: StoredRow {
    static let table = "memo"
    static let columns = ["user", "type", "zone", "day", "memo"]
    static let keyColumns = ["user", "type", "zone"]

    init(_ row: inout RowReader) throws {
        self.init(
            user: row.int(), type: row.text(), zone: row.text(), day: row.text(), memo: row.blobOrNil())
    }

    func bind(_ row: inout RowBinder) {
        row.int(user)
        row.text(type)
        row.text(zone)
        row.text(day)
        row.blob(memo)
    }
}
