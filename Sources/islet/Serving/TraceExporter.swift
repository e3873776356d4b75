import JSONText
import LiveActivityDelivery
import LiveActivityTracing
import Logging
import NIOHTTP1
import OutboundHTTP
import ServiceLifecycle

/// A service that sends finished spans to a collector: OTLP over HTTP in JSON.
///
/// Nothing waits for the collector. Spans that it does not accept in time are dropped, and their number is logged.
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

    /// Creates an exporter.
    ///
    /// - Parameters:
    ///   - pause: Time between two reads of the buffer.
    ///   - deadline: Maximum time for one call of the collector, and for all calls during a graceful shutdown.
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

    /// Runs until it is stopped. Then it sends the remaining spans within the deadline.
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

    /// State of the collector, so that the log reports each change once.
    private struct Health: Sendable {
        var problem: String?
        var lost = 0
    }

    /// Sends one batch.
    ///
    /// - Returns: `true` if another batch should follow at once. After a failure, the next batch waits for the pause.
    private func tell(_ health: inout Health) async -> Bool {
        let (spans, dropped) = buffer.take(Self.batch)
        health.lost += dropped
        guard !spans.isEmpty else { return false }
        let problem = await withDeadline(deadline, by: clock, late: late) {
            await post(spans)
        }
        if problem != nil { health.lost += spans.count }
        if let problem, health.problem == nil {
            logger.warning("trace export failed", metadata: ["error": "\(problem)"])
        } else if problem == nil, health.lost > 0 {
            logger.notice("trace export recovered", metadata: ["spansLost": "\(health.lost)"])
            health.lost = 0
        }
        health.problem = problem
        return problem == nil && spans.count == Self.batch
    }

    private var late: String { "no answer within \(deadline)" }

    /// Sends spans to the collector.
    ///
    /// - Returns: The problem, or `nil` if the collector accepted them.
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
