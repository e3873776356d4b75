import APNSModel
import AsyncHTTPClient
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import Synchronization

/// The door of a node: answers the requests of its public listener, itself or by passing them on to the owner.
///
/// A request that was not sent waits for an owner. A change that was sent is never repeated, because its fate is
/// unknown; its caller repeats it, with the same idempotency key. A reading call is sent twice at most.
struct NodeDoor: Sendable {
    let desk: NodeDesk
    let limits: LiveActivityServer.Limits
    /// The settings of `GET /metrics`.
    let metrics: Metrics
    let clock: any Clock<Duration>
    let logger: Logger
    /// Requests that are being passed on.
    private let passing: Places
    /// Requests whose bodies are being read.
    private let reading: Places
    private let counts = Counts()

    /// Time that a request waits for an owner.
    private static let patience = Duration.seconds(5)
    /// Time between two attempts to send a request.
    private static let pause = Duration.milliseconds(100)

    struct Metrics: Sendable {
        var isServed: Bool
        /// `true` if another listener answers `/metrics`.
        var listensApart: Bool
    }

    init(
        desk: NodeDesk, limits: LiveActivityServer.Limits, metrics: Metrics,
        clock: any Clock<Duration> = ContinuousClock(), logger: Logger
    ) {
        self.desk = desk
        self.limits = limits
        self.metrics = metrics
        self.clock = clock
        self.logger = logger
        passing = Places(maximum: limits.openRequests)
        reading = Places(maximum: limits.openRequests)
    }

    /// Requests by what became of them.
    private final class Counts: Sendable {
        let passed = Atomic(0)
        let unknown = Atomic(0)
        let unowned = Atomic(0)
        let refused = Atomic(0)
    }

    // MARK: - Requests

    /// Answers a request of the public listener.
    func answer(_ request: Request, from address: String) async throws -> Answered {
        if request.uri.path.hasPrefix("/v1/") { desk.countCall() }
        if let (seat, place) = desk.here() { return Answered(try await seat.api(request, address), place) }
        if let own = own(request, isWatcher: false) { return Answered(own) }
        let stream = Self.isStream(request) ? PassedBody(request.body) : nil
        do throws(Problem) {
            let request = stream == nil ? try await collected(request, from: address) : request
            let place = try take(for: request)
            defer { withExtendedLifetime(place) {} }
            return try await passed(request, stream: stream, from: address)
        } catch {
            count(error)
            return Answered(Self.refusal(error), stream: stream)
        }
    }

    /// Takes a place. Monitoring is answered even if the node is full.
    private func take(for request: Request) throws(Problem) -> Places.Place? {
        if request.uri.path == "/readyz" { return nil }
        guard let place = passing.take() else { throw full }
        return place
    }

    private var full: Problem {
        Problem(
            .overloaded, "\(limits.openRequests) requests are being passed on already; nothing was changed",
            fix: "repeat the call later", headers: [.retryAfter: "1"])
    }

    private func passed(
        _ request: Request, stream: PassedBody?, from address: String
    ) async throws(Problem) -> Answered {
        let isReading = request.method == .get || request.method == .head
        var attempts = 0
        let end = ContinuousClock.now + Self.patience
        repeat {
            switch await answerer(by: end) {
            case nil: throw Self.unowned
            case .here(let seat, let place):
                guard stream?.isTouched != true else { throw Self.unowned }
                do { return Answered(try await seat.api(request, address), place) } catch { throw Self.gone }
            case .peer(let peer):
                guard request.method != .connect, let url = Self.url(of: request.uri.string, at: peer.address) else {
                    throw Problem(
                        .invalidPath, "the request's target is no path, or has characters that a URL must encode",
                        fix: "percent-encode it (RFC 3986)")
                }
                attempts += 1
                do throws(Failure) {
                    let response = try await pass(request, url, stream: stream, to: peer, from: address)
                    counts.passed.add(1, ordering: .relaxed)
                    return Answered(response, stream: stream)
                } catch {
                    logger.info(
                        "the owner did not answer", metadata: ["owner": "\(peer.address)", "error": "\(error)"])
                    desk.missOwner()
                    switch error {
                    case .notSent: break
                    case .notDone: throw Self.unowned
                    case .unknown: guard isReading, attempts < 2 else { throw Self.unknown }
                    }
                }
            }
            try? await clock.sleep(for: Self.pause)
        } while ContinuousClock.now < end && !Task.isCancelled
        throw Self.unowned
    }

    private func count(_ problem: Problem) {
        switch problem.code {
        case .commitUnknown: counts.unknown.add(1, ordering: .relaxed)
        case .storageUnavailable: counts.unowned.add(1, ordering: .relaxed)
        default: counts.refused.add(1, ordering: .relaxed)
        }
    }

    /// Returns `true` for a call whose body is read as it comes: lines of JSON.
    private static func isStream(_ request: Request) -> Bool {
        guard case .found(let route, _) = Route.match(request.method, request.uri.path) else { return false }
        if case .lines = route.access { return true }
        return route.takesPages && Responder.isLines(request.headers[.contentType] ?? "")
    }

    /// Reads a body, so that it can be sent again if the owner did not take it.
    private func collected(_ request: Request, from address: String) async throws(Problem) -> Request {
        guard let place = reading.take(of: address, upTo: max(1, limits.openRequests / 2)) else { throw full }
        defer { withExtendedLifetime(place) {} }
        let body: ByteBuffer
        let maximum = max(limits.bodyBytes, limits.inventoryBytes)
        do {
            body = try await request.body.collect(upTo: maximum)
        } catch is NIOTooManyBytesError {
            throw Problem(.bodyTooLarge, "the body is larger than \(maximum) bytes", expected: "\(maximum) bytes")
        } catch {
            throw Self.gone
        }
        var head = request.head
        head.headerFields[.contentLength] = body.readableBytes > 0 ? "\(body.readableBytes)" : nil
        return Request(head: head, body: RequestBody(buffer: body))
    }

    /// Returns who answers; `nil` if nobody does by a time.
    private func answerer(by end: ContinuousClock.Instant) async -> NodeDesk.Answerer? {
        if let current = desk.current { return current }
        return await withTaskGroup(of: NodeDesk.Answerer?.self) { group in
            group.addTask { await desk.answerer() }
            group.addTask {
                try? await clock.sleep(for: end - .now)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }

    private static let unowned = Problem(
        .storageUnavailable, "no server owns the database at the moment; nothing was changed",
        fix: "repeat the call", headers: [.retryAfter: "1"])
    private static let unknown = Problem(
        .commitUnknown, "the server that had the call has gone; the change may or may not be stored",
        fix: "repeat the call, with the same idempotency key", headers: [.retryAfter: "1"])
    /// Nobody is left to read it.
    private static let gone = Problem(.requestTimeout, "the connection has ended")

    private static func refusal(_ problem: Problem) -> Response {
        var headers = problem.headers
        headers[.contentType] = "application/problem+json"
        headers[.cacheControl] = "no-store"
        let id = String(UInt64.random(in: 0 ... .max), radix: 16)
        return Response(
            status: HTTPResponse.Status(code: problem.code.status), headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: Responder.document(problem, requestID: id))))
    }

    // MARK: - Calls about this node itself

    /// Answers a call of monitoring.
    func watch(_ request: Request, from address: String) async throws -> Answered {
        if let (seat, place) = desk.here() { return Answered(try await seat.watchers(request, address), place) }
        if request.uri.path == "/readyz" { return try await answer(request, from: address) }
        return Answered(
            own(request, isWatcher: true)
                ?? Self.refusal(Problem(.notFound, "this address answers /metrics, /healthz and /readyz alone")))
    }

    private func own(_ request: Request, isWatcher: Bool) -> Response? {
        guard request.method == .get || request.method == .head else { return nil }
        let type: String
        let text: String
        switch request.uri.path {
        case "/healthz":
            type = "application/json"
            text = #"{"status":"ok"}"#
        case "/metrics":
            guard metrics.isServed, isWatcher || !metrics.listensApart else {
                return Self.refusal(Problem(.notFound, "this address does not answer /metrics"))
            }
            type = "text/plain; version=0.0.4"
            text = page
        default: return nil
        }
        let response = Response(
            status: .ok, headers: [.contentType: type, .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
        return request.method == .head ? response.createHeadResponse() : response
    }

    /// The metrics of a node that does not own the database. The owner's are all others.
    private var page: String {
        let results = [
            ("passed", counts.passed.load(ordering: .relaxed)), ("unknown", counts.unknown.load(ordering: .relaxed)),
            ("no_owner", counts.unowned.load(ordering: .relaxed)), ("refused", counts.refused.load(ordering: .relaxed)),
        ]
        let lines = results.map { "islet_door_requests_total{result=\"\($0)\"} \($1)\n" }.joined()
        return """
            # HELP islet_door_requests_total Requests that this node passed on, by result.
            # TYPE islet_door_requests_total counter
            \(lines)
            """
    }
}

/// An answer, and what must be held until it is written.
struct Answered: Sendable {
    let response: Response
    let place: NodeDesk.Place?
    private let stream: PassedBody?

    init(_ response: Response, _ place: NodeDesk.Place? = nil, stream: PassedBody? = nil) {
        self.response = response
        self.place = place
        self.stream = stream
    }

    /// `true` if the connection can be used for another request.
    var isComplete: Bool { stream?.isRead ?? true }
}
