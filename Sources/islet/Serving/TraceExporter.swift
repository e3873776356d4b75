import JSONText
import LiveActivityDelivery
import LiveActivityTracing
import Logging
import NIOHTTP1
import OutboundHTTP
import ServiceLifecycle

/// Tells finished spans to a collector: OTLP over HTTP in JSON. Spans that a collector does not take in time are
/// dropped and counted in the log: nothing waits for them.
struct TraceExporter: Service {
    private static let batch = 512
    private static let answerBytes = 64 * 1024

    private let buffer: SpanBuffer
    private let endpoint: String
    private let version: String
    private let pause: Duration
    private let deadline: Duration
    private let clock: any Clock<Duration>
    private let logger: Logger
    private let client: OutboundClient

    /// - Parameters:
    ///   - pause: Between two looks for finished spans.
    ///   - deadline: For a call of the collector, and for all of those that a stop waits for.
    init(
        _ buffer: SpanBuffer, to endpoint: String, version: String, pause: Duration = .seconds(2),
        deadline: Duration = .seconds(5), clock: any Clock<Duration> = ContinuousClock(),
        client: OutboundClient = OutboundClient(), logger: Logger
    ) {
        self.client = client
        self.buffer = buffer
        self.endpoint = endpoint
        self.version = version
        self.pause = pause
        self.deadline = deadline
        self.clock = clock
        self.logger = logger
    }

    /// Until it is stopped; what is finished then is told before it ends, as far as the deadline lets it.
    func run() async throws {
        var health = Health()
        var isMore = false
        while true {
            if !isMore { try? await cancelWhenGracefulShutdown { try await clock.sleep(for: pause) } }
            guard !Task.isShuttingDownGracefully, !Task.isCancelled else { break }
            isMore = await tell(&health)
        }
        let known = health
        await withDeadline(deadline, by: clock, late: ()) {
            var health = known
            while await tell(&health) {}
        }
    }

    /// Whether the collector takes what it is told, for the log: each change is said once.
    private struct Health: Sendable {
        var problem: String?
        var lost = 0
    }

    /// Tells one batch.
    ///
    /// - Returns: Whether more may be told at once: what comes after a failure is for the next look.
    private func tell(_ health: inout Health) async -> Bool {
        let (spans, dropped) = buffer.take(Self.batch)
        health.lost += dropped
        guard !spans.isEmpty else { return false }
        let problem = await withDeadline(deadline, by: clock, late: late) {
            await post(spans)
        }
        if problem != nil { health.lost += spans.count }
        if let problem, health.problem == nil {
            logger.warning("traces are not taken", metadata: ["error": "\(problem)"])
        } else if problem == nil, health.lost > 0 {
            logger.notice("traces are taken again", metadata: ["spansLost": "\(health.lost)"])
            health.lost = 0
        }
        health.problem = problem
        return problem == nil && spans.count == Self.batch
    }

    private var late: String { "no answer within \(deadline)" }

    /// - Returns: What went wrong; nil: they were taken.
    private func post(_ spans: [FinishedSpan]) async -> String? {
        let body = OTLPDocument.of(spans, service: "islet", version: version)
        guard let url = OutboundURL(endpoint) else { return "its address is no URL" }
        let headers: HTTPHeaders = ["content-type": "application/json", "user-agent": "Islet"]
        let request = OutboundRequest(
            .POST, url, headers, body: body.bytes, timeout: deadline, maximumAnswerBytes: Self.answerBytes)
        do throws(OutboundError) {
            let answer = try await client.call(request)
            return (200..<300).contains(answer.status) ? nil : "HTTP \(answer.status)"
        } catch {
            return Task.isCancelled ? late : "\(error)"
        }
    }
}
