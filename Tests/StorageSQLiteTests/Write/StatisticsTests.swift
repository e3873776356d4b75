import APNSModel
import Foundation
import LiveActivityCore
import LiveActivityStorage
import TestSupport
import Testing

@testable import StorageSQLite

/// What the store says of its own work.
struct StatisticsTests {
    @Test func `a commit is counted with its command, rows, bytes, statements and time`() async throws {
        try await withStore { store in
            _ = try await store.commit(CostTests.put(step: 1)).get()
            let before = try await store.statistics()
            let size = try Self.logBytes(store)
            _ = try await store.commit(CostTests.put(step: 2)).get()
            let after = try await store.statistics()
            #expect(after.commits == before.commits + 1)
            #expect(after.commands == [.write: (before.commands[.write] ?? 0) + 1])
            #expect(after.groupSizes.total == after.commits && after.groupSizes.sum == Double(after.commits))
            #expect(after.commitSeconds.total == after.commits && after.commitSeconds.sum > before.commitSeconds.sum)
            // The activity, its content, a row of the timeline, and the two numbers kept of it.
            #expect(after.rowsWritten == before.rowsWritten + 5)
            // The log has not begun anew, so that it has grown by just that.
            #expect(try Self.logBytes(store) - size == after.bytesWritten - before.bytesWritten)
            #expect(after.bytesWritten > before.bytesWritten)
            #expect((5...30).contains(after.statements - before.statements), "\(after.statements - before.statements)")
            #expect(after.waiting == 0)
        }
    }

    @Test func `what was not committed is no commit`() async throws {
        try await withStore { store in
            let before = try await store.statistics()
            let refused = PutRows(refusal: .deadToken) { _ in }
            let result = try await store.commit(refused)
            #expect(throws: Refusal.deadToken) { try result.get() }
            // The transaction of a refused command commits nothing, and is one all the same.
            #expect(try await store.statistics().commits == before.commits + 1)
            #expect(try await store.statistics().rowsWritten == before.rowsWritten)
            store.close()
            await #expect(throws: StorageError.closed) { _ = try await store.commit(refused) }
            #expect(store.counters.statistics.commits == before.commits + 1)
        }
    }

    @Test func `the earliest work that is due is known`() async throws {
        try await withStore { store in
            #expect(try await store.statistics().earliestDue == nil)
            let due = Sample.now + .seconds(9)
            _ = try await store.commit(
                PutRows { draft in
                    var activity = ActivityRecord(
                        number: 1, app: Sample.bundleID, id: Sample.activityID("a"), type: "order", at: Sample.now)
                    activity.wakeAt = due
                    draft.put(activity)
                }
            ).get()
            #expect(try await store.statistics().earliestDue == due)
        }
    }

    private static func logBytes(_ store: SQLiteStore) throws -> Int {
        try URL(fileURLWithPath: store.path + "-wal").resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0
    }

}
