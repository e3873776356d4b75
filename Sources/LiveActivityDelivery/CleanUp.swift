package import APNSModel
package import LiveActivityCore
package import LiveActivityStorage
package import Logging
import Synchronization

/// The work of one round of the pruner, a page at a time: ends idle activities and erases what is no longer needed.
package final class CleanUp: Sendable {
    /// Number of activities that one page reads.
    static let page = 500

    private let store: any StateStore & AdminStore
    private let apps: [BundleID: AppSettings]
    private let limits: PruneLimits
    private let logger: Logger
    /// Position among the running activities in this round.
    private let position = Mutex<RunningActivity?>(nil)

    package init(
        store: any StateStore & AdminStore, apps: [AppSettings], limits: PruneLimits = PruneLimits(), logger: Logger
    ) {
        self.store = store
        self.apps = Dictionary(apps.map { ($0.bundleID, $0) }, uniquingKeysWith: { first, _ in first })
        self.limits = limits
        self.logger = logger
    }

    /// Handles one page.
    ///
    /// - Returns: `true` if there may be more.
    package func page(at now: UnixTime) async throws(StorageError) -> Bool {
        let hasMoreIdle = try await endIdle(at: now)
        let hasMore = try await store.prune(limits, at: now)
        return hasMoreIdle || hasMore
    }

    /// Ends idle activities. Each end is its own command, so it is decided on the state at its commit.
    private func endIdle(at now: UnixTime) async throws(StorageError) -> Bool {
        let configured = apps.values.flatMap(\.types.values).map(\.policy)
        let shortest = (configured + [TypePolicy()]).compactMap(\.endAfter).min() ?? .zero
        let found = try await store.running(
            since: now - shortest, after: position.withLock(\.self), limit: Self.page)
        let ends = found.compactMap { activity -> EndIdleActivity? in
            let policy = apps[activity.app]?.types[activity.type]?.policy ?? TypePolicy()
            guard let endAfter = policy.endAfter, activity.acceptedAt + endAfter <= now else { return nil }
            let app =
                apps[activity.app] ?? AppSettings(bundleID: activity.app, types: [], environments: [])
            return EndIdleActivity(app: app, id: activity.id, endAfter: endAfter, now: now)
        }
        let ended = try await commit(ends)
        if ended > 0 { logger.notice("idle activities were ended", metadata: ["count": "\(ended)"]) }
        let next = found.count < Self.page ? nil : found.last
        position.withLock { $0 = next }
        return next != nil
    }

    /// Commits the ends concurrently, so that they share commits.
    private func commit(_ ends: [EndIdleActivity]) async throws(StorageError) -> Int {
        let results = await withTaskGroup(of: Result<Bool, StorageError>.self) { group in
            for end in ends {
                group.addTask { [store] in
                    do throws(StorageError) {
                        return .success(try await store.commit(end) == .success(true))
                    } catch {
                        return .failure(error)
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        var ended = 0
        for result in results where try result.get() { ended += 1 }
        return ended
    }
}
