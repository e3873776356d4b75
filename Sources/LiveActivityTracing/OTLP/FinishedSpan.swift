package import Tracing

/// Finished span, ready for export.
package struct FinishedSpan: Sendable {
    package struct Event: Sendable {
        package let name: String
        package let at: UInt64
        package let attributes: SpanAttributes
    }

    package struct Link: Sendable {
        package let place: TraceParent
        package let attributes: SpanAttributes
    }

    package let place: TraceParent
    /// Parent span; `nil` if this span began the trace.
    package let parent: UInt64?
    package let kind: SpanKind
    /// Start time in nanoseconds since 1970, as all times here.
    package let start: UInt64
    package internal(set) var end: UInt64 = 0
    package internal(set) var name: String
    package internal(set) var attributes: SpanAttributes = [:]
    package internal(set) var status: SpanStatus?
    package internal(set) var events: [Event] = []
    package internal(set) var links: [Link] = []
}
