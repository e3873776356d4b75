import Synchronization

/// The streams that commits wake.
///
/// A stream ends with its reader's task. A further reader, such as the next configuration's, gets another stream.
final class Subscribers<Element: Sendable>: Sendable {
    private struct State {
        var streams: [Int: AsyncStream<Element>.Continuation] = [:]
        var last = 0
        var isOver = false
    }

    private let state = Mutex(State())

    /// Returns a stream of what happens from now on.
    func stream() -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: .bufferingNewest(1))
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

    func wake(_ body: (AsyncStream<Element>.Continuation) -> Void) {
        for stream in state.withLock({ Array($0.streams.values) }) { body(stream) }
    }

    func finish() {
        let streams = state.withLock { state in
            state.isOver = true
            return Array(state.streams.values)
        }
        for stream in streams { stream.finish() }
    }
}

extension Subscribers<Void> {
    func wake() { wake { $0.yield() } }
}
