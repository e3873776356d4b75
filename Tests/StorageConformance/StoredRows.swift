import Foundation
import LiveActivityCore
import LiveActivityStorage

@testable import StorageSQL

func withDirectory(_ body: (URL) async throws -> Void) async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "islet-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    try await body(directory)
}

/// Command that writes the given rows, for tests of the store alone.
struct PutRows: Command {
    var rank = CommandRank.write
    var keys: [SnapshotKey] = []
    var refusal: Refusal?
    let change: @Sendable (inout Draft) -> Void

    init(
        rank: CommandRank = .write, refusal: Refusal? = nil, _ change: @escaping @Sendable (inout Draft) -> Void
    ) {
        self.rank = rank
        self.refusal = refusal
        self.change = change
    }

    func decide(_ draft: inout Draft) throws(Refusal) {
        change(&draft)
        if let refusal { throw refusal }
    }
}

/// Every row of every table, as records.
struct AllRows: Sendable {
    var rows = Snapshot()
    var history: [ActivityNumber: [HistoryRecord]] = [:]
    /// Events in the order of their numbers.
    var events: [EventRecord] = []

    init(_ store: SQLStore) async throws {
        self = try await store.query { sql in try Self(sql) }
    }

    private init(_ sql: Statements) throws {
        func all<Row: StoredRow>(_ type: Row.Type, orderedBy order: String = "1, 2") throws -> [Row] {
            var rows: [Row] = []
            try sql.query("SELECT \(Row.list) FROM \(Row.table) ORDER BY \(order)") { rows.append(try Row(&$0)) }
            return rows
        }
        for record in try all(ActivityRecord.self) {
            rows.activities[record.number] = record
            rows.activityNumbers[.init(record.app, record.id)] = record.number
        }
        for record in try all(ContentRecord.self) { rows.contents[record.activity] = record }
        for record in try all(LaneRecord.self) { rows.place(record) }
        for row in try all(UserRow.self) { rows.users[.init(row.app, row.id)] = row.number }
        for record in try all(DeviceRecord.self) {
            rows.devices[record.key] = record
            rows.deviceKeys[.init(record.app, record.id)] = record.key
        }
        for record in try all(DeviceTokenRow.self).map(\.record) {
            rows.deviceTokens[.init(record.device, record.kind, record.type)] = record
        }
        for record in try all(CardMachine.self) { rows.cards[.init(record.activity, record.device)] = record }
        for record in try all(UpdateTokenRow.self).map(\.record) {
            rows.updateTokens[.init(record.activity, record.device)] = record
        }
        for row in try all(MemberRow.self) {
            rows.members[row.key.activity, default: []].insert(row.key.user)
            if row.mark != 0 { rows.memberMarks[row.key] = row.mark }
        }
        for record in try all(AudienceRecord.self) { rows.audiences[record.activity] = record }
        for record in try all(IdempotencyRecord.self) { rows.idempotency[.init(record.app, record.hash)] = record }
        for record in try all(TombstoneRecord.self) { rows.tombstones[.init(record.device, record.localID)] = record }
        for record in try all(TokenOwnerRow.self).map(\.record) { rows.owners[record.key] = record }
        for record in try all(BudgetRecord.self) { rows.budgets[record.key] = record }
        for record in try all(NotificationRecord.self) { rows.notifications[record.number] = record }
        for record in try all(AddresseeRecord.self) { rows.addressees[record.key] = record }
        for record in try all(RefreshRecord.self) { rows.refreshes[record.key] = record }
        for record in try all(MemoRecord.self) { rows.memos[record.key] = record }
        for record in try all(ChannelRecord.self) { rows.channels[record.key] = record }
        rows.strangers = Set(try all(StrangerRow.self).map(\.key))
        events = try all(EventRow.self).map(\.record)
        for row in try all(HistoryRow.self) { history[row.record.activity, default: []].append(row.record) }
    }
}

extension Snapshot {
    /// Returns descriptions of the differences between two sets of rows.
    func differences(from other: Snapshot) -> [String] {
        func differing<Key: Hashable, Record: Equatable>(
            _ table: String, _ mine: [Key: Record], _ its: [Key: Record]
        ) -> [String] {
            Set(mine.keys).union(its.keys).filter { mine[$0] != its[$0] }.map { key in
                "\(table) \(key): \(mine[key].map { "\($0)" } ?? "none") | \(its[key].map { "\($0)" } ?? "none")"
            }
        }
        return differing("activity", activities, other.activities)
            + differing("activity number", activityNumbers, other.activityNumbers)
            + differing("content", contents, other.contents) + differing("lane", lanes, other.lanes)
            + differing("user", users, other.users) + differing("device", devices, other.devices)
            + differing("device key", deviceKeys, other.deviceKeys)
            + differing("device token", deviceTokens, other.deviceTokens)
            + differing("card", cards, other.cards)
            + differing("update token", updateTokens, other.updateTokens)
            + differing("members", members.filter { !$0.value.isEmpty }, other.members.filter { !$0.value.isEmpty })
            + differing("tombstone", tombstones, other.tombstones) + differing("owner", owners, other.owners)
            + differing("budget", budgets, other.budgets) + differing("audience", audiences, other.audiences)
            + differing("member mark", memberMarks, other.memberMarks)
            + differing("idempotency", idempotency, other.idempotency)
            + differing("notification", notifications, other.notifications)
            + differing("addressee", addressees, other.addressees)
            + differing("refresh", refreshes, other.refreshes) + differing("memo", memos, other.memos)
            + differing("channel", channels, other.channels)
            + strangers.symmetricDifference(other.strangers).map { "stranger \($0)" }
    }
}
