import JSONText
import LiveActivityTracing
import Synchronization
import Testing
import Tracing

struct OTLPTracerTests {
    private struct Moment: TracerInstant {
        let nanosecondsSinceEpoch: UInt64
        static func < (left: Self, right: Self) -> Bool { left.nanosecondsSinceEpoch < right.nanosecondsSinceEpoch }
    }

    private final class Dice: Sendable {
        private let next = Mutex<UInt64>(0)
        /// Returns 1, 2, 3 and so on. A fraction made of these is nearly zero.
        func roll() -> UInt64 {
            next.withLock {
                $0 += 1
                return $0
            }
        }
    }

    private let buffer = SpanBuffer(limit: 3)

    private func traces(share: Double = 1) -> Traces {
        let dice = Dice()
        return Traces(OTLPTracer(buffer: buffer, share: share) { dice.roll() })
    }

    @Test func `a span inside of another belongs to its trace`() throws {
        let traces = traces()
        let outer = traces.start("outer", .server)
        InstrumentationContext.$current.withValue(outer.context) {
            traces.start("inner").end()
            traces.changed(app: "com.acme.pizza", activity: "order-1", revision: 3)
        }
        let context = try #require(traces.context(app: "com.acme.pizza", activity: "order-1", revision: 3))
        #expect(traces.context(app: "com.acme.pizza", activity: "order-1", revision: 4) == nil)
        traces.start("flight", in: context).end()
        outer.end()
        outer.end()
        let (spans, dropped) = buffer.take(10)
        #expect(spans.map(\.name) == ["inner", "flight", "outer"] && dropped == 0)
        #expect(Set(spans.map(\.place.traceID)).count == 1 && Set(spans.map(\.place.spanID)).count == 3)
        #expect(spans.map { $0.parent.map { $0 == spans[2].place.span } } == [true, true, nil])
    }

    @Test func `a caller's trace goes on, and is kept if the caller keeps it`() {
        let traces = traces(share: 0)
        func begun(_ flags: String) -> FinishedSpan? {
            let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-\(flags)"
            traces.start("a", in: traces.context { $0 == "traceparent" ? header : nil }).end()
            return buffer.take(1).spans.first
        }
        #expect(begun("01")?.place.traceID == "4bf92f3577b34da6a3ce929d0e0e4736")
        #expect(begun("01")?.parent == 0x00f0_67aa_0ba9_02b7)
        #expect(begun("00") == nil)
    }

    @Test func `of what begins here the share is kept, whole`() {
        let traces = traces(share: 0)
        let span = traces.start("a")
        #expect(!span.isRecording)
        span.attributes["x"] = 1
        span.addEvent("e")
        #expect(span.attributes.isEmpty)
        traces.start("b", in: span.context).end()
        span.end()
        #expect(buffer.take(10).spans.isEmpty)
        let all = self.traces(share: 1)
        all.start("a").end()
        #expect(buffer.take(10).spans.count == 1)
    }

    @Test func `what a full buffer cannot hold is counted`() {
        let traces = traces()
        for name in ["a", "b", "c", "d", "e"] { traces.start(name).end() }
        let first = buffer.take(2)
        #expect(first.spans.map(\.name) == ["a", "b"] && first.dropped == 2)
        let second = buffer.take(2)
        #expect(second.spans.map(\.name) == ["c"] && second.dropped == 0)
    }

    @Test func `only so many changes are remembered, the newest`() {
        let traces = traces()
        let span = traces.start("a")
        InstrumentationContext.$current.withValue(span.context) {
            for revision in 1...10_003 { traces.changed(app: "a", activity: "b", revision: Int64(revision)) }
        }
        func knows(_ revision: Int64) -> Bool { traces.context(app: "a", activity: "b", revision: revision) != nil }
        #expect(!knows(1) && !knows(3) && knows(4) && knows(10_003))
        traces.changed(app: "a", activity: "c", revision: 1)
        #expect(traces.context(app: "a", activity: "c", revision: 1) == nil, "outside of a request")
    }

    @Test func `spans are told as the protocol has it`() throws {
        struct Secret: Error {}
        let dice = Dice()
        let tracer = OTLPTracer(buffer: buffer) { dice.roll() }
        let span = tracer.startSpan(
            "push update", context: .topLevel, ofKind: .client, at: Moment(nanosecondsSinceEpoch: 1_000))
        span.updateAttributes { attributes in
            attributes["count"] = 7
            attributes["share"] = 0.5
            attributes["is"] = true
            attributes["names"] = ["a", "b"]
        }
        span.addEvent(SpanEvent(name: "e", at: Moment(nanosecondsSinceEpoch: 1_500), attributes: ["k": "v"]))
        span.recordError(Secret(), attributes: [:], at: Moment(nanosecondsSinceEpoch: 1_600))
        span.addLink(SpanLink(context: span.context, attributes: [:]))
        span.setStatus(SpanStatus(code: .error, message: "no"))
        span.end(at: Moment(nanosecondsSinceEpoch: 2_000))
        let document = OTLPDocument.of(buffer.take(1).spans, service: "islet", version: "0.1.0")
        let expected = #"""
            {"resourceSpans": [{"resource": {"attributes": [
                {"key": "service.name", "value": {"stringValue": "islet"}},
                {"key": "service.version", "value": {"stringValue": "0.1.0"}}]},
              "scopeSpans": [{"scope": {"name": "islet"}, "spans": [{
                "traceId": "00000000000000010000000000000002", "spanId": "0000000000000003", "name": "push update",
                "kind": 3, "startTimeUnixNano": "1000", "endTimeUnixNano": "2000",
                "attributes": [{"key": "count", "value": {"intValue": "7"}},
                  {"key": "is", "value": {"boolValue": true}},
                  {"key": "names", "value": {"arrayValue": {"values": [{"stringValue": "a"}, {"stringValue": "b"}]}}},
                  {"key": "share", "value": {"doubleValue": 0.5}}],
                "flags": 1,
                "events": [{"timeUnixNano": "1500", "name": "e",
                    "attributes": [{"key": "k", "value": {"stringValue": "v"}}]},
                  {"timeUnixNano": "1600", "name": "exception",
                    "attributes": [{"key": "exception.type", "value": {"stringValue": "Secret"}}]}],
                "links": [{"traceId": "00000000000000010000000000000002", "spanId": "0000000000000003",
                  "attributes": []}],
                "status": {"code": 2, "message": "no"}}]}]}]}
            """#
        #expect(document == (try JSONValue(parsing: expected)))
    }
}
