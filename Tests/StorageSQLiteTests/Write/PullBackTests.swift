import APNSModel
import GRDB
import LiveActivityCore
import LiveActivityStorage
import TestSupport
import Testing

@testable import StorageConformance
@testable import StorageSQL
@testable import StorageSQLite

/// Tests of times that were deferred by a clock that was hours ahead, once it is right again.
struct PullBackTests {
    private static let ahead = Sample.now + .seconds(13 * 3600)

    @Test func `what is to be repeated is due, and what has its day is not`() async throws {
        try await withStore { store in
            let (then, soon) = (Self.ahead.milliseconds, (Sample.now + .seconds(600)).milliseconds)
            _ = try await store.commit(
                PutRows { draft in
                    draft.record(HistoryRecord(activity: 1, at: Self.ahead, revision: 1, entries: []))
                }
            ).get()
            try await store.pool.write { db in
                try db.execute(
                    sql: """
                        INSERT INTO refresh (user, type, app, user_id, asked, done, pace, due_at, fence, tries) VALUES
                            (1, 'failed', 'a', 'u', 1, 0, 0, \(then), 0, 3),
                            (1, 'soon', 'a', 'u', 1, 0, 0, \(soon), 0, 3),
                            (1, 'midnight', 'a', 'u', 1, 1, 0, \(then), 0, 0);
                        INSERT INTO addressee (notification, dk, user, due_at, tries, tried_other)
                            VALUES (1, 1, 'u', \(then), 1, 0), (1, 2, 'u', \(soon), 1, 0);
                        INSERT INTO webhook (app, name, position, failures, version) VALUES ('a', 'w', 0, 1, 4);
                        INSERT INTO webhook_delivery (app, name, seq, tries, due_at) VALUES ('a', 'w', 1, 2, \(then));
                        """)
            }
            while try await store.prune(PruneLimits(), at: Sample.now) {}
            let now = Sample.now.milliseconds
            for (text, expected) in [
                ("due_at FROM refresh WHERE type = 'failed'", now), ("tries FROM refresh WHERE type = 'failed'", 0),
                ("due_at FROM refresh WHERE type = 'soon'", soon),
                ("due_at FROM refresh WHERE type = 'midnight'", then),
                ("due_at FROM addressee WHERE dk = 1", now), ("due_at FROM addressee WHERE dk = 2", soon),
                ("due_at FROM webhook_delivery", now), ("version FROM webhook", 5),
            ] {
                let found = try await store.query { sql in try sql.number("SELECT \(text)") }
                #expect(found == expected, "\(text)")
            }
            // The correction happens once, so the next round changes nothing.
            while try await store.prune(PruneLimits(), at: Sample.now + .seconds(1)) {}
            let version = try await store.query { sql in try sql.number("SELECT version FROM webhook") }
            #expect(version == 5)
        }
    }
}
