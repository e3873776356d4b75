import APNSModel
import Foundation
import LiveActivityCore
import LiveActivityDelivery
import LiveActivityServer
import LiveActivityStorage
import Logging
import StorageSQL
import StorageSQLite
import Synchronization
import TestSupport
import Testing

/// The loop that delivers webhooks, over the real store and a clock that the test moves.
struct WebhookServiceTests {
    private static let key = WebhookKey(Sample.bundleID, "backend")

    /// Records events, all in one commit.
    private struct Tell: Command {
        let events: [EventRecord]
        var keys: [SnapshotKey] { [] }
        var rank: CommandRank { .write }

        func decide(_ draft: inout Draft) throws(Refusal) {
            for event in events { draft.tell(event) }
        }
    }

    /// An endpoint that the test controls and that keeps the events it received.
    private final class Endpoint: Sendable {
        private struct State {
            var told: [EventNumber] = []
            var answer: @Sendable (EventNumber) -> WebhookQueue.Outcome = { _ in .taken }
        }

        private let state = Mutex(State())
        let calls: AsyncStream<EventNumber>
        private let continuation: AsyncStream<EventNumber>.Continuation

        init() { (calls, continuation) = AsyncStream.makeStream() }

        var told: [EventNumber] { state.withLock(\.told) }
        func answer(_ answer: @escaping @Sendable (EventNumber) -> WebhookQueue.Outcome) {
            state.withLock { $0.answer = answer }
        }

        func take(_ message: WebhookMessage) -> WebhookQueue.Outcome {
            let answer = state.withLock { state in
                state.told.append(message.event.number)
                return state.answer
            }
            defer { continuation.yield(message.event.number) }
            return answer(message.event.number)
        }

        /// Waits until the endpoint was called this many times since it was made.
        func wasTold(_ count: Int) async {
            guard told.count < count else { return }
            for await _ in calls where told.count >= count { return }
        }
    }

    private static func store(_ directory: URL) throws -> SQLStore {
        try SQLStore(path: directory.appending(path: "islet.sqlite").path)
    }

    private static func tell(
        _ store: SQLStore, _ activities: ActivityNumber?..., kind: EventRecord.Kind = .ended,
        app: BundleID = Sample.bundleID
    ) async throws {
        let events = activities.map { activity in
            var event = EventRecord(kind, app: app, at: Sample.now)
            event.activity = activity
            return event
        }
        _ = try await store.commit(Tell(events: events)).get()
    }

    private static func service(
        _ store: SQLStore, _ endpoint: WebhookService.Endpoint, clock: SteppedClock,
        metrics: WebhookMetrics = WebhookMetrics()
    ) -> WebhookService {
        WebhookService(
            store: store, endpoints: [endpoint], time: clock.timeSource, clock: clock, dice: { .max }, metrics: metrics,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    /// Runs a service while the body runs. Then the service is canceled, as if the process had died.
    private static func running(
        _ store: SQLStore, _ endpoint: WebhookService.Endpoint, clock: SteppedClock,
        metrics: WebhookMetrics = WebhookMetrics(), _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        let service = service(store, endpoint, clock: clock, metrics: metrics)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await service.run() }
            // The endpoint is known, so that it misses no event.
            while try await store.webhooks().isEmpty, !Task.isCancelled { await Task.yield() }
            try await body()
            group.cancelAll()
        }
    }

    private static func running(
        _ store: SQLStore, _ endpoint: Endpoint, clock: SteppedClock, kinds: Set<EventRecord.Kind>? = nil,
        metrics: WebhookMetrics = WebhookMetrics(), _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await running(
            store, .init(key: key, kinds: kinds) { endpoint.take($0) }, clock: clock, metrics: metrics, body)
    }

    /// Returns an endpoint that never answers until it is canceled. The stream reports its calls.
    private static func hung() -> (WebhookService.Endpoint, begun: AsyncStream<Void>) {
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let endpoint = WebhookService.Endpoint(key: key) { _ in
            begin.yield()
            let (nothing, continuation) = AsyncStream.makeStream(of: Void.self)
            for await _ in nothing {}
            continuation.finish()
            return .taken
        }
        return (endpoint, begun)
    }

    private static func waiting(_ store: SQLStore, until isTrue: (WebhookState) -> Bool) async throws {
        while try await !isTrue(store.webhook(key)), !Task.isCancelled { await Task.yield() }
    }

    @Test func `what happens before a new endpoint is told for the first time is told once it is known`() async throws {
        try await withDirectory { directory in
            let store = try Self.store(directory)
            defer { store.close() }
            let clock = SteppedClock()
            let endpoint = Endpoint()
            await Self.service(store, .init(key: Self.key) { endpoint.take($0) }, clock: clock).makeKnown()
            try await Self.tell(store, 1)
            try await Self.running(store, endpoint, clock: clock) { await endpoint.wasTold(1) }
            #expect(endpoint.told == [1])
        }
    }

    @Test(.timeLimit(.minutes(1))) func `events are told as they are written, and their place is kept`() async throws {
        try await withDirectory { directory in
            let (endpoint, clock) = (Endpoint(), SteppedClock())
            var store = try Self.store(directory)
            try await Self.tell(store, 1)
            let first = store
            try await Self.running(store, endpoint, clock: clock) {
                try await Self.tell(first, 1, 2)
                await endpoint.wasTold(2)
                try await Self.waiting(first) { $0.place.position == 3 }
            }
            #expect(endpoint.told.sorted() == [2, 3], "what was before it was known is not told")
            store.close()
            store = try Self.store(directory)
            defer { store.close() }
            let second = store
            try await Self.tell(store, 5)
            try await Self.running(store, endpoint, clock: clock) {
                await endpoint.wasTold(3)
                try await Self.waiting(second) { $0.place.position == 4 }
            }
            #expect(endpoint.told.sorted() == [2, 3, 4])
        }
    }

    @Test(.timeLimit(.minutes(1))) func `what failed is told again before what follows, by the next process too`()
        async throws
    {
        try await withDirectory { directory in
            let (endpoint, clock) = (Endpoint(), SteppedClock())
            let store = try Self.store(directory)
            defer { store.close() }
            endpoint.answer { $0 == 1 ? .failed("HTTP 500") : .taken }
            try await Self.running(store, endpoint, clock: clock) {
                try await Self.tell(store, 1, 1, 2)
                await endpoint.wasTold(2)
                try await Self.waiting(store) { $0.place.position == 3 && $0.waiting.map(\.number) == [1, 2] }
            }
            #expect(Set(endpoint.told) == [1, 3] && endpoint.told.count == 2)
            endpoint.answer { _ in .taken }
            try await Self.running(store, endpoint, clock: clock) {
                await clock.advanceToSleeper(.seconds(1)...(.seconds(2)))
                await endpoint.wasTold(4)
                try await Self.waiting(store) { $0.waiting.isEmpty }
            }
            #expect(endpoint.told.suffix(2) == [1, 2])
        }
    }

    @Test(.timeLimit(.minutes(1))) func `an endpoint hears of its app's events, and of the kinds that it wants`()
        async throws
    {
        try await withDirectory { directory in
            let (endpoint, clock) = (Endpoint(), SteppedClock())
            let store = try Self.store(directory)
            defer { store.close() }
            try await Self.running(store, endpoint, clock: clock, kinds: [.dismissed]) {
                try await Self.tell(store, 1, kind: .ended)
                try await Self.tell(store, 1, kind: .dismissed, app: Sample.bundle("com.acme.other"))
                try await Self.tell(store, 1, kind: .dismissed)
                try await Self.tell(store, 1, kind: .held)
                await endpoint.wasTold(1)
                try await Self.waiting(store) { $0.place.position == 4 }
            }
            #expect(endpoint.told == [3])
        }
    }

    @Test(.timeLimit(.minutes(1))) func `what somebody has told again, or turns on, is heeded within its time`()
        async throws
    {
        try await withDirectory { directory in
            let (endpoint, clock) = (Endpoint(), SteppedClock())
            let store = try Self.store(directory)
            defer { store.close() }
            endpoint.answer { _ in .unsubscribed }
            try await Self.running(store, endpoint, clock: clock) {
                try await Self.tell(store, 1)
                await endpoint.wasTold(1)
                try await Self.waiting(store) { $0.place.disabledAt != nil }
                endpoint.answer { _ in .taken }
                try await Self.tell(store, 2)
                #expect(try await store.enable(Self.key) == true)
                await clock.advanceToSleeper(.seconds(10))
                await endpoint.wasTold(3)
                try await Self.waiting(store) { $0.place.position == 2 }
                #expect(endpoint.told.sorted() == [1, 1, 2])
                #expect(try await store.replay(.everything(after: 0), to: Self.key, at: Sample.now) == 0)
                await clock.advanceToSleeper(.seconds(10))
                await endpoint.wasTold(5)
                try await Self.waiting(store) { $0.place.position == 2 }
            }
            #expect(endpoint.told.suffix(2).sorted() == [1, 2])
        }
    }

    @Test(.timeLimit(.minutes(1))) func `a call that the process did not see the end of is made again by the next`()
        async throws
    {
        try await withDirectory { directory in
            let (endpoint, clock) = (Endpoint(), SteppedClock())
            let store = try Self.store(directory)
            defer { store.close() }
            let (hung, begun) = Self.hung()
            try await Self.running(store, hung, clock: clock) {
                try await Self.tell(store, 1)
                for await _ in begun { break }
            }
            #expect(try await store.webhook(Self.key).place.position == 0)
            try await Self.running(store, endpoint, clock: clock) {
                await endpoint.wasTold(1)
                try await Self.waiting(store) { $0.place.position == 1 }
            }
            #expect(endpoint.told == [1])
        }
    }

    @Test(.timeLimit(.minutes(1))) func `an event that is erased before it was taken is let go, and counts as nothing`()
        async throws
    {
        try await withDirectory { directory in
            let (endpoint, clock) = (Endpoint(), SteppedClock())
            let store = try Self.store(directory)
            defer { store.close() }
            endpoint.answer { _ in .failed("HTTP 500") }
            try await Self.running(store, endpoint, clock: clock) {
                try await Self.tell(store, 1)
                await endpoint.wasTold(1)
                try await Self.waiting(store) { $0.waiting.count == 1 }
                var limits = PruneLimits()
                limits.eventCount = 0
                while try await store.prune(limits, at: Sample.now) {}
                await clock.advanceToSleeper(.seconds(1)...(.seconds(2)))
                try await Self.tell(store, 1)
                await endpoint.wasTold(2)
                try await Self.waiting(store) { $0.waiting.map(\.number) == [2] }
                #expect(try await store.webhook(Self.key).place.failures == 2)
            }
            #expect(endpoint.told == [1, 2])
        }
    }

    @Test(.timeLimit(.minutes(1))) func `calls are counted by what came of them`() async throws {
        try await withDirectory { directory in
            let (endpoint, clock) = (Endpoint(), SteppedClock())
            let store = try Self.store(directory)
            defer { store.close() }
            let registry = MetricsRegistry()
            endpoint.answer { $0 == 1 ? .failed("HTTP 500") : $0 == 2 ? .taken : .unsubscribed }
            try await Self.running(store, endpoint, clock: clock, metrics: WebhookMetrics(factory: registry)) {
                try await Self.tell(store, 1, 2, 3)
                try await Self.waiting(store) { $0.place.disabledAt != nil }
                // The calls end in any order, and one that is canceled is not counted.
                while registry.families.first(where: { $0.metric == .webhookCalls })?.series.count ?? 0 < 3,
                    !Task.isCancelled
                { await Task.yield() }
            }
            let calls = try #require(registry.families.first { $0.metric == .webhookCalls })
            let labels = ["failed", "taken", "unsubscribed"].map { [Sample.bundleID.text, "backend", $0] }
            #expect(Set(calls.series.map(\.labels)) == Set(labels))
            #expect(calls.series.allSatisfy { $0.value == .number(1) })
        }
    }

    @Test(.timeLimit(.minutes(1))) func `an endpoint that does not answer is given up after its deadline`() async throws
    {
        try await withDirectory { directory in
            let clock = SteppedClock()
            let store = try Self.store(directory)
            defer { store.close() }
            try await Self.running(store, Self.hung().0, clock: clock) {
                try await Self.tell(store, 1)
                await clock.advanceToSleeper(.seconds(15))
                try await Self.waiting(store) { $0.waiting.first?.failure == "no answer within 15.0 seconds" }
            }
        }
    }
}

private func withDirectory(_ body: (URL) async throws -> Void) async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "islet-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    try await body(directory)
}
