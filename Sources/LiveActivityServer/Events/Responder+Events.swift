import APNSModel
import HTTPTypes
import Hummingbird
import JSONText
import LiveActivityCore
import LiveActivityStorage
import NIOCore

extension Responder {
    private static let lastEventID = HTTPField.Name("Last-Event-ID")

    /// Headers of a stream of server-sent events. A proxy that buffers answers would withhold the events, so nginx is
    /// told not to.
    static let streamHeaders: HTTPFields = {
        var fields: HTTPFields = [.contentType: "text/event-stream", .cacheControl: "no-store"]
        if let name = HTTPField.Name("X-Accel-Buffering") { fields[name] = "no" }
        return fields
    }()

    /// `GET /v1/events`: streams events as they happen, from the caller's position on.
    func events(_ call: Call, _ headers: HTTPFields) async throws(Problem) -> Response {
        let filter = try Self.filter(call.query)
        let app = call.app.bundleID
        let span = try await call.ask { () async throws(StorageError) in try await services.store.eventSpan(of: app) }
        let start = try Self.start(headers, span)
        let reader: EventReaders.Reader
        do throws(EventRelay.Refusal) {
            reader = try services.events.join(call.app.bundleID, filter, after: start)
        } catch {
            throw Self.problem(error)
        }
        let stream = EventStream(
            reader: reader, services: services, app: call.app.bundleID, filter: filter, caller: call.caller,
            start: start)
        return Response(
            status: .ok, headers: Self.streamHeaders,
            body: ResponseBody { writer in try await stream.run(&writer) })
    }

    private static func filter(_ query: Query) throws(Problem) -> EventFilter {
        var filter = EventFilter()
        if let text = query["activity"] {
            do throws(ForeignIDError) { filter.activity = try ActivityID(text) } catch {
                throw Problem(
                    .invalidQuery, "`activity`: \(error)", expected: "1 to 256 bytes without control characters")
            }
        }
        if let text = query["kinds"] {
            var kinds: Set<EventRecord.Kind> = []
            for name in text.split(separator: ",", omittingEmptySubsequences: false) {
                guard let kind = EventRecord.Kind(name: name) else {
                    let list = EventRecord.Kind.allCases.map { "`\($0.name)`" }.joined(separator: ", ")
                    throw Problem(
                        .invalidQuery, "`kinds` has a word that is no kind of event", expected: "some of \(list)",
                        given: Problem.quotable("`\(name)`"))
                }
                kinds.insert(kind)
            }
            filter.kinds = kinds
        }
        return filter
    }

    /// Returns the last event that the caller has. Without `Last-Event-ID` it is the newest event.
    private static func start(_ headers: HTTPFields, _ span: EventSpan) throws(Problem) -> EventNumber {
        guard let text = lastEventID.flatMap({ headers[$0] }) else { return span.newest }
        guard let number = EventNumber(text), number >= 0, String(number) == text else {
            throw Problem(
                .invalidHeader, "`Last-Event-ID` is the `id` of an event, or 0", expected: "a whole number")
        }
        guard span.holds(everythingAfter: number) else {
            throw Problem(
                .eventsErased,
                number > span.newest
                    ? "no event has that number yet: it is of another database, or of a time before a backup"
                    : "events that followed this one are erased by now, or were lost when a backup was restored",
                expected: "\(span.wholeFrom) to \(span.newest)",
                fix: "read the current state (GET /v1/activities), then continue without `Last-Event-ID`, or from "
                    + "\(span.wholeFrom) on")
        }
        return number
    }

    private static func problem(_ refusal: EventRelay.Refusal) -> Problem {
        switch refusal {
        case .tooMany(let limit):
            Problem(
                .overloaded, "\(limit) streams of events are open already", fix: "close one, or come back later",
                headers: [.retryAfter: "5"])
        case .tooManyOfApp(let limit):
            Problem(
                .overloaded, "the app has \(limit) streams of events open already",
                fix: "close one: a stream has all of an app's events", headers: [.retryAfter: "5"])
        }
    }
}

/// One stream of events.
private struct EventStream: Sendable {
    let reader: EventReaders.Reader
    let services: Services
    let app: BundleID
    let filter: EventFilter
    let caller: Caller
    let start: EventNumber

    /// Sends events until the caller disconnects, the server stops, or the caller may no longer read.
    @concurrent
    func run(_ writer: inout any ResponseBodyWriter) async throws {
        // A client remembers an id without data and reports no event. So it knows its position even if no event comes
        // for long.
        try await writer.write(ByteBuffer(string: "retry: 3000\nid: \(start)\n\n"))
        var lookedAt = services.time.monotonic()
        for await tick in reader.ticks {
            guard try await send(tick, &writer, &lookedAt) else { break }
        }
        try await writer.finish(nil)
    }

    /// Sends what is new. Returns `false` if the stream is over.
    @concurrent
    private func send(
        _ tick: EventReaders.Tick, _ writer: inout any ResponseBodyWriter, _ lookedAt: inout MonotonicTime
    ) async throws -> Bool {
        var isBeat = tick == .beat
        while true {
            // Checked by time too, because news can displace a beat, and a slow reader may receive news for hours.
            let now = services.time.monotonic()
            if isBeat || now - lookedAt >= services.limits.eventBeat {
                guard await mayRead() else { return false }
                (isBeat, lookedAt) = (false, now)
            }
            switch services.events.next(reader.id) {
            case .send(let events):
                services.events.willSend(events.count, to: app)
                try await writer.write(ByteBuffer(string: events.map(Self.text).joined()))
            case .read(let after):
                guard let page = try? await page(after), page.span.holds(everythingAfter: after) else { return false }
                services.events.found(page.events, through: page.through, for: reader.id)
            case .wait(let number):
                if tick == .beat { try await writer.write(ByteBuffer(string: ": beat\nid: \(number)\n\n")) }
                return true
            case .cut: return false
            }
        }
    }

    private func page(_ after: EventNumber) async throws(StorageError) -> EventPage {
        try await services.store.events(of: app, filter, after: after, limit: services.limits.eventPage)
    }

    /// Returns `false` if the key was revoked or erased, or has expired.
    private func mayRead() async -> Bool {
        guard case .key(let key) = caller else { return false }
        do throws(StorageError) {
            return try await services.store.key(key.id)?.standing(at: services.time.wall()) == .valid
        } catch {
            // A temporary failure of the database must not end the stream.
            return true
        }
    }

    private static func text(_ event: StoredEvent) -> String {
        "id: \(event.number)\nevent: \(event.record.kind.name)\ndata: \(JSONValue.object(event.document).text)\n\n"
    }
}
