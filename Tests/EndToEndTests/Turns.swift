import Synchronization

/// Lets a few tests run whole systems at a time: with a hundred at once on a machine of two cores every wait, also one
/// of the product, is a test of the machine.
final class Turns: Sendable {
    static let ofSystems = Turns(4)
    /// What a system starts inside needs no second one.
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
