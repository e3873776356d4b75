import APNSModel
import LiveActivityCore

extension ChannelRecord: StoredRow {
    static let table = "channel"
    static let columns = [
        "activity", "env", "run", "app", "storage", "state", "id", "has_cards", "awaited", "sent_rev", "parked_rev",
        "alerted_rev", "ts", "last_at", "last_high_at", "budget_hour", "budget_day", "budget_at", "ends", "over_at",
        "tries", "reason", "retry_at", "due_at", "fence", "flight_kind", "flight_node", "flight_claimed_at",
        "flight_lease_until", "flight_rev", "flight_ts", "flight_alert",
    ]
    static let keyColumns = ["activity", "env", "run"]
    static let fixedColumns: Set<String> = ["app", "storage"]

    /// Names of `Life` in the column `state`.
    private enum State: String { case wanted, lost, refused, open }

    init(_ row: inout RowReader) throws {
        let activity = row.int()
        let environment: APNSEnvironment = try decodeCase(row.text(), Self.table, "env")
        let key = ChannelKey(activity, environment, run: Int(row.int()))
        let app = try decodeBundleID(row.text(), Self.table)
        self.init(key, app: app, storage: try decodeCase(row.int(), Self.table, "storage"))
        let state: State = try decodeCase(row.text(), Self.table, "state")
        let id = row.textOrNil().flatMap { ChannelID($0) }
        switch state {
        case .wanted: life = .wanted
        case .lost: life = .lost
        case .refused: life = .refused
        case .open:
            guard let id else { throw DamagedRow(table: Self.table, column: "id") }
            life = .open(id)
        }
        hasCards = row.bool()
        isAwaited = row.bool()
        sentRevision = row.int()
        parkedRevision = row.int()
        alertedRevision = row.int()
        timestamp = row.int()
        lastAt = row.timeOrNil()
        lastHighAt = row.timeOrNil()
        let (hour, day, budgetAt) = (row.intOrNil(), row.intOrNil(), row.timeOrNil())
        if let hour, let day, let budgetAt {
            var known = BudgetRecord(device: 0, kind: .high, at: budgetAt)
            known.hour = hour
            known.day = day
            budget = known
        }
        ends = Int(row.int())
        overAt = row.timeOrNil()
        tries = Int(row.int())
        reason = try decodeReason(row.textOrNil(), Self.table, "reason")
        retryAt = row.timeOrNil()
        dueAt = row.timeOrNil()
        fence = row.int()
        flight = try Self.flight(&row)
    }

    private static func flight(_ row: inout RowReader) throws -> ChannelFlight? {
        guard let kind = row.intOrNil() else { return nil }
        guard let node = row.intOrNil(), let claimedAt = row.timeOrNil(), let leaseUntil = row.timeOrNil(),
            let revision = row.intOrNil(), let timestamp = row.intOrNil(), let alert = row.intOrNil()
        else { throw DamagedRow(table: table, column: "flight") }
        var flight = ChannelFlight(
            try decodeCase(kind, table, "flight_kind"), node: node, claimedAt: claimedAt, leaseUntil: leaseUntil)
        flight.revision = revision
        flight.timestamp = timestamp
        flight.alertRevision = alert
        return flight
    }

    func bind(_ row: inout RowBinder) {
        row.int(key.activity)
        row.text(key.environment.rawValue)
        row.int(Int64(key.run))
        row.text(app.text)
        row.int(Int64(storage.rawValue))
        let state: State =
            switch life {
            case .wanted: .wanted
            case .lost: .lost
            case .refused: .refused
            case .open: .open
            }
        row.text(state.rawValue)
        row.text(id?.text)
        row.bool(hasCards)
        row.bool(isAwaited)
        row.int(sentRevision)
        row.int(parkedRevision)
        row.int(alertedRevision)
        row.int(timestamp)
        row.time(lastAt)
        row.time(lastHighAt)
        row.int(budget?.hour)
        row.int(budget?.day)
        row.time(budget?.at)
        row.int(Int64(ends))
        row.time(overAt)
        row.int(Int64(tries))
        row.text(reason?.stored)
        row.time(retryAt)
        row.time(dueAt)
        row.int(fence)
        row.int(flight.map { Int64($0.kind.rawValue) })
        row.int(flight?.node)
        row.time(flight?.claimedAt)
        row.time(flight?.leaseUntil)
        row.int(flight?.revision)
        row.int(flight?.timestamp)
        row.int(flight?.alertRevision)
    }
}

/// A channel that this server has not made.
struct StrangerRow: StoredRow {
    static let table = "stranger"
    static let columns = ["app", "env", "id"]
    static let keyColumns = ["app", "env", "id"]

    let key: StrangerKey

    init(_ key: StrangerKey) { self.key = key }

    init(_ row: inout RowReader) throws {
        let app = try decodeBundleID(row.text(), Self.table)
        let environment: APNSEnvironment = try decodeCase(row.text(), Self.table, "env")
        guard let id = ChannelID(row.text()) else { throw DamagedRow(table: Self.table, column: "id") }
        key = StrangerKey(PushRoute(app, environment), id)
    }

    func bind(_ row: inout RowBinder) {
        row.text(key.route.app.text)
        row.text(key.route.environment.rawValue)
        row.text(key.id.text)
    }
}
