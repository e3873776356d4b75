import APNSModel
import LiveActivityCore
import LiveActivityStorage
import Logging
import ServiceLifecycle
import Synchronization

/// Sends events to one endpoint: a queue with its lock, the store it reads and writes, and the calls.
final class WebhookCourier: Sendable {
    private let endpoint: WebhookService.Endpoint
    private let service: WebhookService
    private let signal = Signal()
    private let queue: Mutex<WebhookQueue?> = Mutex(nil)
    private let written = Mutex(WrittenVersion())

    /// Version of the endpoint's row that the queue was made from, and the time of the last look at the row.
    private struct WrittenVersion {
        var version: Int64 = -1
        var lookedAt: MonotonicTime?
    }
    /// Number of calls that have not ended.
    private let open = Mutex(0)

    init(_ endpoint: WebhookService.Endpoint, _ service: WebhookService) {
        self.endpoint = endpoint
        self.service = service
    }

    private var store: any WebhookStore { service.store }
    private var metadata: Logger.Metadata { ["app": "\(endpoint.key.app)", "webhook": "\(endpoint.key.name)"] }

    func run() async {
        let wakeUps = store.eventWakeUps()
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                group.addTask { [signal] in
                    for await _ in wakeUps { signal.raise() }
                }
                await withDiscardingTaskGroup { calls in
                    while !signal.isStopped && !Task.isCancelled {
                        do throws(StorageError) {
                            try await step(&calls)
                        } catch {
                            await pause(error)
                        }
                    }
                }
                // All calls have ended by now. Store their results once more.
                try? await save()
                group.cancelAll()
            }
        } onGracefulShutdown: { [signal] in
            signal.stop()
        }
    }

    private func pause(_ error: StorageError) async {
        guard !Task.isCancelled, !signal.isStopped else { return }
        service.logger.error(
            "a webhook's delivery position could not be read or written",
            metadata: metadata.merging(["error": "\(error)"]) { $1 })
        // The queue may contain results that were not stored, so it is read again.
        queue.withLock { $0 = nil }
        await signal.wait(for: service.limits.storagePause, on: service.clock)
    }

    /// Reads, sends and stores what is due now, then waits until there may be more.
    private func step(_ calls: inout DiscardingTaskGroup) async throws(StorageError) {
        guard try await load() else { return }
        try await read()
        try await refill()
        let now = service.time.wall()
        let numbers = queue.withLock { $0?.next(at: now) ?? [] }
        if !numbers.isEmpty {
            let events = try await store.events(numbered: numbers)
            open.withLock { $0 += events.count }
            for event in events {
                calls.addTask { await self.call(event) }
            }
            for number in Set(numbers).subtracting(events.map(\.number)).sorted() {
                finish(number, .erased)
                // Events behind it must not wait until a call ends.
                signal.raise()
            }
        }
        try await save()
        let next = queue.withLock { $0?.nextAt(after: now) }
        let look = service.limits.look
        await signal.wait(for: min(next.map { max(.milliseconds(1), $0 - now) } ?? look, look), on: service.clock)
    }

    // MARK: - The store

    /// Makes the queue from the database, at first and when somebody else has changed the endpoint's row.
    ///
    /// - Returns: `false` if a call is still on its way. Nothing may overtake that call.
    private func load() async throws(StorageError) -> Bool {
        let now = service.time.monotonic()
        let isThere = queue.withLock { $0 != nil }
        if isThere, let last = written.withLock(\.lookedAt), now - last < service.limits.look { return true }
        let key = endpoint.key
        if isThere {
            let version = try await store.webhooks().first { $0.key == key }?.version
            written.withLock { $0.lookedAt = now }
            guard version != written.withLock(\.version) else { return true }
            queue.withLock { $0 = nil }
        }
        guard open.withLock(\.self) == 0 else {
            await signal.wait(for: service.limits.look, on: service.clock)
            return false
        }
        let state = try await store.webhook(key)
        written.withLock { $0 = WrittenVersion(version: state.place.version, lookedAt: now) }
        queue.withLock { $0 = WebhookQueue(state, limits: service.limits.queue) }
        return true
    }

    private func read() async throws(StorageError) {
        while let (after, room) = queue.withLock({ $0.map { ($0.readThrough, $0.room) } }), room > 0 {
            let page = try await store.events(
                of: endpoint.key.app, EventFilter(kinds: endpoint.kinds), after: after,
                limit: min(room, service.limits.page))
            if after < page.span.erasedThrough {
                service.logger.error(
                    "a webhook missed events: they were erased before they could be delivered",
                    metadata: metadata.merging(["upTo": "\(page.span.erasedThrough)"]) { $1 })
            }
            queue.withLock { $0?.take(page.events, through: page.through) }
            if queue.withLock({ $0?.mustWrite ?? false }) { try await save() }
            if page.through >= page.span.newest { return }
        }
    }

    /// Reads the next events of activities whose events so far were sent, or given up.
    private func refill() async throws(StorageError) {
        let refills = queue.withLock { $0?.refills ?? [] }
        guard !refills.isEmpty else { return }
        // Store first, so that the query finds events that were parked since.
        try await save()
        for refill in refills {
            let rows = try await store.waiting(
                for: endpoint.key, of: refill.activity, limit: refill.limit)
            queue.withLock { $0?.take(rows, for: refill) }
        }
    }

    private func save() async throws(StorageError) {
        guard let progress = queue.withLock({ $0?.takeProgress() }) else { return }
        let isWritten: Bool
        do throws(StorageError) {
            isWritten = try await store.save(progress)
        } catch {
            queue.withLock { $0 = nil }
            throw error
        }
        // Somebody has asked for a replay or turned the endpoint on. That takes precedence, so the row is read again.
        if !isWritten { queue.withLock { $0 = nil } }
    }

    // MARK: - Calls

    private func call(_ event: StoredEvent) async {
        let message = WebhookMessage(event: event, at: service.time.wall())
        let endpoint = endpoint
        let outcome = await withDeadline(
            endpoint.deadline, by: service.clock,
            late: WebhookQueue.Outcome.failed("no answer within \(endpoint.deadline)")
        ) { await endpoint.send(message) }
        defer {
            open.withLock { $0 -= 1 }
            signal.raise()
        }
        // After a cancellation the outcome is unknown, and the next process sends the event again.
        guard !Task.isCancelled else { return }
        finish(event.number, outcome)
    }

    private func finish(_ number: EventNumber, _ outcome: WebhookQueue.Outcome) {
        let fraction = Double(service.dice() >> 11) * 0x1p-53
        let now = service.time.wall()
        service.metrics.ended(endpoint.key, outcome)
        let changes = queue.withLock { $0?.finish(number, outcome, at: now, dice: fraction) ?? [] }
        for change in changes { log(change) }
    }

    private func log(_ change: WebhookQueue.Change) {
        let logger = service.logger
        switch change {
        case .inTrouble(let words):
            logger.warning(
                "a webhook is failing: only one event at a time is tried",
                metadata: metadata.merging(["reason": "\(words)"]) { $1 })
        case .takesAgain: logger.notice("a webhook receives events again", metadata: metadata)
        case .gaveUp(let number, let words):
            logger.error(
                "an event was given up: `islet webhooks replay` delivers it again",
                metadata: metadata.merging(["event": "\(number)", "reason": "\(words)"]) { $1 })
        case .disabled(let words):
            logger.error(
                "a webhook is turned off: `islet webhooks enable` turns it on",
                metadata: metadata.merging(["reason": "\(words)"]) { $1 })
        }
    }
}
