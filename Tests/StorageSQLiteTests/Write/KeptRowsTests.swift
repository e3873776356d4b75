import APNSModel
import Foundation
import LiveActivityCore
import LiveActivityStorage
import TestSupport
import Testing

@testable import StorageConformance
@testable import StorageSQL
@testable import StorageSQLite

/// Tests the statements of `docs/operating/retention.md` about each table's rows.
struct KeptRowsTests {
    private static func text(of document: String) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
        return try String(contentsOf: root.appending(path: "docs/\(document)"), encoding: .utf8)
    }

    /// Returns the tables of each row of the document, with the rows that remain at the end.
    private static func document() throws -> [(tables: [String], left: String)] {
        let text = try text(of: "operating/retention.md")
        let table = try #require(text.split(separator: "| table | removed | left when all is over |\n").last)
        return table.split(separator: "\n", omittingEmptySubsequences: false).dropFirst().prefix { $0.hasPrefix("|") }
            .map { line in
                let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
                return (cells[0].split(separator: ", ").map { String($0.replacing("`", with: "")) }, cells[2])
            }
    }

    @Test func `the document says of every table what removes its rows`() async throws {
        try await withStore { store in
            let tables = try await store.query { sql in
                var names: [String] = []
                try sql.query(
                    """
                    SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'
                    AND name NOT LIKE 'grdb%'
                    """
                ) { names.append($0.text()) }
                return names
            }
            #expect(try Self.document().flatMap(\.tables).sorted() == tables.sorted())
        }
    }

    @Test func `the documents say that events go untold as well, and how many are kept`() throws {
        let limits = PruneLimits()
        #expect(limits.events == .seconds(7 * 86_400) && limits.eventCount == 1_000_000)
        for (document, number) in [("operating/retention.md", "a million"), ("webhooks.md", "1,000,000")] {
            let lines = try Self.text(of: document).split(separator: "\n")
            let line = try #require(lines.first { $0.contains("whether a webhook was told of them or not") })
            #expect(line.contains(number) && line.contains("7 days"), "\(document)")
        }
    }

    // MARK: - When all is over

    /// Returns the rows of a table that must be gone, or `nil` if the document's wording is unknown.
    private static func over(_ table: String, _ left: String, at now: UnixTime) -> String? {
        // Null without any activity, and then no row of an activity may be left.
        let newest = "(SELECT max(no) FROM activity)"
        switch left {
        case "none": return table
        case "those of the newest activity":
            return "\(table) WHERE \(table == "activity" ? "no" : "activity") IS NOT \(newest)"
        case "those of the newest person, and of the newest activity's":
            return """
                \(table) WHERE \(table == "user" ? "no" : "user") NOT IN (
                    SELECT coalesce(max(no), -1) FROM user UNION SELECT user FROM member WHERE activity = \(newest))
                """
        case "those that are good":
            return "\(table) WHERE revoked_at IS NOT NULL OR expires_at <= \(now.milliseconds)"
        // These rows are compared with the earlier ones instead.
        case "all", "those that others have made": return "\(table) WHERE 0"
        default: return nil
        }
    }

    /// Returns the keys of all rows of the tables from which nothing is removed, by table.
    private static func kept(_ store: SQLStore) async throws -> [String: Set<String>] {
        let tables = try document().filter { $0.left == "all" }.flatMap(\.tables)
        return try await store.query { sql in
            var kept: [String: Set<String>] = [:]
            for table in tables {
                var key: [String] = []
                try sql.query("SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", [.text(table)]) { row in
                    key.append(row.text())
                }
                var rows: Set<String> = []
                let name = key.joined(separator: " || ' ' || ")
                try sql.query("SELECT \(name) FROM \(table)") { row in rows.insert(row.text()) }
                kept[table] = rows
            }
            return kept
        }
    }

    /// Does what is due for channels, until cards can be on none of them any more.
    private static func deleteChannels(_ store: SQLStore, _ apps: [AppSettings], from now: UnixTime) async throws {
        let known = Dictionary(apps.map { ($0.bundleID, $0) }, uniquingKeysWith: { $1 })
        for hours in 0..<16 {
            let at = now + .seconds(hours * 3600)
            for _ in 0..<10 {
                let claim = ClaimChannels(DueChannels(at: at, node: 1_000, limit: 100), apps: known, inUse: [:])
                let reply = try await store.commit(claim).get()
                for route in reply.unlisted.sorted() {
                    _ = try await store.commit(TakeChannelList(route, [], now: at)).get()
                }
                for errand in reply.errands {
                    _ = try await store.commit(SettleChannel(errand, .done, now: at, dice: 0)).get()
                }
            }
        }
    }

    /// Adds a webhook, and keys of every status.
    private static func configure(_ store: SQLStore, at now: UnixTime, later: UnixTime) async throws {
        _ = try await store.webhook(WebhookKey(Sample.bundleID, "backend"))
        let ends: [(id: String, at: UnixTime?)] = [
            ("good", nil), ("lasting", later), ("expired", now), ("revoked", nil),
        ]
        for (id, end) in ends {
            var key = APIKeyRecord(id: id, app: Sample.bundleID, scope: .read, secretHash: [1], createdAt: now)
            key.expiresAt = end
            try await store.insertKey(key)
        }
        #expect(try await store.revokeKey("revoked", at: now))
    }

    @Test(arguments: FreshSeeds.take(20))
    func `whatever was lived, no table holds more than the document says once all is over`(seed: UInt64) async throws {
        try await withStore { store in
            var life = RandomLife(seed: seed &* 17, Pair(store))
            do {
                try await life.live(steps: 80)
            } catch let difference as Pair.Difference {
                Issue.record("seed \(seed), \(difference)")
            }
            var now = life.now
            let end = now + .seconds(400 * 86_400)
            try await Self.configure(store, at: now, later: end + .seconds(1))
            for one in try await store.running(since: now + .seconds(1), after: nil, limit: 100) {
                let app = try #require(life.apps.first { $0.bundleID == one.app })
                _ = try await store.commit(
                    EndActivity(app: app, id: one.id, state: nil, alert: nil, dismissal: .immediate, now: now)
                ).get()
            }
            // Notifications are erased once expired, and devices once they have had no contact for long.
            now = end
            let before = try await Self.kept(store)
            #expect(!before.isEmpty && before.values.allSatisfy { !$0.isEmpty })
            try await Self.deleteChannels(store, life.apps, from: now)
            for _ in 0..<50 { _ = try await store.commit(ClaimNotifications(now: now)).get() }
            for _ in 0..<200 { _ = try await store.prune(PruneLimits(), at: now) }
            #expect(try await store.eraseKeys(overBefore: now) == 2)
            #expect(try await store.keys().count == 2)
            for (tables, left) in try Self.document() {
                for table in tables {
                    guard let rows = Self.over(table, left, at: now) else {
                        Issue.record("nobody knows which rows of \(table) are left: \(left)")
                        continue
                    }
                    let count = try await store.query { sql in try sql.number("SELECT count(*) FROM \(rows)") ?? 0 }
                    #expect(count == 0, "seed \(seed): \(rows)")
                }
            }
            for (table, rows) in try await Self.kept(store) {
                #expect(before[table]?.isSubset(of: rows) == true, "seed \(seed): \(table)")
            }
        }
    }
}
