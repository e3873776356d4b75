import Synchronization

/// Buffer of spans that wait for export. When it is full, new spans are dropped and counted, so that tracing never
/// delays anything.
package final class SpanBuffer: Sendable {
    private struct State {
        var spans: [FinishedSpan] = []
        var dropped = 0
    }

    private let state = Mutex(State())
    private let limit: Int

    package init(limit: Int = 8192) { self.limit = limit }

    func add(_ span: FinishedSpan) {
        state.withLock { state in
            guard state.spans.count < limit else {
                state.dropped += 1
                return
            }
            state.spans.append(span)
        }
    }

    /// Returns the oldest spans, and the number of spans dropped since the last call.
    package func take(_ count: Int) -> (spans: [FinishedSpan], dropped: Int) {
        state.withLock { state in
            let taken = Array(state.spans.prefix(count))
            state.spans.removeFirst(taken.count)
            defer { state.dropped = 0 }
            return (taken, state.dropped)
        }
    }
}
