import APNSModel
import LiveActivityCore
import LiveActivityStorage
import StorageSQL
import Synchronization

/// A store that counts what a service commits, when it begins to.
///
/// The store's own statistics count a transaction after its rows can be read, so a test that waits for a row may read
/// them too early.
final class CountedStore: RefreshStore, ChannelStore {
    private struct State {
        var begun = 0
        var ended = 0
        var claims = 0
        /// Number of commits before the last look that found nothing due; `nil` if it found something.
        var lookedAfter: Int?
    }

    private let inner: SQLStore
    private let time: @Sendable () -> UnixTime
    private let stuckSince: Duration?
    private let state = Mutex(State())

    /// - Parameter stuckSince: Time for which a computation has been due that no claim changes; `nil` for none.
    init(_ inner: SQLStore, _ time: @escaping @Sendable () -> UnixTime, stuckSince: Duration? = nil) {
        self.inner = inner
        self.time = time
        self.stuckSince = stuckSince
    }

    /// Number of commits that the service has begun.
    var commits: Int { state.withLock(\.begun) }
    /// Number of claims among them.
    var claims: Int { state.withLock(\.claims) }
    /// Indicates whether all commits have ended and a look after them found nothing due, so that the service sleeps.
    var isIdle: Bool { state.withLock { $0.ended == $0.begun && $0.lookedAfter == $0.begun } }

    var refreshWakeUps: AsyncStream<Void> { inner.refreshWakeUps }
    var channelWakeUps: AsyncStream<Void> { inner.channelWakeUps }

    func refreshTimes(of app: BundleID, _ type: String) async throws(StorageError) -> RefreshTimes {
        if let stuckSince { return RefreshTimes(prompt: time() - stuckSince) }
        let before = ended
        let times = try await inner.refreshTimes(of: app, type)
        look(after: before, [times.prompt, times.paced])
        return times
    }

    func nextChannelAt() async throws(StorageError) -> UnixTime? {
        let before = ended
        let next = try await inner.nextChannelAt()
        look(after: before, [next])
        return next
    }

    func commit<C: Command>(_ command: C) async throws(StorageError) -> Result<C.Reply, Refusal> {
        state.withLock { state in
            state.begun += 1
            if command.rank == .claim { state.claims += 1 }
        }
        defer { state.withLock { $0.ended += 1 } }
        return try await inner.commit(command)
    }

    private var ended: Int { state.withLock(\.ended) }

    private func look(after commits: Int, _ due: [UnixTime?]) {
        let isDue = due.contains { $0.map { $0 <= time() } ?? false }
        state.withLock { $0.lookedAfter = isDue ? nil : commits }
    }
}
