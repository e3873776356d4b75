import APNSModel
import Foundation
import LiveActivityCore
import LiveActivityStorage
import TestSupport
import Testing

@testable import StorageSQLite

/// What `docs/operating.md` says of each table's rows.
struct KeptRowsTests {
    /// The tables of each row of the document, with what is left when all is over.
    private static func document() throws -> [(tables: [String], left: String)] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
        let text = try String(contentsOf: root.appending(path: "docs/operating.md"), encoding: .utf8)
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

    @Test(arguments: UInt64(1)...20)
    func `whatever was lived, no table holds more than the document says once all is over`(seed: UInt64) async throws {
        try await withStore { store in
            var life = RandomLife(seed: seed &* 17, Pair(store))
            do {
                try await life.live(steps: 80)
            } catch let difference as Pair.Difference {
                Issue.record("seed \(seed), \(difference)")
            }
            var now = life.now
            for one in try await store.running(since: now + .seconds(1), after: nil, limit: 100) {
                let app = try #require(life.apps.first { $0.bundleID == one.app })
                _ = try await store.commit(
                    EndActivity(app: app, id: one.id, state: nil, alert: nil, dismissal: .immediate, now: now)
                ).get()
            }
            // Notifications go when they have expired, devices when nobody has heard of them for long.
            now = now + .seconds(400 * 86_400)
            for _ in 0..<50 { _ = try await store.commit(ClaimNotifications(now: now)).get() }
            for _ in 0..<200 { _ = try await store.prune(PruneLimits(), at: now) }
            for (tables, left) in try Self.document() {
                for table in tables {
                    let rows: String
                    switch left {
                    case "none": rows = table
                    case "those of the newest activity":
                        let column = table == "activity" ? "no" : "activity"
                        rows = "\(table) WHERE \(column) <> (SELECT max(no) FROM activity)"
                    case "those of the newest person, and of the newest activity's":
                        let column = table == "user" ? "no" : "user"
                        rows =
                            "\(table) WHERE \(column) NOT IN (SELECT max(no) FROM user UNION SELECT user FROM member)"
                    case "all", "those that are good": continue
                    default:
                        Issue.record("no test knows what is left of \(table): \(left)")
                        continue
                    }
                    let count = try await store.query { sql in try sql.number("SELECT count(*) FROM \(rows)") ?? 0 }
                    #expect(count == 0, "seed \(seed): \(rows)")
                }
            }
        }
    }
}
