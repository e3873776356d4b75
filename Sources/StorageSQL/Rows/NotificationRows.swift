import APNSModel
import LiveActivityCore

extension NotificationRecord: StoredRow {
    static let table = "notification"
    static let columns = [
        "no", "app", "kind", "payload", "collapse", "expires_at", "activity", "run", "rev", "addressees", "next_at",
    ]
    static let keyColumns = ["no"]
    static let fixedColumns: Set<String> = ["app", "kind", "payload", "collapse", "expires_at"]

    init(_ row: inout RowReader) throws {
        let (number, app) = (row.int(), try decodeBundleID(row.text(), Self.table))
        let kind: Kind = try decodeCase(row.int(), Self.table, "kind")
        let payload = row.blob()
        let collapse = try row.textOrNil().map { text in
            guard let id = CollapseID(text) else { throw DamagedRow(table: Self.table, column: "collapse") }
            return id
        }
        let expiresAt = row.time()
        var fallback: Fallback?
        switch (row.intOrNil(), row.intOrNil(), row.intOrNil()) {
        case (nil, nil, nil): break
        case (let activity?, let run?, let revision?):
            fallback = Fallback(activity: activity, run: Int(run), revision: revision)
        default: throw DamagedRow(table: Self.table, column: "activity")
        }
        let addressees = Int(row.int())
        self.init(
            number: number, app: app, kind: kind, payload: payload, collapseID: collapse, expiresAt: expiresAt,
            fallback: fallback, at: row.time())
        self.addressees = addressees
    }

    func bind(_ row: inout RowBinder) {
        row.int(number)
        row.text(app.text)
        row.int(Int64(kind.rawValue))
        row.blob(payload)
        row.text(ownCollapseID?.text)
        row.time(expiresAt)
        row.int(fallback?.activity)
        row.int(fallback.map { Int64($0.run) })
        row.int(fallback?.revision)
        row.int(Int64(addressees))
        row.time(nextAt)
    }
}

extension AddresseeRecord: StoredRow {
    static let table = "addressee"
    static let columns = ["notification", "dk", "user", "due_at", "tries", "tried_other", "reason"]
    static let keyColumns = ["notification", "dk"]
    static let fixedColumns: Set<String> = ["user"]

    init(_ row: inout RowReader) throws {
        self.init(
            notification: row.int(), device: row.int(), user: UserID(stored: row.text()), dueAt: row.timeOrNil())
        tries = Int(row.int())
        triedOther = row.bool()
        reason = try decodeReason(row.textOrNil(), Self.table, "reason")
    }

    func bind(_ row: inout RowBinder) {
        row.int(notification)
        row.int(device)
        row.text(user.text)
        row.time(dueAt)
        row.int(Int64(tries))
        row.bool(triedOther)
        row.text(reason?.stored)
    }
}
