import APNSModel
import LiveActivityCore
import LiveActivityStorage
import StorageSQL
import StorageSQLite
import Synchronization

/// A store that counts its calls, and fails or delays them on request.
final class WatchedStore: WorkStore {
    struct State {
        var looks = 0
        var claims = 0
        var settlements = 0
        var failures = 0
        var failsClaims = false
        var failsSettlements = false
        /// `true` if commits may claim the work that they make due.
        var claimsAtOnce = false
        var onClaim: (@Sendable () -> Void)?
    }

    let inner: SQLStore
    private let state = Mutex(State())

    init(_ inner: SQLStore) {
        self.inner = inner
    }

    var now: State { state.withLock { $0 } }
    func set(_ change: (inout State) -> Void) { state.withLock { change(&$0) } }

    var wakeUps: AsyncStream<UnixTime> { inner.wakeUps }

    func claimAtOnce(from source: ClaimAtOnce.Source?) {
        guard let source else { return inner.claimAtOnce(from: nil) }
        inner.claimAtOnce(from: { self.now.claimsAtOnce ? source() : nil })
    }

    func nextWork() async throws(StorageError) -> NextWork {
        state.withLock { $0.looks += 1 }
        return try await inner.nextWork()
    }

    func commit<C: Command>(_ command: C) async throws(StorageError) -> Result<C.Reply, Refusal> {
        let (fails, onClaim) = state.withLock { state in
            let fails =
                switch command.rank {
                case .claim, .prune: state.failsClaims
                case .settle: state.failsSettlements
                case .write: false
                }
            state.failures += fails ? 1 : 0
            return (fails, command.rank == .claim ? state.onClaim : nil)
        }
        onClaim?()
        if fails { throw .failed("disk full, as the test says") }
        let reply = try await inner.commit(command)
        state.withLock { state in
            switch command.rank {
            case .claim, .prune: state.claims += 1
            case .settle: state.settlements += 1
            case .write: break
            }
        }
        return reply
    }
}
