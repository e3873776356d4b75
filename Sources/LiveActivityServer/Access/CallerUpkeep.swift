import APNSModel
import LiveActivityStorage
import Logging
import ServiceLifecycle
import Synchronization

/// The last uses of keys that are not stored yet. It merges many uses of a key into one write, so no call waits for it.
final class KeyUses: Sendable {
    /// Minimum time between two writes of a key's last use.
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

/// The time of the last write.
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

/// Background work for calls: fetches keys for people's tokens, and stores the last uses of API keys.
package struct CallerUpkeep: Service {
    /// Interval of the work, and so the longest delay until a key set is fetched that a token needs.
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

    /// Runs until it is stopped, and then stores what is left.
    package func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                // One task for each, so that a slow one does not delay the others.
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

    /// Does the work that is due.
    package func step() async {
        await withDiscardingTaskGroup { group in
            for set in keySets { group.addTask { await set.refresh(time, logger) } }
            await writeUsesIfDue()
        }
    }

    private func writeUsesIfDue() async {
        if lastWrite.isDue(at: time.wall()) { await writeUses() }
    }

    /// Stores the uses since the last write.
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
