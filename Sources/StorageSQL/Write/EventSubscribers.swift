import Synchronization

/// The streams that are woken after a commit with events.
final class EventSubscribers: Sendable {
    private struct State {
        var streams: [Int: AsyncStream<Void>.Continuation] = [:]
        var last = 0
        var isOver = false
    }

    private let state = Mutex(State())

    func stream() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state -> Int? in
            guard !state.isOver else { return nil }
            state.last += 1
            state.streams[state.last] = continuation
            return state.last
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in self?.state.withLock { $0.streams[number] = nil } }
        return stream
    }

    func wake() {
        for stream in state.withLock({ Array($0.streams.values) }) { stream.yield() }
    }

    func finish() {
        let streams = state.withLock { state in
            state.isOver = true
            return Array(state.streams.values)
        }
        for stream in streams { stream.finish() }
    }
}
