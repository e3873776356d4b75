import Foundation
import GRDB
import LiveActivityCore
import LiveActivityStorage

@testable import StorageSQLite

/// Runs a test with a database in a directory of its own, which is gone afterwards.
func withStore(_ body: (SQLiteStore) async throws -> Void) async throws {
    try await withDirectory { directory in
        let store = try SQLiteStore(path: directory.appending(path: "islet.sqlite").path)
        defer { store.close() }
        try await body(store)
    }
}

func withDirectory(_ body: (URL) async throws -> Void) async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "islet-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    try await body(directory)
}

/// Puts rows as they are given: for tests of the store alone.
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

    init(_ store: SQLiteStore) async throws {
        self = try await store.pool.read { db in try Self(db) }
    }

    private init(_ db: Database) throws {
        func all<Record>(_ table: String, _ make: (Row) throws -> Record) throws -> [Record] {
            try Row.fetchAll(db, sql: "SELECT * FROM \(table)").map(make)
        }
        for record in try all("activity", ActivityRecord.init) {
            rows.activities[record.number] = record
            rows.activityNumbers[.init(record.app, record.id)] = record.number
        }
        for record in try all("content", ContentRecord.init) { rows.contents[record.activity] = record }
        for record in try all("lane", LaneRecord.init) { rows.lanes[record.activity] = record }
        for row in try Row.fetchAll(db, sql: "SELECT * FROM user") {
            rows.users[.init(try decodeBundleID(row["app"], "user"), UserID(stored: row["id"]))] = row["no"]
        }
        for record in try all("device", DeviceRecord.init) {
            rows.devices[record.key] = record
            rows.deviceKeys[.init(record.app, record.id)] = record.key
        }
        for record in try all("device_token", DeviceTokenRecord.init) {
            rows.deviceTokens[.init(record.device, record.kind, record.type)] = record
        }
        for record in try all("instance", InstanceRecord.init) {
            rows.instances[.init(record.activity, record.device)] = record
        }
        for record in try all("update_token", UpdateTokenRecord.init) {
            rows.updateTokens[.init(record.activity, record.device)] = record
        }
        for row in try Row.fetchAll(db, sql: "SELECT * FROM member") {
            rows.members[row["activity"], default: []].insert(row["user"])
        }
        for record in try all("tombstone", TombstoneRecord.init) {
            rows.tombstones[.init(record.device, record.localID)] = record
        }
        for record in try all("token_owner", TokenOwnerRecord.init) { rows.owners[record.value] = record }
        for row in try Row.fetchAll(db, sql: "SELECT * FROM history ORDER BY activity, seq") {
            let body: Data = row["body"]
            let record = HistoryRecord(
                activity: row["activity"], at: row["at"], revision: row["rev"],
                entries: HistoryCoder.decode(Array(body)) ?? [])
            history[record.activity, default: []].append(record)
        }
    }
}

extension Snapshot {
    /// What differs between two sets of rows, in words; empty when nothing does.
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
            + differing("instance", instances, other.instances)
            + differing("update token", updateTokens, other.updateTokens)
            + differing("members", members.filter { !$0.value.isEmpty }, other.members.filter { !$0.value.isEmpty })
            + differing("tombstone", tombstones, other.tombstones) + differing("owner", owners, other.owners)
    }
}
