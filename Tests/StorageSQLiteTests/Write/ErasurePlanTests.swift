import APNSModel
import GRDB
import LiveActivityCore
import LiveActivityStorage
import TestSupport
import Testing

@testable import StorageConformance
@testable import StorageSQL
@testable import StorageSQLite

/// Tests what clean-up costs in SQLite.
struct ErasurePlanTests {
    @Test func `clean-up finds its rows by an index`() async throws {
        try await withStore { store in
            let recorder = StatementRecorder()
            try await recorder.listen(to: store)
            try await Erasing.fill(store, "a", phones: 5)
            try await Erasing.fill(store, "b", phones: 5, from: 20)
            try await Erasing.end(store, "a")
            for device in ["d1", "d2"] {
                _ = try await store.commit(
                    SignOutDevice(app: Sample.bundleID, id: Sample.device(device), now: Sample.now)
                ).get()
            }
            _ = try await store.running(since: Sample.now, after: nil, limit: 10)
            try await Erasing.prune(store, at: Sample.now + .seconds(400 * 86_400), rows: 3)
            let plans = try await store.pool.read { db in
                try recorder.texts.filter { $0.hasPrefix("SELECT") || $0.hasPrefix("DELETE") || $0.hasPrefix("UPDATE") }
                    .map { text -> (String, [String]) in
                        let plan = try Row.fetchAll(
                            db, sql: "EXPLAIN QUERY PLAN \(text.replacing(/\?[0-9]*/, with: "1"))")
                        return (text, plan.map { $0["detail"] as String })
                    }
            }
            #expect(plans.count > 30)
            for (text, plan) in plans {
                // Scans that are allowed: a list of keys, and the index that returns the oldest first.
                let fine = ["json_each", "VIRTUAL TABLE", "CONSTANT", "sqlite_master", "USING INDEX history_by_age"]
                let scans = plan.filter { step in
                    step.hasPrefix("SCAN") && !fine.contains { step.contains($0) }
                }
                #expect(scans.isEmpty, "\(text): \(scans)")
            }
        }
    }
}
