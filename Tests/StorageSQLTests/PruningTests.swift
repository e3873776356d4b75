import APNSModel
import LiveActivityCore
import LiveActivityStorage
import TestSupport
import Testing

@testable import StorageConformance
@testable import StorageSQL

struct PruningTests {
    /// Bytes counted for all apps together.
    private static let historyBytes =
        "SELECT CAST(coalesce(sum(value), 0) AS BIGINT) FROM meta WHERE name LIKE 'history_bytes:%'"

    private static func fill(_ store: SQLStore, _ dice: inout SeededDice, rows: Int) async throws {
        var records: [HistoryRecord] = []
        var tombstones: [TombstoneRecord] = []
        var keys: [IdempotencyRecord] = []
        for number in 0..<rows {
            let at = Sample.now - .seconds(dice.roll(100_000))
            let entries = (0..<1 + dice.roll(5)).map { entry in
                HistoryEntry(.reported, device: DeviceKey(entry), at: at, revision: 1, detail: "\(number)")
            }
            records.append(
                HistoryRecord(activity: ActivityNumber(1 + dice.roll(3)), at: at, revision: 1, entries: entries))
            tombstones.append(
                TombstoneRecord(
                    device: DeviceKey(dice.roll(4)), localID: Sample.local("\(number)"), activity: 1, state: .gone,
                    at: at))
            keys.append(
                IdempotencyRecord(
                    app: Sample.bundleID, hash: [UInt8(number % 256), UInt8(number / 256)], digest: [], answer: [],
                    at: at))
        }
        let all = (records, tombstones, keys)
        _ = try await store.commit(
            PutRows { draft in
                for record in all.0 { draft.record(record) }
                for record in all.1 { draft.put(record) }
                for record in all.2 { draft.put(record) }
            }
        ).get()
    }

    private struct Row: Equatable, Sendable {
        let at: Int64
        let bytes: Int64
    }

    private static func history(_ store: SQLStore) async throws -> [Row] {
        try await store.query { sql in
            var rows: [Row] = []
            try sql.query("SELECT at, length(body) FROM history ORDER BY at") {
                rows.append(Row(at: $0.int(), bytes: $0.int()))
            }
            return rows
        }
    }

    private static func number(_ store: SQLStore, _ text: String) async throws -> Int64? {
        try await store.query { sql in try sql.number(text) }
    }

    /// Prunes until nothing is left to prune. Each call erases at most a page.
    private static func prune(_ store: SQLStore, _ limits: PruneLimits) async throws {
        var left = try await history(store).count
        for _ in 0..<1000 {
            let hasMore = try await store.prune(limits, at: Sample.now)
            let now = try await history(store)
            #expect(left - now.count <= limits.rows)
            left = now.count
            #expect(
                try await number(store, Self.historyBytes)
                    == now.reduce(0) { $0 + $1.bytes }, "the number kept is that of the rows")
            guard hasMore else { return }
        }
        Issue.record("there is always more")
    }

    @Test(arguments: UInt64(1)...100)
    func `what is too old or too much goes, the oldest first, in whole rows and pages`(seed: UInt64) async throws {
        var dice = SeededDice(seed: seed)
        try await withStores(onServer: seed.isMultiple(of: 8)) { store in
            try await Self.fill(store, &dice, rows: 1 + dice.roll(80))
            let before = try await Self.history(store)
            var limits = PruneLimits()
            limits.rows = 1 + dice.roll(20)
            limits.history = .seconds(dice.roll(120_000))
            limits.historyBytes = dice.chance(30) ? 10 << 30 : dice.roll(Int(before.reduce(0) { $0 + $1.bytes }) + 2)
            limits.tombstones = .seconds(dice.roll(120_000))
            limits.idempotencyKeys = .seconds(dice.roll(120_000))
            try await Self.prune(store, limits)
            let after = try await Self.history(store)
            let oldest = (Sample.now - limits.history).milliseconds
            var expected = before.filter { $0.at >= oldest }
            while expected.reduce(0, { $0 + $1.bytes }) > limits.historyBytes { expected.removeFirst() }
            #expect(after.map(\.at) == expected.map(\.at), "seed \(seed)")
            for (table, age) in [("tombstone", limits.tombstones), ("idempotency", limits.idempotencyKeys)] {
                let old = (Sample.now - age).milliseconds
                #expect(try await Self.number(store, "SELECT count(*) FROM \(table) WHERE at < \(old)") == 0)
                let young = before.count { $0.at >= old }
                #expect(try await Self.number(store, "SELECT count(*) FROM \(table)") == Int64(young), "seed \(seed)")
            }
            // Rows that are written afterwards continue the numbers and are counted.
            try await Self.fill(store, &dice, rows: 3)
            let all = try await Self.history(store)
            #expect(
                try await Self.number(store, Self.historyBytes)
                    == all.reduce(0) { $0 + $1.bytes })
        }
    }
}
