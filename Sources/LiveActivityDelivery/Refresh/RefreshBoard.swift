import APNSModel
import LiveActivityCore
import LiveActivityStorage
import Synchronization

/// Thread-safe state of each provider: open runs, health, and the pace of refreshes that nobody waits for.
final class RefreshBoard: Sendable {
    struct Key: Hashable, Comparable {
        let app: BundleID
        let type: String

        init(_ app: BundleID, _ type: String) {
            self.app = app
            self.type = type
        }

        static func < (left: Self, right: Self) -> Bool {
            (left.app.text, left.type) < (right.app.text, right.type)
        }
    }

    private struct Line {
        var open = 0
        var health = ProviderHealth()
        var pace: ProviderPace
    }

    let keys: [Key]
    private let providers: [Key: RefreshService.Provider]
    private let limit: Int
    private let lines: Mutex<[Key: Line]>

    init(_ providers: [RefreshService.Provider], _ limits: RefreshService.Limits, at now: UnixTime) {
        self.providers = Dictionary(
            providers.map { (Key($0.app, $0.type.name), $0) }, uniquingKeysWith: { first, _ in first })
        keys = self.providers.keys.sorted()
        limit = limits.open
        lines = Mutex(
            self.providers.mapValues { _ in Line(pace: ProviderPace(perSecond: limits.perSecond, at: now)) })
    }

    func provider(_ key: Key) -> RefreshService.Provider? { providers[key] }

    var longestDeadline: Duration { providers.values.map(\.deadline).max() ?? .seconds(10) }

    /// Returns the number of refreshes that each provider has room for now.
    func wants(at now: UnixTime) -> [DueRefreshes.Want] {
        lines.withLock { lines in
            keys.compactMap { key in
                guard var line = lines[key] else { return nil }
                let room = line.health.room(open: line.open, limit: limit, at: now)
                let paced = line.pace.allowance(at: now)
                lines[key] = line
                return DueRefreshes.Want(app: key.app, type: key.type, limit: room, paced: min(room, paced))
            }
        }
    }

    /// Returns the time at which a provider can be asked for a due refresh; `nil` if none is due, or if a run must end
    /// first.
    func opens(_ key: Key, _ times: RefreshTimes, at now: UnixTime) -> UnixTime? {
        lines.withLock { lines in
            guard var line = lines[key] else { return nil }
            _ = line.pace.allowance(at: now)
            lines[key] = line
            let paced = times.paced.map { max($0, line.pace.opens(after: now)) }
            guard let due = [times.prompt, paced].compactMap({ $0 }).min() else { return nil }
            if line.health.room(open: line.open, limit: limit, at: now) > 0 { return due }
            guard line.open == 0, let held = line.health.heldUntil else { return nil }
            return max(due, held)
        }
    }

    func began(_ run: RefreshRun) {
        lines.withLock { lines in
            lines[Key(run.app, run.type)]?.open += 1
            if run.pace == .paced { lines[Key(run.app, run.type)]?.pace.spend(1) }
        }
    }

    func ended(_ key: Key) { lines.withLock { $0[key]?.open -= 1 } }

    func succeeded(_ key: Key) -> Bool { lines.withLock { $0[key]?.health.succeeded() ?? false } }

    func failed(_ key: Key, _ user: UserID, at now: UnixTime, dice: Double) -> Bool {
        lines.withLock { $0[key]?.health.failed(user, at: now, dice: dice) ?? false }
    }
}
