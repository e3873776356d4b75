package import Tracing

/// Spans of the server.
///
/// There is one for each request, for its decision, for each flight of pushes that follows, and for each push of a
/// small flight.
package struct Traces: Sendable {
    /// Maximum number of pushes in a flight with one span for each push.
    package static let spansPerFlight = 16
    private static let changes = 10_000

    package let tracer: any Tracer
    private let contexts = ChangeContexts(limit: changes)

    package init(_ tracer: any Tracer) { self.tracer = tracer }

    /// Starts a span that the caller must end. Its parent is the current span unless a context is given.
    package func start(
        _ name: String, _ kind: SpanKind = .internal, in context: InstrumentationContext? = nil
    ) -> any Span {
        tracer.startSpan(name, context: context ?? .current ?? .topLevel, ofKind: kind)
    }

    /// Returns the trace context that a caller sent in its headers.
    ///
    /// - Parameter header: Returns the value of a header by its lowercase name.
    package func context(from header: @escaping @Sendable (String) -> String?) -> InstrumentationContext {
        var context = InstrumentationContext.topLevel
        tracer.extract((), into: &context, using: Headers(value: header))
        return context
    }

    /// Records that the current request changed an activity's desired state.
    package func changed(app: String, activity: String, revision: Int64) {
        guard let context = InstrumentationContext.current else { return }
        contexts.keep(context, of: .init(app: app, activity: activity, revision: revision))
    }

    /// Returns the trace context of the request that made this revision; `nil` if it is not known.
    package func context(app: String, activity: String, revision: Int64) -> InstrumentationContext? {
        contexts.context(of: .init(app: app, activity: activity, revision: revision))
    }

    private struct Headers: Extractor {
        let value: @Sendable (String) -> String?
        func extract(key: String, from carrier: Void) -> String? { value(key) }
    }
}
