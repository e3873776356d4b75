import APNSModel
import LiveActivityCore
import LiveActivityDelivery
import LiveActivityTracing
import StorageSQL
import StorageSQLite
import TestSupport
import Testing
import Tracing

struct TraceTests {
    private let buffer = SpanBuffer()

    @Test func `a flight is a span of the change's trace, and each push of a small one is one of its own`() async throws
    {
        let traces = Traces(OTLPTracer(buffer: buffer) { .random(in: 0 ... .max) })
        let sender = ScriptedSender { _, number in
            .answer(
                number == 0 ? PushAnswer(status: 429, reason: .known(.tooManyRequests)) : PushAnswer(status: 200))
        }
        try await withDatabasePath { path in
            let stage = try Stage(path: path, sender, traces: traces)
            defer { stage.store.inner.close() }
            try await stage.prepare()
            let request = traces.start("request")
            InstrumentationContext.$current.withValue(request.context) {
                traces.changed(app: Sample.bundleID.text, activity: "a", revision: 1)
            }
            request.end()
            try await stage.perform { _ async throws in
                await stage.settled(1)
                await stage.clock.advanceToSleeper(.seconds(1)...(.seconds(2)))
                await stage.settled(2)
            }
            let spans = buffer.take(100).spans
            #expect(Set(spans.map(\.place.traceID)).count == 1)
            let flights = spans.filter { $0.name == "flight" }
            let pushes = spans.filter { $0.name.hasPrefix("push ") }
            #expect(flights.count == 2 && pushes.map(\.name) == ["push update", "push update"])
            #expect(flights.allSatisfy { $0.parent == spans.first?.place.span && spans.first?.name == "request" })
            #expect(pushes.map(\.parent) == flights.map(\.place.span))
            #expect(pushes.map { $0.status?.code } == [.error, nil])
            #expect(pushes[0].attributes.get("apns.reason") == "TooManyRequests")
            #expect(flights.map { $0.attributes.get("islet.accepted") } == [.int64(0), .int64(1)])
            #expect(flights.map { $0.attributes.get("islet.refused") } == [.int64(1), .int64(0)])
        }
    }
}
