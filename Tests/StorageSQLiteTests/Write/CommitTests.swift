import APNSModel
import Dispatch
import Foundation
import GRDB
import LiveActivityCore
import LiveActivityStorage
import Synchronization
import TestSupport
import Testing

@testable import StorageConformance
@testable import StorageSQL
@testable import StorageSQLite

struct CommitTests {
    @Test func `a refused command leaves nothing behind`() async throws {
        try await withStore { store in
            let refused = PutRows(refusal: .deadToken) { draft in
                draft.put(Sample.deviceRecord())
                draft.put(LaneRecord(activity: 1))
                _ = draft.user(Sample.bundleID, Sample.user("ann"))
            }
            #expect(throws: Refusal.deadToken) { try refused.decideAlone() }
            let result = try await store.commit(refused)
            #expect(throws: Refusal.deadToken) { try result.get() }
            #expect(try await AllRows(store).rows.differences(from: Snapshot()).isEmpty)
        }
    }

    @Test func `writers that wait share one transaction`() async throws {
        try await withStore { store in
            let counter = CommitCounter()
            store.pool.add(transactionObserver: counter, extent: .databaseLifetime)
            try await store.whileBlocked(until: 500) { group in
                for number in Int64(1)...500 {
                    group.addTask { _ = try await store.commit(PutRows { $0.put(LaneRecord(activity: number)) }).get() }
                }
            }
            #expect(try await AllRows(store).rows.lanes.count == 500)
            // One commit for the job that held the writer, and one for all that waited.
            #expect(counter.commits == 2)
        }
    }

    @Test func `a refused command does not disturb those it shares a transaction with`() async throws {
        try await withStore { store in
            let refusals = Noted<Refusal>()
            try await store.whileBlocked(until: 20) { group in
                for number in Int64(1)...20 {
                    let command = PutRows(refusal: number.isMultiple(of: 2) ? .deadToken : nil) {
                        $0.put(LaneRecord(activity: number))
                    }
                    group.addTask {
                        if case .failure(let refusal) = try await store.commit(command) { refusals.note(refusal) }
                    }
                }
            }
            #expect(refusals.all.count == 10)
            #expect(try await AllRows(store).rows.lanes.keys.allSatisfy { !$0.isMultiple(of: 2) })
            #expect(try await AllRows(store).rows.lanes.count == 10)
        }
    }

    @Test func `a row that may not stand beside another fails its command, and nobody else in its transaction`()
        async throws
    {
        try await withStore { store in
            _ = try await store.commit(PutRows { _ = $0.user(Sample.bundleID, Sample.user("ann")) }).get()
            let failures = Noted<StorageError>()
            try await store.whileBlocked(until: 11) { group in
                for number in Int64(1)...10 {
                    group.addTask {
                        do throws(StorageError) {
                            _ = try await store.commit(PutRows { $0.put(LaneRecord(activity: number)) })
                        } catch {
                            failures.note(error)
                        }
                    }
                }
                // A command that forgot a key: Ann was not loaded, so she is created again.
                let broken = PutRows(rank: .settle) { _ = $0.user(Sample.bundleID, Sample.user("ann")) }
                group.addTask {
                    do throws(StorageError) { _ = try await store.commit(broken) } catch {
                        failures.note(error)
                    }
                }
            }
            let seen = failures.all
            #expect(seen.count == 1)
            for error in seen {
                #expect(error.description.contains("nothing was changed") && error.description.contains("UNIQUE"))
                #expect(!error.description.contains("ann"))
            }
            #expect(try await AllRows(store).rows.lanes.count == 10)
            // The store still works.
            _ = try await store.commit(PutRows { $0.put(LaneRecord(activity: 1)) }).get()
        }
    }

    @Test func `what callers wait for goes before what they do not`() async throws {
        try await withStore { store in
            let order = Noted<CommandRank>()
            try await store.whileBlocked(until: 3) { group in
                for rank in [CommandRank.claim, .settle, .write] {
                    group.addTask {
                        _ = try await store.commit(PutRows(rank: rank) { _ in order.note(rank) })
                    }
                }
            }
            #expect(order.all == [.write, .settle, .claim])
        }
    }

    @Test func `a change is refused at once while the database hangs, and what was sent is settled later`()
        async throws
    {
        try await withStore { store in
            let refused = Noted<StorageError>()
            let settled = Noted<CommandRank>()
            try await store.whileBlocked(until: 1) { _ in
                store.counters.writingSince.withLock { $0 = .now - WriterQueue.patience }
                for rank in [CommandRank.write, .settle] {
                    store.queue.submit(
                        WriterQueue.Job(
                            rank: rank,
                            work: .command(keys: []) { _ in WriterQueue.Done { settled.note(rank) } },
                            fail: { error in refused.note(error) }))
                }
            }
            #expect(refused.all == [.failed("a transaction has taken 5 s already")])
            store.close()
            #expect(settled.all == [.settle])
        }
    }

    @Test func `a full queue refuses at once, a closed one as well`() async throws {
        try await withStore { store in
            let refused = Noted<StorageError>()
            try await store.whileBlocked(until: WriterQueue.maximumWaiting) { _ in
                for _ in 0..<WriterQueue.maximumWaiting + 7 {
                    store.queue.submit(
                        WriterQueue.Job(
                            rank: .write, work: .command(keys: []) { _ in WriterQueue.Done {} },
                            fail: { error in refused.note(error) }))
                }
            }
            #expect(refused.all == Array(repeating: .overloaded, count: 7))
            store.close()
            await #expect(throws: StorageError.closed) { _ = try await store.commit(PutRows { _ in }) }
        }
    }

    @Test func `a commit that may stand wakes the one who waits for work`() async throws {
        try await withStore { store in
            var wakeUps = store.wakeUps.makeAsyncIterator()
            let refusing = RefusingObserver()
            store.pool.add(transactionObserver: refusing, extent: .databaseLifetime)
            do throws(StorageError) {
                _ = try await store.commit(PutRows { $0.put(LaneRecord(activity: 1)) })
                Issue.record("it was taken")
            } catch {
                #expect(error.description.contains("may be stored"))
            }
            #expect(await wakeUps.next() == .distantPast)
            store.close()
        }
    }

    @Test func `closing writes what waits`() async throws {
        try await withDirectory { directory in
            let path = directory.appending(path: "islet.sqlite").path
            let store = try SQLStore(path: path)
            try await withThrowingTaskGroup(of: Void.self) { group in
                let gate = store.block()
                for number in Int64(1)...50 {
                    group.addTask { _ = try await store.commit(PutRows { $0.put(LaneRecord(activity: number)) }).get() }
                }
                await store.waits(for: 50)
                gate.signal()
                store.close()
                try await group.waitForAll()
            }
            let reopened = try SQLStore(path: path)
            defer { reopened.close() }
            #expect(try await AllRows(reopened).rows.lanes.count == 50)
        }
    }

    @Test func `commits that make work due announce the earliest time, once for many`() async throws {
        try await withStore { store in
            var wakeUps = store.wakeUps.makeAsyncIterator()
            #expect(try await store.nextWakeAt() == nil)
            for number: ActivityNumber in [2, 1, 3] {
                _ = try await store.commit(
                    PutRows { draft in
                        var activity = ActivityRecord(
                            number: number, app: Sample.bundleID, id: Sample.activityID("\(number)"), type: "order",
                            at: Sample.now)
                        activity.wakeAt = Sample.now + .seconds(number)
                        draft.put(activity)
                    })
            }
            #expect(await wakeUps.next() == Sample.now + .seconds(1))
            #expect(try await store.nextWakeAt() == Sample.now + .seconds(1))
            // A claim that gives a lane another time does not wake the claimer.
            let time = Sample.now + .seconds(1)
            _ = try await store.commit(ClaimWork(now: time, node: 1, apps: [:], seed: 1))
            #expect(try await store.nextWakeAt() == Sample.now + .seconds(2))
            store.close()
            // Only the end of the stream is left.
            #expect(await wakeUps.next() == nil)
        }
    }
}

extension PutRows {
    fileprivate func decideAlone() throws(Refusal) {
        var draft = Draft(Snapshot())
        try decide(&draft)
    }
}

private final class CommitCounter: TransactionObserver, Sendable {
    private let count = Mutex(0)

    var commits: Int { count.withLock { $0 } }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseDidCommit(_ db: Database) { count.withLock { $0 += 1 } }
    func databaseDidRollback(_ db: Database) {}
}

final class RefusingObserver: TransactionObserver, Sendable {
    private struct Refused: Error {}

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseWillCommit() throws { throw Refused() }
    func databaseDidCommit(_ db: Database) {}
    func databaseDidRollback(_ db: Database) {}
}
