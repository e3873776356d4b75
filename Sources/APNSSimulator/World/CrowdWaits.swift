internal import Synchronization

/// The callers that wait for a crowd, by number. The crowd reports the numbers whose wait is over.
final class CrowdWaits: Sendable {
    private struct State {
        var next = 0
        var isFinished = false
        var waiting: [Int: OneShot<Void>] = [:]
    }

    private let state = Mutex(State())

    func open() -> (number: Int, over: OneShot<Void>) {
        let over = OneShot<Void>()
        let (number, isFinished) = state.withLock { state in
            state.next += 1
            if !state.isFinished { state.waiting[state.next] = over }
            return (state.next, state.isFinished)
        }
        if isFinished { over.settle(.failure(Self.stopped)) }
        return (number, over)
    }

    func close(_ number: Int) {
        state.withLock { _ = $0.waiting.removeValue(forKey: number) }
    }

    func settle(_ number: Int, _ result: Result<Void, any Error>) {
        state.withLock { $0.waiting.removeValue(forKey: number) }?.settle(result)
    }

    func finish() {
        let waiting = state.withLock { state in
            defer { state = State(next: state.next, isFinished: true) }
            return Array(state.waiting.values)
        }
        for over in waiting { over.settle(.failure(Self.stopped)) }
    }

    private static let stopped = SimulatorError(.notRunning, "the simulator stopped before the awaited change came")
}
