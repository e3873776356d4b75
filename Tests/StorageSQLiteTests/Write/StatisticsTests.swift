import APNSModel
import Dispatch
import Foundation
import GRDB
import LiveActivityCore
import LiveActivityStorage
import TestSupport
import Testing

@testable import StorageConformance
@testable import StorageSQL
@testable import StorageSQLite

/// Tests of the store's statistics about its own work.
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
            // The activity, its content, a row of the timeline and its two counters.
            #expect(after.rowsWritten == before.rowsWritten + 5)
            // The log was not restarted, so it grew by exactly that.
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
            // The transaction of a refused command commits nothing, but counts as one.
            #expect(try await store.statistics().commits == before.commits + 1)
            #expect(try await store.statistics().rowsWritten == before.rowsWritten)
            store.close()
            await #expect(throws: StorageError.closed) { _ = try await store.commit(refused) }
            #expect(store.counters.statistics.commits == before.commits + 1)
        }
    }

    @Test func `what the database does not do is counted, without it, and a refusal is not`() async throws {
        try await withStore { store in
            let refused = PutRows(refusal: .deadToken) { _ in }
            _ = try await store.commit(refused)
            _ = try await store.keys()
            #expect(store.health == StoreHealth())
            try await store.pool.write { db in try db.execute(sql: "DROP TABLE activity; DROP TABLE api_key") }
            await #expect(throws: StorageError.self) { _ = try await store.commit(CostTests.put(step: 1)) }
            #expect(store.health.failedWrites == 1 && store.health.failedReads == 0)
            for _ in 1...2 { await #expect(throws: StorageError.self) { _ = try await store.keys() } }
            await #expect(throws: StorageError.self) { _ = try await store.statistics() }
            #expect(store.health.failedReads == 3)
        }
    }

    @Test func `whoever has the answer to a command finds no transaction running`() async throws {
        try await withStore { store in
            var running = 0
            for step in 1...500 {
                _ = try await store.commit(CostTests.put(step: step))
                if store.health.writing > .zero { running += 1 }
            }
            #expect(running == 0)
        }
    }

    @Test func `a transaction that hangs is told of while it does`() async throws {
        let (reached, release) = (AsyncStream<Void>.makeStream(), DispatchSemaphore(value: 0))
        let points = FaultPoints { point in
            guard point == .writeBeforeCommit else { return }
            reached.continuation.yield()
            release.wait()
        }
        try await withDirectory { directory in
            let store = try SQLStore(path: directory.appending(path: "islet.sqlite").path, faultPoints: points)
            defer { store.close() }
            async let reply = store.commit(CostTests.put(step: 1))
            for await _ in reached.stream { break }
            let hanging = store.health
            // Reads are answered meanwhile.
            let commits = try await store.statistics().commits
            release.signal()
            _ = try await reply
            #expect(hanging.writing > .zero && hanging.failedWrites == 0)
            #expect(try await store.statistics().commits > commits)
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

    @Test func `what commands count is added when they are committed, and not when they are refused`() async throws {
        try await withStore { store in
            let event = Tally.Event.startAbsent(Sample.bundleID, type: "order")
            func counting(_ refusal: Refusal?) -> PutRows {
                PutRows(refusal: refusal) { draft in
                    draft.count(event)
                    draft.observe(.budgetLeft(Sample.bundleID, .high), 0.5)
                }
            }
            for _ in 0..<2 { _ = try await store.commit(counting(nil)).get() }
            let refused = try await store.commit(counting(.deadToken))
            #expect(throws: Refusal.deadToken) { try refused.get() }
            let tally = try await store.statistics().tally
            #expect(tally.counts == [event: 2])
            #expect(tally.measures[.budgetLeft(Sample.bundleID, .high)]?.total == 2)
        }
    }

    @Test func `what is due and what waits for phones is counted`() async throws {
        try await withStore { store in
            #expect(try await store.backlog(at: Sample.now) == Backlog())
            _ = try await store.commit(
                PutRows { draft in
                    for number in ActivityNumber(1)...3 {
                        draft.put(
                            ActivityRecord(
                                number: number, app: Sample.bundleID, id: Sample.activityID("a\(number)"),
                                type: "order", at: Sample.now))
                        var lane = LaneRecord(activity: number)
                        lane.nextAt = Sample.now + .seconds(number)
                        draft.put(lane)
                        var instance = CardMachine(activity: number, device: 7, run: 1, at: Sample.now)
                        instance.columns.state = number == 3 ? .live : .unconfirmed
                        draft.put(instance)
                    }
                    for key in DeviceKey(7)...8 { draft.put(Sample.deviceRecord(key)) }
                }
            ).get()
            let backlog = try await store.backlog(at: Sample.now + .seconds(2))
            #expect(backlog.lanes == 2 && backlog.openStarts == 2 && backlog.notifications == 0)
            #expect(try await store.deviceCounts() == [Sample.bundleID: 2])
        }
    }

    private static func logBytes(_ store: SQLStore) throws -> Int {
        try URL(fileURLWithPath: store.path + "-wal").resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0
    }

}
