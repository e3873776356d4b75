package import Tracing

/// Where spans go: one for each request, for what it decides, for each flight of pushes that follows from it, and for
/// each push of a small one.
package struct Traces: Sendable {
    /// Flights with more pushes have no span for each of them.
    package static let spansPerFlight = 16
    private static let changes = 10_000

    package let tracer: any Tracer
    private let contexts = ChangeContexts(limit: changes)

    package init(_ tracer: any Tracer) { self.tracer = tracer }

    /// A span that its caller ends; inside of the current one, unless it is told.
    package func start(
        _ name: String, _ kind: SpanKind = .internal, in context: InstrumentationContext? = nil
    ) -> any Span {
        tracer.startSpan(name, context: context ?? .current ?? .topLevel, ofKind: kind)
    }

    /// The place that a caller gave with its headers.
    ///
    /// - Parameter header: A header's value by its name in small letters.
    package func context(from header: @escaping @Sendable (String) -> String?) -> InstrumentationContext {
        var context = InstrumentationContext.topLevel
        tracer.extract((), into: &context, using: Headers(value: header))
        return context
    }

    /// The current request changed what an activity should show.
    package func changed(app: String, activity: String, revision: Int64) {
        guard let context = InstrumentationContext.current else { return }
        contexts.keep(context, of: .init(app: app, activity: activity, revision: revision))
    }

    /// The request that this revision came with; nil: nobody knows.
    package func context(app: String, activity: String, revision: Int64) -> InstrumentationContext? {
        contexts.context(of: .init(app: app, activity: activity, revision: revision))
    }

    private struct Headers: Extractor {
        let value: @Sendable (String) -> String?
        func extract(key: String, from carrier: Void) -> String? { value(key) }
    }
}
