import APNSModel
import LiveActivityCore
import LiveActivityStorage
import StorageSQL
import StorageSQLite
import Synchronization

/// A store that reports a number of settled pushes and holds claims back on request.
final class HeldStore: WorkStore {
    private struct State {
        var accepted = 0
        var goal: (count: Int, waiter: CheckedContinuation<Void, Never>)?
        var holdsClaims = false
        var held: [CheckedContinuation<Void, Never>] = []
    }

    let inner: SQLStore
    private let state = Mutex(State())

    init(_ inner: SQLStore) {
        self.inner = inner
    }

    var wakeUps: AsyncStream<UnixTime> { inner.wakeUps }
    func nextWork() async throws(StorageError) -> NextWork { try await inner.nextWork() }

    func commit<C: Command>(_ command: C) async throws(StorageError) -> Result<C.Reply, Refusal> {
        if command.rank == .claim { await letClaim() }
        let result = try await inner.commit(command)
        if case .success(let reply) = result, let settled = reply as? SettleFlight.Reply {
            let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
                state.accepted += settled.accepted
                guard let goal = state.goal, state.accepted >= goal.count else { return nil }
                state.goal = nil
                return goal.waiter
            }
            waiter?.resume()
        }
        return result
    }

    /// Returns once this many pushes were accepted and stored, counted from the beginning. Only one task may call it.
    func accepted(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.accepted >= count { return true }
                state.goal = (count, continuation)
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    func holdClaims() { state.withLock { $0.holdsClaims = true } }

    func releaseClaims() {
        let held = state.withLock { state in
            state.holdsClaims = false
            defer { state.held = [] }
            return state.held
        }
        for one in held { one.resume() }
    }

    private func letClaim() async {
        await withCheckedContinuation { continuation in
            let isHeld = state.withLock { state in
                if state.holdsClaims { state.held.append(continuation) }
                return state.holdsClaims
            }
            if !isHeld { continuation.resume() }
        }
    }
}

/// An APNs that accepts everything at once and costs nothing.
struct AcceptingSender: PushSender {
    func submit(_ pushes: [Push], completion: @escaping @Sendable (Int, Result<PushAnswer, PushFailure>) -> Void) {
        for index in pushes.indices { completion(index, .success(PushAnswer(status: 200))) }
    }

    func send(_ push: Push) async throws(PushFailure) -> PushAnswer { PushAnswer(status: 200) }
}
