import APNSModel
import LiveActivityCore

/// An event with its number.
struct EventRow: StoredRow {
    static let table = "event"
    static let columns = ["seq", "app", "kind", "at", "activity", "run", "dk", "rev", "reason", "subject"]
    static let keyColumns = ["seq"]

    let number: EventNumber
    let record: EventRecord

    init(number: EventNumber, record: EventRecord) {
        self.number = number
        self.record = record
    }

    init(_ row: inout RowReader) throws {
        number = row.int()
        let app = try decodeBundleID(row.text(), Self.table)
        let kind: EventRecord.Kind = try decodeCase(row.int(), Self.table, "kind")
        var record = EventRecord(kind, app: app, at: row.time())
        record.activity = row.intOrNil()
        record.run = row.intOrNil().map { Int($0) }
        record.device = row.intOrNil()
        record.revision = row.intOrNil()
        record.reason = try decodeCase(ifPresent: row.textOrNil(), Self.table, "reason")
        record.subject = try decodeCase(ifPresent: row.textOrNil(), Self.table, "subject")
        self.record = record
    }

    func bind(_ row: inout RowBinder) {
        row.int(number)
        row.text(record.app.text)
        row.int(Int64(record.kind.rawValue))
        row.time(record.at)
        row.int(record.activity)
        row.int(record.run.map { Int64($0) })
        row.int(record.device)
        row.int(record.revision)
        row.text(record.reason?.rawValue)
        row.text(record.subject?.rawValue)
    }
}

extension WebhookPlace: StoredRow {
    static let table = "webhook"
    static let columns = [
        "app", "name", "position", "failures", "failing_since", "disabled_at", "failure", "version",
    ]
    static let keyColumns = ["app", "name"]

    init(_ row: inout RowReader) throws {
        let key = WebhookKey(try decodeBundleID(row.text(), Self.table), row.text())
        self.init(key, position: row.int())
        failures = Int(row.int())
        failingSince = row.timeOrNil()
        disabledAt = row.timeOrNil()
        failure = row.textOrNil()
        version = row.int()
    }

    func bind(_ row: inout RowBinder) {
        row.text(key.app.text)
        row.text(key.name)
        row.int(position)
        row.int(Int64(failures))
        row.time(failingSince)
        row.time(disabledAt)
        row.text(failure)
        row.int(version)
    }
}

/// An event that an endpoint has not accepted.
struct WebhookDeliveryRow: StoredRow {
    static let table = "webhook_delivery"
    static let columns = ["app", "name", "seq", "activity", "tries", "first_at", "due_at", "dead_at", "failure"]
    static let keyColumns = ["app", "name", "seq"]
    static let fixedColumns: Set<String> = ["activity"]

    let key: WebhookKey
    let record: WebhookDelivery

    init(key: WebhookKey, record: WebhookDelivery) {
        self.key = key
        self.record = record
    }

    init(_ row: inout RowReader) throws {
        key = WebhookKey(try decodeBundleID(row.text(), Self.table), row.text())
        var record = WebhookDelivery(number: row.int(), activity: row.intOrNil())
        record.tries = Int(row.int())
        record.firstTriedAt = row.timeOrNil()
        record.dueAt = row.timeOrNil()
        record.deadAt = row.timeOrNil()
        record.failure = row.textOrNil()
        self.record = record
    }

    func bind(_ row: inout RowBinder) {
        row.text(key.app.text)
        row.text(key.name)
        row.int(record.number)
        row.int(record.activity)
        row.int(Int64(record.tries))
        row.time(record.firstTriedAt)
        row.time(record.dueAt)
        row.time(record.deadAt)
        row.text(record.failure)
    }
}
