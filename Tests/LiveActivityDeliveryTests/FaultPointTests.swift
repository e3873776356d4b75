import LiveActivityCore
import LiveActivityDelivery
import LiveActivityStorage
import StorageSQL
import StorageSQLite
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct FaultPointTests {
    @Test func `who looks for work and finds none passes no fault point`() async throws {
        let reached = Mutex<[FaultPoint]>([])
        let points = FaultPoints { point in reached.withLock { $0.append(point) } }
        try await withDatabasePath { path in
            let stage = try Stage(path: path, faultPoints: points)
            defer { stage.store.inner.close() }
            for seed in 1...3 as ClosedRange<UInt64> {
                let reply = try await stage.store.inner.commit(
                    ClaimWork(now: Sample.now, node: 1, apps: [:], seed: seed)
                ).get()
                #expect(reply.flights.isEmpty)
            }
            #expect(reached.withLock(\.self).isEmpty)
        }
    }

    @Test func `a change passes every fault point on its way, in this order`() async throws {
        let reached = Mutex<[FaultPoint]>([])
        let points = FaultPoints { point in reached.withLock { $0.append(point) } }
        try await withDatabasePath { path in
            let stage = try Stage(path: path, faultPoints: points)
            defer { stage.store.inner.close() }
            try await stage.prepare()
            reached.withLock { $0 = [] }
            try await stage.perform { _ async throws in
                await stage.settled(1)
                try await stage.put(2)
                await stage.clock.advanceToSleeper(.seconds(1))
                await stage.settled(2)
            }
            let flight: [FaultPoint] = [
                .claimBeforeCommit, .claimAfterCommit, .sendBefore, .answerReceived, .sendAfter, .settleBeforeCommit,
                .settleAfterCommit,
            ]
            let writing: [FaultPoint] = [.writeBeforeCommit, .writeAfterCommit]
            #expect(reached.withLock(\.self) == flight + writing + flight)
            let pruning: [FaultPoint] = [.pruneBeforeCommit, .pruneAfterCommit]
            #expect(Set(flight + writing + pruning) == Set(FaultPoint.allCases))
        }
    }
}
