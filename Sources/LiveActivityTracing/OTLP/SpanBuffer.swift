import Synchronization

/// Spans that wait for being exported. When it is full, what is new is dropped and counted: tracing holds nothing up.
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

    /// The oldest, and how many were dropped since this was asked last.
    package func take(_ count: Int) -> (spans: [FinishedSpan], dropped: Int) {
        state.withLock { state in
            let taken = Array(state.spans.prefix(count))
            state.spans.removeFirst(taken.count)
            defer { state.dropped = 0 }
            return (taken, state.dropped)
        }
    }
}
