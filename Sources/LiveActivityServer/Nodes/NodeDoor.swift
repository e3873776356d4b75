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
/// A request that was not sent waits for an owner. One that was sent is never repeated, because its fate is unknown;
/// its caller repeats it, with the same idempotency key.
struct NodeDoor: Sendable {
    let desk: NodeDesk
    let limits: LiveActivityServer.Limits
    let clock: any Clock<Duration>
    let logger: Logger
    /// Requests that are being passed on.
    private let waiting: Places
    private let counts = Counts()

    /// Time that a request waits while no owner is known.
    static let patience = Duration.seconds(5)
    /// Attempts to send a request, and the time between two.
    private static let tries = 50
    private static let pause = Duration.milliseconds(100)

    init(
        desk: NodeDesk, limits: LiveActivityServer.Limits, clock: any Clock<Duration> = ContinuousClock(),
        logger: Logger
    ) {
        self.desk = desk
        self.limits = limits
        self.clock = clock
        self.logger = logger
        waiting = Places(maximum: limits.openRequests)
    }

    /// Requests by what became of them.
    private final class Counts: Sendable {
        let passed = Atomic(0)
        let unknown = Atomic(0)
        let unowned = Atomic(0)
    }

    // MARK: - Requests

    /// Answers a request of the public listener.
    func answer(_ request: Request, from address: String) async throws -> Answered {
        if let (seat, place) = desk.here() { return Answered(try await seat.api(request, address), place) }
        if let own = own(request) { return Answered(own) }
        guard let place = waiting.take() else { return refuse(Self.unowned) }
        defer { withExtendedLifetime(place) {} }
        let request = try await collected(request)
        for _ in 0..<Self.tries {
            switch try await answerer() {
            case nil: return refuse(Self.unowned)
            case .here(let seat, let place): return Answered(try await seat.api(request, address), place)
            case .peer(let peer):
                do throws(Failure) {
                    let response = try await pass(request, to: peer, from: address)
                    counts.passed.add(1, ordering: .relaxed)
                    return Answered(response)
                } catch {
                    logger.info(
                        "the owner did not answer", metadata: ["owner": "\(peer.address)", "error": "\(error)"])
                    desk.missOwner()
                    switch error {
                    case .notSent: try await clock.sleep(for: Self.pause)
                    case .notDone: return refuse(Self.unowned)
                    case .unknown: return refuse(Self.unknown)
                    }
                }
            }
        }
        return refuse(Self.unowned)
    }

    private func refuse(_ problem: Problem) -> Answered {
        if problem.code == .commitUnknown {
            counts.unknown.add(1, ordering: .relaxed)
        } else {
            counts.unowned.add(1, ordering: .relaxed)
        }
        return Answered(Self.refusal(problem))
    }

    /// Reads a body that is small, so that it can be sent again if the owner did not take it.
    private func collected(_ request: Request) async throws -> Request {
        guard isSmall(request) else { return request }
        let body = try await request.body.collect(upTo: limits.bodyBytes)
        return Request(head: request.head, body: RequestBody(buffer: body))
    }

    func isSmall(_ request: Request) -> Bool {
        request.headers[.contentLength].flatMap { Int($0) }.map { $0 <= limits.bodyBytes } ?? false
    }

    /// Returns who answers; `nil` if nobody does within the patience.
    private func answerer() async throws -> NodeDesk.Answerer? {
        try await withThrowingTaskGroup(of: NodeDesk.Answerer?.self) { group in
            group.addTask { try await desk.answerer() }
            group.addTask {
                try await clock.sleep(for: Self.patience)
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }

    private static let unowned = Problem(
        .storageUnavailable, "no server owns the database at the moment; nothing was changed",
        fix: "repeat the call", headers: [.retryAfter: "1"])
    private static let unknown = Problem(
        .commitUnknown, "the server that had the call has gone; the change may or may not be stored",
        fix: "repeat the call, with the same idempotency key", headers: [.retryAfter: "1"])

    private static func refusal(_ problem: Problem) -> Response {
        Response(
            status: HTTPResponse.Status(code: problem.code.status),
            headers: problem.headers.merging([
                .contentType: "application/problem+json", .cacheControl: "no-store",
            ]),
            body: ResponseBody(
                byteBuffer: ByteBuffer(
                    bytes: Responder.document(problem, requestID: String(UInt64.random(in: 0 ... .max), radix: 16)))))
    }

    // MARK: - Calls about this node itself

    /// Answers a call of monitoring while another node owns the database.
    func watch(_ request: Request, from address: String) async throws -> Answered {
        if let (seat, place) = desk.here() { return Answered(try await seat.watchers(request, address), place) }
        if request.uri.path == "/readyz" { return try await answer(request, from: address) }
        return Answered(own(request) ?? Self.refusal(Problem(.notFound, "this address is for monitoring alone")))
    }

    private func own(_ request: Request) -> Response? {
        guard request.method == .get || request.method == .head else { return nil }
        let type: String
        let text: String
        switch request.uri.path {
        case "/healthz":
            type = "application/json"
            text = #"{"status":"ok"}"#
        case "/metrics":
            type = "text/plain; version=0.0.4"
            text = metrics
        default: return nil
        }
        let response = Response(
            status: .ok, headers: [.contentType: type, .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
        return request.method == .head ? response.createHeadResponse() : response
    }

    /// The metrics of a node that does not own the database. The owner's are all others.
    private var metrics: String {
        """
        # HELP islet_door_requests_total Requests that this node passed on, by result.
        # TYPE islet_door_requests_total counter
        islet_door_requests_total{result="passed"} \(counts.passed.load(ordering: .relaxed))
        islet_door_requests_total{result="unknown"} \(counts.unknown.load(ordering: .relaxed))
        islet_door_requests_total{result="no_owner"} \(counts.unowned.load(ordering: .relaxed))

        """
    }
}

/// An answer, and what must be held until it is written.
struct Answered: Sendable {
    let response: Response
    let place: NodeDesk.Place?

    init(_ response: Response, _ place: NodeDesk.Place? = nil) {
        self.response = response
        self.place = place
    }
}

extension HTTPFields {
    fileprivate func merging(_ other: HTTPFields) -> HTTPFields {
        var all = self
        for field in other { all[field.name] = field.value }
        return all
    }
}
