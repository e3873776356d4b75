import APNSModel
import LiveActivityDelivery
import LiveActivityStorage
import Logging
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct PrunerTests {
    private final class Records: Sendable {
        let pages = Mutex(0)
        let asked = Mutex<[UnixTime]>([])
        let fails = Mutex(false)
        var count: Int { asked.withLock(\.count) }

        @Sendable func prune(_ now: UnixTime) async throws(StorageError) -> Bool {
            asked.withLock { $0.append(now) }
            if fails.withLock(\.self) { throw .failed("disk full") }
            return pages.withLock { pages in
                pages = max(0, pages - 1)
                return pages > 0
            }
        }
    }

    private func withPruner(
        _ records: Records, _ clock: SteppedClock, logs: LogRecorder = LogRecorder(),
        mayPrune: @escaping @Sendable () async -> Bool = { true }, _ body: @escaping () async throws -> Void
    ) async throws {
        var limits = Pruner.Limits()
        limits.pages = 50
        let pruner = Pruner(
            time: clock.timeSource, clock: clock, limits: limits, logger: logs.logger, mayPrune: mayPrune,
            prune: records.prune)
        let services = ServiceGroup(
            services: [pruner], logger: Logger(label: "quiet") { _ in SwiftLogNoOpLogHandler() })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await services.run() }
            try await body()
            await services.triggerGracefulShutdown()
            try await group.waitForAll()
        }
    }

    private func until(_ isTrue: () -> Bool) async {
        while !isTrue(), !Task.isCancelled { await Task.yield() }
    }

    @Test func `it prunes page after page, and again after ten minutes`() async throws {
        let records = Records()
        let clock = SteppedClock()
        records.pages.withLock { $0 = 7 }
        try await withPruner(records, clock) {
            await until { records.count == 7 && clock.nextWake != nil }
            // The only sleeper wakes then, and nobody before.
            #expect(clock.nextWake == .seconds(600) && records.count == 7)
            clock.advance(by: .seconds(600))
            await until { records.count == 8 && clock.nextWake != nil }
            #expect(records.asked.withLock { $0.last } == Sample.now + .seconds(600))
        }
    }

    @Test func `as long as nobody knows what time it is nothing is erased`() async throws {
        let (records, clock, logs) = (Records(), SteppedClock(), LogRecorder())
        let isKnown = Mutex(false)
        records.pages.withLock { $0 = 3 }
        try await withPruner(records, clock, logs: logs, mayPrune: { isKnown.withLock(\.self) }) {
            await until { clock.nextWake != nil }
            #expect(records.count == 0)
            #expect(logs.lines.contains { $0.text.contains("no answer of APNs has confirmed the time") })
            isKnown.withLock { $0 = true }
            await clock.advanceToSleeper(.seconds(600))
            await until { records.count == 3 && clock.nextWake != nil }
        }
    }

    @Test func `a round ends after its last page, and the rest waits for the next`() async throws {
        let records = Records()
        let clock = SteppedClock()
        records.pages.withLock { $0 = 60 }
        try await withPruner(records, clock) {
            await until { records.count == 50 && clock.nextWake != nil }
            await clock.advanceToSleeper(.seconds(600))
            await until { records.count == 60 }
        }
    }

    @Test func `a store that fails is said, and asked again with the next round`() async throws {
        let records = Records()
        let clock = SteppedClock()
        let logs = LogRecorder()
        records.fails.withLock { $0 = true }
        try await withPruner(records, clock, logs: logs) {
            await until { records.count == 1 && clock.nextWake != nil }
            records.fails.withLock { $0 = false }
            await clock.advanceToSleeper(.seconds(600))
            await until { records.count == 2 }
        }
        #expect(logs.lines.contains { $0.level == .error && $0.text.contains("could not be pruned") })
    }
}
