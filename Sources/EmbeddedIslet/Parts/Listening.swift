import Synchronization

/// The server's address, for callers that wait until the server listens.
final class Listening: Sendable {
    private struct State {
        var address: String?
        var isOver = false
        var waiters: [CheckedContinuation<String?, Never>] = []
    }

    private let state = Mutex(State())

    var address: String? {
        get async {
            await withCheckedContinuation { continuation in
                let known = state.withLock { state -> String?? in
                    if let address = state.address { return .some(address) }
                    if state.isOver { return .some(nil) }
                    state.waiters.append(continuation)
                    return nil
                }
                if let known { continuation.resume(returning: known) }
            }
        }
    }

    func begin(_ address: String) { tell(address, isOver: false) }
    func end() { tell(nil, isOver: true) }

    private func tell(_ address: String?, isOver: Bool) {
        let waiters = state.withLock { state in
            state.address = state.address ?? address
            state.isOver = isOver
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume(returning: address) }
    }
}
