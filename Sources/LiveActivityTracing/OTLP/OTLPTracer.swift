import Synchronization
package import Tracing

/// Tracer that collects finished spans for an OTLP exporter.
///
/// It keeps a fraction of the traces that begin here. For a trace that a caller began, it follows the caller's
/// decision.
package final class OTLPTracer: Tracer {
    private static let header = "traceparent"

    private let buffer: SpanBuffer
    private let share: Double
    private let dice: @Sendable () -> UInt64

    /// Creates a tracer.
    ///
    /// - Parameters:
    ///   - share: Fraction of the traces that begin here to keep, from 0 to 1.
    ///   - dice: Returns random words, for ids and for the choice of traces.
    package init(buffer: SpanBuffer, share: Double = 1, dice: @escaping @Sendable () -> UInt64) {
        self.buffer = buffer
        self.share = share
        self.dice = dice
    }

    package func startSpan<Moment: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> InstrumentationContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Moment, function: String, file fileID: String, line: UInt
    ) -> OTLPSpan {
        var context = context()
        let parent = context.traceParent
        let place = TraceParent(
            trace: parent?.trace ?? (word(), word()), span: word(),
            isSampled: parent?.isSampled ?? (Double(dice() >> 11) * 0x1p-53 < share))
        context.traceParent = place
        return OTLPSpan(
            FinishedSpan(
                place: place, parent: parent?.span, kind: kind, start: instant().nanosecondsSinceEpoch,
                name: operationName),
            context: context, buffer: buffer)
    }

    package func activeSpan(identifiedBy context: InstrumentationContext) -> OTLPSpan? { nil }

    package func forceFlush() {}

    package func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout InstrumentationContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {
        context.traceParent = extractor.extract(key: Self.header, from: carrier).flatMap { TraceParent($0) }
    }

    package func inject<Carrier, Inject: Injector>(
        _ context: InstrumentationContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let place = context.traceParent else { return }
        injector.inject(place.text, forKey: Self.header, into: &carrier)
    }

    /// Returns an id, which is never 0.
    private func word() -> UInt64 { max(1, dice()) }
}

/// Span in progress. It records nothing unless its trace is kept.
package final class OTLPSpan: Tracing.Span {
    package let context: InstrumentationContext
    private let buffer: SpanBuffer
    /// The span, or `nil` after it has ended.
    private let state: Mutex<FinishedSpan?>
    private let isSampled: Bool

    init(_ span: FinishedSpan, context: InstrumentationContext, buffer: SpanBuffer) {
        self.context = context
        self.buffer = buffer
        isSampled = span.place.isSampled
        state = Mutex(isSampled ? span : nil)
    }

    private func change(_ change: (inout FinishedSpan) -> Void) {
        guard isSampled else { return }
        state.withLock { state in
            guard var span = state else { return }
            state = nil
            change(&span)
            state = span
        }
    }

    package var isRecording: Bool { isSampled && state.withLock { $0 != nil } }

    package var operationName: String {
        get { state.withLock { $0?.name ?? "" } }
        set { change { $0.name = newValue } }
    }

    package var attributes: SpanAttributes {
        get { state.withLock { $0?.attributes ?? [:] } }
        set { change { $0.attributes = newValue } }
    }

    package func setStatus(_ status: SpanStatus) { change { $0.status = status } }

    package func addEvent(_ event: SpanEvent) {
        change {
            $0.events.append(.init(name: event.name, at: event.nanosecondsSinceEpoch, attributes: event.attributes))
        }
    }

    /// Records an error as an event with OpenTelemetry's name for it. Only the error's type is recorded, because its
    /// text may be a secret.
    package func recordError<Moment: TracerInstant>(
        _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Moment
    ) {
        var attributes = attributes
        attributes["exception.type"] = "\(type(of: error))"
        let event = FinishedSpan.Event(
            name: "exception", at: instant().nanosecondsSinceEpoch, attributes: attributes)
        change { $0.events.append(event) }
    }

    package func addLink(_ link: SpanLink) {
        guard let place = link.context.traceParent else { return }
        change { $0.links.append(.init(place: place, attributes: link.attributes)) }
    }

    package func end<Moment: TracerInstant>(at instant: @autoclosure () -> Moment) {
        guard isSampled, var span = state.withLock({ $0.take() }) else { return }
        span.end = max(span.start, instant().nanosecondsSinceEpoch)
        buffer.add(span)
    }
}

extension InstrumentationContext {
    private enum TraceParentKey: InstrumentationContextKey {
        typealias Value = TraceParent
        static var nameOverride: String? { "traceparent" }
    }

    /// Place in a trace; `nil` outside of traces.
    package var traceParent: TraceParent? {
        get { self[TraceParentKey.self] }
        set { self[TraceParentKey.self] = newValue }
    }
}
