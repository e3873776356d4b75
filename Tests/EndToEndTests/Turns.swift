import Synchronization

/// Limits the number of tests that run whole systems at a time. With a hundred at once on a machine with two cores,
/// every wait would test the machine instead of the product.
final class Turns: Sendable {
    static let ofSystems = Turns(4)
    /// A system that is started inside another needs no second turn.
    @TaskLocal private static var isTaken = false

    private struct State {
        var free: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    init(_ count: Int) {
        state = Mutex(State(free: count))
    }

    func take<Value: Sendable>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Value
    ) async rethrows -> Value {
        if Self.isTaken { return try await body() }
        await begin()
        defer { end() }
        return try await Self.$isTaken.withValue(true, operation: body)
    }

    private func begin() async {
        await withCheckedContinuation { continuation in
            let goes = state.withLock { state in
                guard state.free == 0 else {
                    state.free -= 1
                    return true
                }
                state.waiting.append(continuation)
                return false
            }
            if goes { continuation.resume() }
        }
    }

    private func end() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.free += 1
            return nil
        }
        next?.resume()
    }
}
