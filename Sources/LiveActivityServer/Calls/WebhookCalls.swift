import APNSModel
import JSONText
import LiveActivityAPI
package import LiveActivityCore
import LiveActivityStorage

/// A configured endpoint that receives events, as calls show it.
package struct ToldWebhook: Sendable {
    package var key: WebhookKey
    /// The scheme, host and port of the URL. The rest of the URL may be a secret.
    package var origin: String
    /// The kinds of events that it receives. `nil`: all.
    package var kinds: Set<EventRecord.Kind>?

    package init(key: WebhookKey, origin: String, kinds: Set<EventRecord.Kind>?) {
        self.key = key
        self.origin = origin
        self.kinds = kinds
    }
}

/// The calls about webhooks: their state, the events that were given up, and replays.
enum WebhookCalls {
    private static let standard = 100
    private static let maximum = 1000

    /// `GET /v1/webhooks`: returns the app's endpoints, and what is to be done about each.
    @Sendable static func list(_ call: Call) async throws(Problem) -> Answer {
        let (app, store, configured) = (call.app.bundleID, call.services.store, call.services.webhooks)
        let known = try await call.ask { () async throws(StorageError) in try await store.webhooks() }
        let newest = try await call.ask { () async throws(StorageError) in try await store.eventSpan() }.newest
        let keys = Set(known.map(\.key)).union(configured.keys).filter { $0.app == app }.sorted()
        var rows: [WebhookList.Row] = []
        for key in keys {
            let place = known.first { $0.key == key }
            let counts = try await call.ask { () async throws(StorageError) in try await store.deliveryCounts(of: key) }
            let standing = WebhookStanding(place, isConfigured: configured[key] != nil, dead: counts.dead)
            var row = WebhookList.Row(
                name: key.name, state: standing.state.rawValue, failures: place?.failures ?? 0,
                behind: Int(max(0, newest - (place?.position ?? newest))), waiting: counts.waiting, dead: counts.dead)
            row.origin = configured[key]?.origin
            row.kinds = configured[key]?.kinds?.sorted().map(\.name)
            row.since = standing.since.map { Instant($0) }
            row.reason = standing.reason
            row.fix = standing.fix
            rows.append(row)
        }
        return try Answer(WebhookList(webhooks: rows))
    }

    /// `GET /v1/webhooks/{webhook}/dead`: returns the events that were given up.
    @Sendable static func dead(_ call: Call) async throws(Problem) -> Answer {
        let key = key(call)
        let limit = try call.query.limit(default: standard, maximum: maximum)
        var after: EventNumber = 0
        if let text = call.query["after"] {
            guard let number = number(text) else {
                throw Problem(.invalidQuery, "`after` is the `next` of an earlier answer")
            }
            after = number
        }
        let (store, from) = (call.services.store, after)
        if call.services.webhooks[key] == nil {
            let known = try await call.ask { () async throws(StorageError) in try await store.webhooks() }
            guard known.contains(where: { $0.key == key }) else { throw unknown(key) }
        }
        // One more event than needed shows whether there is a next page.
        let found = try await call.ask { () async throws(StorageError) in
            try await store.deadDeliveries(to: key, after: from, limit: limit + 1)
        }
        let page = found.prefix(limit)
        let events = try await call.ask { () async throws(StorageError) in
            try await store.events(numbered: page.map(\.number))
        }
        let byNumber = Dictionary(events.map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
        return try Answer(
            DeadDeliveryList(
                dead: page.map { DeadDeliveryList.Row($0, byNumber[$0.number]) },
                next: found.count > limit ? page.last.map { String($0.number) } : nil))
    }

    /// `POST /v1/webhooks/{webhook}/replay`: sends events to an endpoint again.
    ///
    /// The server that sends them starts within 10 seconds. An event has the same `webhook-id` each time.
    @Sendable static func replay(_ call: Call) async throws(Problem) -> Answer {
        let key = key(call)
        let request = try call.decode(ReplayRequest.self, empty: .object([:]))
        let what = try what(request)
        let count = try await call.ask { () async throws(StorageError) in
            try await call.services.store.replay(what, to: key, at: call.now)
        }
        guard let count else { throw unknown(key) }
        return try Answer(ReplayedAnswer(replayed: request.since == nil ? count : nil))
    }

    /// `POST /v1/webhooks/{webhook}/discard`: removes events from the list of those that were given up.
    @Sendable static func discard(_ call: Call) async throws(Problem) -> Answer {
        let key = key(call)
        let request = try call.decode(DiscardRequest.self)
        guard (request.events != nil) != (request.all == true) else {
            throw .invalid("", "neither or both", expected: "`events`, or `all` with `true`")
        }
        let dead = try request.events.map { (texts) throws(Problem) in
            try numbers(texts, fix: "`all` discards all that were given up")
        }
        let count = try await call.ask { () async throws(StorageError) in
            try await call.services.store.discard(dead, of: key)
        }
        guard let count else { throw unknown(key) }
        return try Answer(DiscardedAnswer(discarded: count))
    }

    /// `POST /v1/webhooks/{webhook}/enable`: turns an endpoint on again.
    @Sendable static func enable(_ call: Call) async throws(Problem) -> Answer {
        let key = key(call)
        let wasOff = try await call.ask { () async throws(StorageError) in
            try await call.services.store.enable(key)
        }
        guard let wasOff else { throw unknown(key) }
        return try Answer(WebhookEnabledAnswer(changed: wasOff))
    }

    private static func what(_ request: ReplayRequest) throws(Problem) -> WebhookReplay {
        if let text = request.since {
            guard request.events == nil else {
                throw .invalid("/since", "beside `events`", expected: "`events` or `since`, not both")
            }
            guard let number = number(text) else {
                throw .invalid("/since", "no event's id", expected: "the `id` of an event, or \"0\"")
            }
            return .everything(after: number)
        }
        guard let texts = request.events else { return .dead(nil) }
        return .dead(try numbers(texts, fix: "leave `events` out to replay all events that were given up"))
    }

    private static func numbers(_ texts: [String], fix: String) throws(Problem) -> [EventNumber] {
        guard 1...maximum ~= texts.count else {
            throw .invalid(
                "/events", "too few or too many", expected: "1 to \(maximum) ids", given: "\(texts.count)", fix: fix)
        }
        var numbers: [EventNumber] = []
        for (index, text) in texts.enumerated() {
            guard let number = number(text) else {
                throw .invalid("/events/\(index)", "no event's id", expected: "the `id` of an event")
            }
            numbers.append(number)
        }
        return numbers
    }

    private static func number(_ text: String) -> EventNumber? {
        guard let number = EventNumber(text), number >= 0, String(number) == text else { return nil }
        return number
    }

    /// Returns the webhook's key. Its app is always that of the caller's key.
    private static func key(_ call: Call) -> WebhookKey {
        WebhookKey(call.app.bundleID, call.parameters["webhook"] ?? "")
    }

    private static func unknown(_ key: WebhookKey) -> Problem {
        Problem(
            .unknownWebhook,
            "this app has no webhook \(Problem.quotable("`\(key.name)`")), or no server has run with it",
            fix: "`GET /v1/webhooks` lists those there are")
    }
}

extension DeadDeliveryList.Row {
    fileprivate init(_ delivery: WebhookDelivery, _ event: StoredEvent?) {
        self.init(
            id: String(delivery.number),
            event: event.flatMap { try? JSONValue.object($0.document).decode(Event.self) }, tries: delivery.tries)
        firstTriedAt = delivery.firstTriedAt.map { Instant($0) }
        givenUpAt = delivery.deadAt.map { Instant($0) }
        failure = delivery.failure
    }
}
