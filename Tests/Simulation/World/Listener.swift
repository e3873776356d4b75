import APNSModel
import LiveActivityCore
import LiveActivityDelivery
import LiveActivityStorage
import TestSupport

/// The app's webhook endpoint.
///
/// It may be slow, fail, refuse the events of some activities, or be gone until an operator enables it again.
struct Listener {
    static let key = WebhookKey(Scenery.pizza, "shop")

    enum Mood: CaseIterable { case well, slow, failing, picky, gone }

    /// Returns `true` if a picky endpoint refuses events of the activity.
    static func isPoisoned(_ activity: ActivityNumber?) -> Bool { activity?.isMultiple(of: 2) ?? false }

    var mood = Mood.well
    /// Deliveries to the endpoint as the store holds them.
    var table = ModelWebhooks()
    /// Newest event when the endpoint was added. It gets later events only.
    var begin: EventNumber?
    /// Number of reasons for which an event may be sent again: lost or late answers, and replays.
    var excuses = 0
}

extension World {
    /// Changes the endpoint's health, or lets an operator attend to it.
    func changeListener() {
        listener.mood = isCalm ? .well : pick(Listener.Mood.allCases)
        note("listener", "is \(listener.mood)")
        if dice.chance(40) { attendListener() }
        if chance(20) {
            let number = EventNumber(dice.roll(store.events.count + 1))
            note("operator", "has everything after event \(number) told again")
            _ = listener.table.replay(.everything(after: number), to: Listener.key, span: eventSpan)
            listener.excuses += 1
        }
    }

    /// Makes the endpoint picky and sends it all events again.
    func listenPickily() {
        guard scenery.isTold else { return }
        count(.pickyForLong)
        note("operator", "has everything told again, of which the listener refuses a part")
        listener.mood = .picky
        _ = listener.table.replay(.everything(after: 0), to: Listener.key, span: eventSpan)
        listener.excuses += 1
        see(.toldAgain)
        advance(by: 5 * 60_000)
        see(.neighboursAreDue)
        listener.mood = .well
        attendListener()
        advance(by: 30 * 60_000)
    }

    /// Enables the endpoint and replays the events that were given up.
    func attendListener() {
        guard let given = listener.table.replay(.dead(nil), to: Listener.key, span: eventSpan) else { return }
        listener.excuses += 1
        let wasOff = listener.table.enable(Listener.key) ?? false
        note("operator", "has \(given) told again\(wasOff ? ", and turns the webhook on" : "")")
    }

    /// Span of all events. A history erases none.
    var eventSpan: EventSpan { EventSpan(erasedThrough: 0, newest: EventNumber(store.events.count)) }

    func event(_ number: EventNumber) -> StoredEvent? {
        guard store.events.indices.contains(Int(number) - 1) else { return nil }
        let record = store.events[Int(number) - 1]
        return StoredEvent(
            number: number, record: record,
            activity: record.activity.flatMap { store.rows.activities[$0]?.id },
            device: record.device.flatMap { store.rows.devices[$0]?.id })
    }

    /// Wakes the webhook services if a commit wrote events.
    func wakeListeners(by node: Node, since count: Int) {
        guard scenery.isTold, store.events.count > count else { return }
        for other in nodes where other.isAlive && (other === node || !chance(300, in: 1000)) {
            other.eventWakeUp?.yield()
        }
    }
}

extension Node {
    /// Returns the service that sends events to endpoints, as in the server.
    func webhooks() -> WebhookService? {
        guard world.scenery.isTold else { return nil }
        var limits = WebhookService.Limits()
        // Small enough to matter within some hours.
        limits.queue.window = 12
        limits.queue.stuckWindow = 2
        limits.queue.refill = 3
        limits.queue.tries = Self.webhookTries
        limits.queue.trouble = 2
        limits.queue.disableAfter = .seconds(3 * 3600)
        limits.look = .seconds(60)
        limits.page = 5
        let endpoint = WebhookService.Endpoint(
            key: Listener.key, kinds: world.scenery.toldKinds, send: { [self] in await tell($0) })
        return WebhookService(
            store: NodeStore(node: self), endpoints: [endpoint], time: time, clock: VirtualClock(node: self),
            dice: { [world] in world.dice.next() }, limits: limits, logger: logger)
    }

    static let webhookTries = 5

    private func tell(_ message: WebhookMessage) async -> WebhookQueue.Outcome {
        let world = world
        guard isAlive else { return .failed("nobody is there") }
        world.see(.told(message.event, isTaken: false))
        let mood = world.listener.mood
        let wait: Int64 = mood == .slow ? world.pick([900, 9000, 20_000]) : world.pick([0, 5, 60])
        if wait > 14_000 { world.listener.excuses += 1 }
        // The endpoint may have taken the event even if nobody waits for the answer any more.
        if wait > 0 { try? await rest(until: world.now + wait) }
        let isRefused: Bool =
            switch mood {
            case .well, .slow: false
            case .failing: world.chance(80)
            case .picky: Listener.isPoisoned(message.event.record.activity)
            case .gone: true
            }
        let number = message.event.number
        if isRefused {
            world.count(.listenerFailed)
            world.note("listener", "refuses event \(number)")
            return mood == .gone
                ? .unsubscribed
                : .failed("HTTP 503", retryAfter: world.chance(20) ? .seconds(world.pick([5, 600, 9000])) : nil)
        }
        world.count(.listenerTold)
        world.note("listener", "takes event \(number), \(message.event.record.kind.name)")
        world.see(.told(message.event, isTaken: true))
        guard world.chance(5) else { return .taken }
        // The endpoint took the event, but its answer is lost.
        world.listener.excuses += 1
        return .failed("the connection was closed")
    }
}

extension NodeStore: WebhookStore {
    func eventWakeUps() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        node.eventWakeUp = continuation
        return stream
    }

    func eventSpan(of app: BundleID?) async throws(StorageError) -> EventSpan {
        try await read()
        return node.world.eventSpan
    }

    func events(
        of app: BundleID?, _ filter: EventFilter, after: EventNumber, limit: Int
    ) async throws(StorageError) -> EventPage {
        try await read()
        let (world, span) = (node.world, node.world.eventSpan)
        var events: [StoredEvent] = []
        var through = min(span.newest, after + Int64(EventPage.maximumExamined))
        guard after < through else { return EventPage(events: [], through: after, span: span) }
        for number in after + 1...through {
            guard let event = world.event(number), app.map({ $0 == event.record.app }) ?? true, filter.admits(event)
            else { continue }
            events.append(event)
            guard events.count < limit else {
                through = number
                break
            }
        }
        return EventPage(events: events, through: through, span: span)
    }

    func events(numbered numbers: [EventNumber]) async throws(StorageError) -> [StoredEvent] {
        try await read()
        return numbers.sorted().compactMap(node.world.event)
    }

    func webhook(_ key: WebhookKey) async throws(StorageError) -> WebhookState {
        try await write(.write, "a look at a webhook") { world in
            let newest = world.eventSpan.newest
            if world.listener.begin == nil { world.listener.begin = newest }
            return world.listener.table.state(of: key, newest: newest)
        }
    }

    func waiting(
        for key: WebhookKey, of activity: ActivityNumber?, limit: Int
    ) async throws(StorageError) -> [WebhookDelivery] {
        try await read()
        let all = node.world.listener.table.deliveries(to: key, areDead: false)
        return Array(all.filter { $0.activity == activity }.prefix(limit))
    }

    func webhooks() async throws(StorageError) -> [WebhookPlace] {
        try await read()
        return node.world.listener.table.all
    }

    func save(_ progress: WebhookProgress) async throws(StorageError) -> Bool {
        try await write(.settle, "a webhook's place") { $0.listener.table.save(progress) }
    }

    func deadDeliveries(
        to key: WebhookKey, after: EventNumber, limit: Int
    ) async throws(StorageError) -> [WebhookDelivery] {
        try await read()
        let all = node.world.listener.table.deliveries(to: key, areDead: true)
        return Array(all.filter { $0.number > after }.prefix(limit))
    }

    func deliveryCounts(of key: WebhookKey) async throws(StorageError) -> (waiting: Int, dead: Int) {
        try await read()
        let table = node.world.listener.table
        return (table.deliveries(to: key, areDead: false).count, table.deliveries(to: key, areDead: true).count)
    }

    func replay(_ what: WebhookReplay, to key: WebhookKey, at now: UnixTime) async throws(StorageError) -> Int? {
        try await write(.write, "a replay") { $0.listener.table.replay(what, to: key, span: $0.eventSpan) }
    }

    func discard(_ dead: [EventNumber]?, of key: WebhookKey) async throws(StorageError) -> Int? {
        try await write(.write, "a discarding") { $0.listener.table.discard(dead, of: key) }
    }

    func enable(_ key: WebhookKey) async throws(StorageError) -> Bool? {
        try await write(.write, "a turning on") { $0.listener.table.enable(key) }
    }
}
