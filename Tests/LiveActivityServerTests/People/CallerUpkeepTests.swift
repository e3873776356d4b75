import APNSModel
import LiveActivityStorage
import Synchronization
import Testing

@testable import LiveActivityServer

/// A clock that does not wait.
private struct RestlessClock: Clock {
    var now: ContinuousClock.Instant { ContinuousClock.now }
    var minimumResolution: Duration { .nanoseconds(1) }
    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws { await Task.yield() }
}

@Suite struct CallerUpkeepTests {
    @Test(.timeLimit(.minutes(10))) func `a key set that does not answer holds up no other`() async throws {
        try await withServer { fixture in
            let (never, _) = AsyncStream.makeStream(of: Void.self)
            let fetches = Mutex(0)
            let slow = KeySet(source: "slow") { () async throws(KeySet.FetchFailure) in
                for await _ in never {}
                throw KeySet.FetchFailure("cancelled")
            }
            let down = KeySet(source: "down") { () async throws(KeySet.FetchFailure) in
                fetches.withLock { $0 += 1 }
                throw KeySet.FetchFailure("down")
            }
            let upkeep = CallerUpkeep(
                store: fixture.store, uses: KeyUses(), keySets: [slow, down], time: fixture.clock.source,
                clock: RestlessClock(), logger: quiet)
            await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await upkeep.run() }
                // The next fetch comes, however late a failure is recorded.
                while fetches.withLock(\.self) < 3, !Task.isCancelled {
                    fixture.clock.advance(.seconds(300))
                    await Task.yield()
                }
                let count = fetches.withLock(\.self)
                #expect(count >= 3)
                group.cancelAll()
            }
        }
    }
}
