import Synchronization
import Tracing

/// Trace contexts of the requests that made changes, so that later pushes belong to their traces.
///
/// They are kept in memory, up to a limit. A push that leaves after a restart, or very late, begins a trace of its own.
final class ChangeContexts: Sendable {
    struct Change: Hashable, Sendable {
        let app: String
        let activity: String
        let revision: Int64
    }

    private struct State {
        var contexts: [Change: InstrumentationContext] = [:]
        var order: [Change] = []
        var oldest = 0
    }

    private let state = Mutex(State())
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    func keep(_ context: InstrumentationContext, of change: Change) {
        state.withLock { state in
            guard state.contexts.updateValue(context, forKey: change) == nil else { return }
            guard state.order.count >= limit else { return state.order.append(change) }
            state.contexts[state.order[state.oldest]] = nil
            state.order[state.oldest] = change
            state.oldest = (state.oldest + 1) % limit
        }
    }

    func context(of change: Change) -> InstrumentationContext? { state.withLock { $0.contexts[change] } }
}
