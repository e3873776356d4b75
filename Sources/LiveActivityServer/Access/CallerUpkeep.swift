import APNSModel
import LiveActivityStorage
import Logging
import ServiceLifecycle
import Synchronization

/// When keys were last used, until it is written down: many uses of a key are one, and no call waits for it.
final class KeyUses: Sendable {
    /// A key's last use is written this often at most.
    static let interval = Duration.seconds(60)

    private let pending = Mutex<[String: UnixTime]>([:])

    func note(_ key: APIKeyRecord, at now: UnixTime) {
        guard key.usedAt.map({ $0 + Self.interval <= now }) ?? true else { return }
        pending.withLock { $0[key.id] = now }
    }

    func take() -> [String: UnixTime] {
        pending.withLock { pending in
            defer { pending = [:] }
            return pending
        }
    }
}

/// When uses were last written down.
private final class LastWrite: Sendable {
    private let time: Mutex<UnixTime>

    init(_ time: UnixTime) { self.time = Mutex(time) }

    func isDue(at now: UnixTime) -> Bool {
        time.withLock { last in
            guard last + KeyUses.interval <= now || now < last else { return false }
            last = now
            return true
        }
    }
}

/// What goes on beside the calls, so that none of them does it: keys for people's tokens are fetched, and the last uses
/// of API keys are written down.
package struct CallerUpkeep: Service {
    /// How soon a key set that a token asks for is fetched.
    static let tick = Duration.seconds(1)

    private let store: any KeyStore
    private let uses: KeyUses
    private let keySets: [KeySet]
    private let time: TimeSource
    private let clock: any Clock<Duration>
    private let logger: Logger
    private let lastWrite: LastWrite

    init(
        store: any KeyStore, uses: KeyUses, keySets: [KeySet], time: TimeSource,
        clock: any Clock<Duration> = ContinuousClock(), logger: Logger
    ) {
        self.store = store
        self.uses = uses
        self.keySets = keySets
        self.time = time
        self.clock = clock
        self.logger = logger
        lastWrite = LastWrite(time.wall())
    }

    /// Until it is stopped; what is not written down then is written at the end.
    package func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                // Each by itself: where one is slow, the others are not.
                for set in keySets { group.addTask { await repeatedly { await set.refresh(time, logger) } } }
                group.addTask { await repeatedly { await writeUsesIfDue() } }
            }
        }
        await writeUses()
    }

    private func repeatedly(_ work: @Sendable () async -> Void) async {
        while !Task.isCancelled {
            await work()
            try? await clock.sleep(for: Self.tick)
        }
    }

    /// Does what is due.
    package func step() async {
        await withDiscardingTaskGroup { group in
            for set in keySets { group.addTask { await set.refresh(time, logger) } }
            await writeUsesIfDue()
        }
    }

    private func writeUsesIfDue() async {
        if lastWrite.isDue(at: time.wall()) { await writeUses() }
    }

    /// Writes down what was used since the last time.
    package func writeUses() async {
        let uses = uses.take()
        guard !uses.isEmpty else { return }
        do throws(StorageError) {
            try await store.noteUses(uses)
        } catch {
            logger.warning("the last uses of keys could not be written down", metadata: ["error": "\(error)"])
        }
    }
}
