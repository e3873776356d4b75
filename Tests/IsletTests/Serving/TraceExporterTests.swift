import Hummingbird
import JSONText
import LiveActivityAPI
import Logging
import LoopbackServer
import NIOCore
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing
import Tracing

@testable import LiveActivityTracing
@testable import islet

/// The exporter of spans, with a real collector on loopback.
struct TraceExporterTests {
    private let buffer = SpanBuffer()
    private let log = Log()

    /// Lines of the log: the message and its subject.
    private final class Log: Sendable {
        private let kept = Mutex<[String]>([])
        var lines: [String] { kept.withLock(\.self) }

        var logger: Logger {
            Logger(label: "test") { label in
                JSONLogHandler(label: label, now: { Instant(clampingMilliseconds: 0) }) { [self] line in
                    let object = (try? JSONValue(parsing: line))?.object ?? [:]
                    guard object["metadata"] != nil else { return }
                    let about = object["metadata"]?.object?.map { "\($0.key) \($0.value.string ?? "?")" } ?? []
                    kept.withLock { $0.append(([object["message"]?.string ?? "?"] + about).joined(separator: ", ")) }
                }
            }
        }
    }

    private func add(_ spans: Int) {
        for number in 0..<spans {
            buffer.add(
                FinishedSpan(
                    place: TraceParent(trace: (1, 2), span: UInt64(number), isSampled: true), parent: nil,
                    kind: .internal, start: 1, name: "a"))
        }
    }

    private func exporter(
        to address: String, pause: Duration, deadline: Duration = .seconds(30),
        clock: any Clock<Duration> = ContinuousClock()
    ) -> TraceExporter {
        TraceExporter(
            buffer, to: "\(address)/v1/traces", version: "1", pause: pause, deadline: deadline, clock: clock,
            logger: log.logger)
    }

    /// Runs the exporter, does some work meanwhile, and stops the exporter as a signal would.
    private func run(_ exporter: TraceExporter, while work: @Sendable () async throws -> Void = {}) async throws {
        let group = ServiceGroup(
            configuration: .init(
                services: [exporter], logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }))
        async let end: Void = group.run()
        try await work()
        await group.triggerGracefulShutdown()
        try await end
    }

    private static func spans(_ asked: [Asked]) throws -> [Int] {
        try asked.map { call in
            let resource = try JSONValue(parsing: call.text).object?["resourceSpans"]?.array?.first?.object
            return resource?["scopeSpans"]?.array?.first?.object?["spans"]?.array?.count ?? 0
        }
    }

    @Test(.timeLimit(.minutes(1))) func `what a collector refuses is counted, and said when it takes some again`()
        async throws
    {
        let calls = Mutex(0)
        try await withLoopbackServer({ _ in
            let call = calls.withLock { calls in
                calls += 1
                return calls
            }
            return httpAnswer(call <= 2 ? .serviceUnavailable : .ok)
        }) { address, asked in
            let clock = SteppedClock()
            try await run(exporter(to: address, pause: .seconds(2), clock: clock)) {
                for call in 1...4 {
                    add(3)
                    await clock.advanceToSleeper(.seconds(2))
                    try await Waiting.until("the collector was called", within: .seconds(30)) { asked().count == call }
                }
            }
            #expect(try Self.spans(asked()) == [3, 3, 3, 3])
            #expect(
                asked().allSatisfy { $0.line == "POST /v1/traces" && $0.fields["content-type"] == "application/json" })
            #expect(
                log.lines == ["trace export failed, error HTTP 503", "trace export recovered, spansLost 6"])
        }
    }

    @Test(.timeLimit(.minutes(1))) func `a stop tells what is finished, in as many calls as it takes`() async throws {
        try await withLoopbackServer({ _ in httpAnswer(.ok) }) { address, asked in
            add(1100)
            try await run(exporter(to: address, pause: .seconds(3600)))
            #expect(try Self.spans(asked()) == [512, 512, 76])
            #expect(log.lines.isEmpty)
        }
    }

    @Test(.timeLimit(.minutes(1))) func `a collector that does not end its answer holds nothing up`() async throws {
        let (silence, rest) = AsyncStream.makeStream(of: Void.self)
        defer { rest.finish() }
        let body = ResponseBody { writer in
            try await writer.write(ByteBuffer(string: "{"))
            for await _ in silence {}
            try await writer.finish(nil)
        }
        try await withLoopbackServer({ _ in Response(status: .ok, body: body) }) { address, asked in
            add(1100)
            try await run(exporter(to: address, pause: .seconds(3600), deadline: .seconds(3)))
            #expect(try Self.spans(asked()) == [512])
            #expect(log.lines == ["trace export failed, error no answer within 3.0 seconds"])
            rest.finish()
        }
    }
}
