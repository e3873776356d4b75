package import APNSModel
package import LiveActivityCore

/// Where changes are made: durable when the call returns.
package protocol StateStore: Sendable {
    /// Runs a command in a transaction that survives a crash from the moment this returns.
    ///
    /// - Returns: The command's reply, or why it was refused, in which case nothing was changed.
    /// - Throws: `StorageError`. After `.commitUnknown` the change may or may not stand; repeating it is safe.
    func commit<C: Command>(_ command: C) async throws(StorageError) -> Result<C.Reply, Refusal>
}

/// How work is found without polling.
package protocol WorkStore: StateStore {
    /// An element after each commit that made work due; many collapse into one. For one consumer, whose own claims
    /// raise none.
    var wakeUps: AsyncStream<Void> { get }
    /// The earliest instant that a lane waits for; `nil` when all sleep.
    func nextWakeAt() async throws(StorageError) -> UnixTime?
    /// The same of ordinary notifications; `nil` when there are none.
    func nextNotificationAt() async throws(StorageError) -> UnixTime?
}

/// How computations that are due are found without polling.
package protocol RefreshStore: StateStore {
    /// An element after each commit that made a computation due; many collapse into one. For one consumer.
    var refreshWakeUps: AsyncStream<Void> { get }
    /// When a type's computations are due next: those that somebody waits for, and the others.
    func refreshTimes(of app: BundleID, _ type: String) async throws(StorageError) -> RefreshTimes
}

/// The earliest instants of a type's computations; `nil`: there is none.
package struct RefreshTimes: Sendable, Equatable {
    package var prompt: UnixTime?
    package var paced: UnixTime?

    package init(prompt: UnixTime? = nil, paced: UnixTime? = nil) {
        self.prompt = prompt
        self.paced = paced
    }
}

/// What can be asked without changing anything.
package protocol ReadStore: Sendable {
    func activity(_ app: BundleID, _ id: ActivityID) async throws(StorageError) -> ActivityState?
    /// The phones of an activity in the order of their keys, from the one after `after`, at most `limit`.
    func phones(
        of activity: ActivityNumber, after: DeviceKey, limit: Int
    ) async throws(StorageError) -> [PhoneSituation]
    /// Rows of an activity's timeline, oldest first, from the one after `after`, at most `limit`.
    func history(
        of activity: ActivityNumber, after: Int64, limit: Int
    ) async throws(StorageError) -> [(sequence: Int64, record: HistoryRecord)]
    /// What a device should show, and what it is thought to hold; empty for an unknown device.
    func activities(
        on device: DeviceID, of app: BundleID
    ) async throws(StorageError) -> [(state: ActivityState, card: CardMachine)]
    /// An app's activities in the order of their numbers, or the other way round. A page may be shorter than its limit,
    /// or empty, and still not be the last: how far one call looks is limited.
    func activities(of app: BundleID, _ filter: ActivityFilter) async throws(StorageError) -> ActivityPage
    /// Runs a command on what stands now, keeps nothing of it, and tells what would stand then of an activity and of
    /// two stretches of its phones.
    func preview<C: Command>(
        _ command: C, of activity: ActivityID, in app: BundleID, phones: [PhoneStretch]
    ) async throws(StorageError) -> Result<Preview<C.Reply>, Refusal>
    /// Rows of an activity's timeline, the newest first, at most `limit`.
    func latestHistory(of activity: ActivityNumber, limit: Int) async throws(StorageError) -> [HistoryRecord]
    /// An app's activities of a type of which something happened from an instant on and before another, those with the
    /// newest row of a timeline first, at most `limit`. Of a long stretch only its newest rows are looked at.
    func activities(
        of app: BundleID, _ type: String, from: UnixTime, before: UnixTime, limit: Int
    ) async throws(StorageError) -> RecentActivities
    /// What a command with these keys would see, at one instant.
    func snapshot(of keys: [SnapshotKey]) async throws(StorageError) -> Snapshot
    /// What stands of a person's computations, by type.
    func refreshes(of user: UserID, in app: BundleID) async throws(StorageError) -> [RefreshRecord]
    /// People of an app that have a device, in the order of their numbers, from the one after `after`, at most `limit`.
    func people(
        of app: BundleID, after: UserNumber, limit: Int
    ) async throws(StorageError) -> [(number: UserNumber, id: UserID)]
    /// Which of these devices have a token that starts cards of a type, and which one for ordinary notifications; dead
    /// ones do not count.
    func tokenHolders(
        among devices: [DeviceKey], starting type: String
    ) async throws(StorageError) -> TokenHolders
    /// The ids of devices by their keys.
    func deviceIDs(_ keys: [DeviceKey]) async throws(StorageError) -> [DeviceKey: DeviceID]
}

/// What callers prove themselves with: API keys, and the credentials of phones.
package protocol KeyStore: Sendable {
    func insertKey(_ key: APIKeyRecord) async throws(StorageError)
    func key(_ id: String) async throws(StorageError) -> APIKeyRecord?
    func keys() async throws(StorageError) -> [APIKeyRecord]
    /// `false` when there is no such key, or it was revoked before.
    func revokeKey(_ id: String, at time: UnixTime) async throws(StorageError) -> Bool
    /// Writes down when keys were last used, all in one commit; an older use changes nothing.
    func noteUses(_ uses: [String: UnixTime]) async throws(StorageError)
    /// Erases the keys that were revoked or expired before that. - Returns: How many.
    func eraseKeys(overBefore time: UnixTime) async throws(StorageError) -> Int
    /// A device by its key; `nil` where there is none.
    func device(_ key: DeviceKey) async throws(StorageError) -> DeviceRecord?
}

/// The store's own health, and what it clears away.
package protocol AdminStore: Sendable {
    /// Reads a row, so that readiness says something.
    func check() async throws(StorageError)
    /// Erases one page of what is older than it is kept, what was written first before what came later.
    ///
    /// - Returns: `true` when there may be more.
    func prune(_ limits: PruneLimits, at now: UnixTime) async throws(StorageError) -> Bool
    /// Active activities whose run began before that, in the order in which they began, at most `limit`.
    func running(
        since time: UnixTime, after: RunningActivity?, limit: Int
    ) async throws(StorageError) -> [RunningActivity]
    /// What the store has done since it was opened, and what waits.
    func statistics() async throws(StorageError) -> StoreStatistics
    /// Told without the database, which may be what fails.
    var health: StoreHealth { get }
    /// What is due, and what waits for phones.
    func backlog(at now: UnixTime) async throws(StorageError) -> Backlog
    /// How many devices there are of each app, signed out ones included: takes longer the more there are.
    func deviceCounts() async throws(StorageError) -> [BundleID: Int]
}

/// What is due and not claimed, and starts that no phone has reported. Counted up to `most`.
package struct Backlog: Sendable, Equatable {
    package static let most = 100_000

    /// Activities' lanes with something to do.
    package var lanes = 0
    package var notifications = 0
    /// Starts that APNs took, or may have, whose cards no phone has reported.
    package var openStarts = 0

    package init() {}
}

/// An activity that may have been forgotten.
package struct RunningActivity: Sendable, Equatable {
    package var number: ActivityNumber
    package var app: BundleID
    package var id: ActivityID
    package var type: String
    package var runStartedAt: UnixTime
    package var acceptedAt: UnixTime

    package init(
        number: ActivityNumber, app: BundleID, id: ActivityID, type: String, runStartedAt: UnixTime,
        acceptedAt: UnixTime
    ) {
        self.number = number
        self.app = app
        self.id = id
        self.type = type
        self.runStartedAt = runStartedAt
        self.acceptedAt = acceptedAt
    }
}

/// How long what is kept is kept.
package struct PruneLimits: Sendable, Equatable {
    /// Timelines: by age or by the size of all, whichever comes first, by whole rows. The app with most loses first.
    package var history = Duration.seconds(7 * 24 * 3600)
    package var historyBytes = 10 << 30
    package var tombstones = TombstoneRecord.lifetime
    package var idempotencyKeys = IdempotencyRecord.lifetime
    /// Activities, from their end on.
    package var ended = Duration.seconds(30 * 86_400)
    /// Devices whose person signed out, from then on.
    package var signedOut = Duration.seconds(30 * 86_400)
    /// Devices that were not heard of.
    package var silent = Duration.seconds(365 * 86_400)
    /// Update tokens, from the end of what they belong to: iOS ends a card after 8 hours and takes it away after 12.
    package var endedTokens = Duration.seconds(12 * 3600)
    /// That a token's value is dead.
    package var deadTokens = Duration.seconds(90 * 86_400)
    /// Whose a token's value was that nothing holds any more.
    package var releasedTokens = TokenOwnerRecord.keptFor
    /// Activities that only a phone has spoken of.
    package var announced = Duration.seconds(48 * 3600)
    /// Events: by age or by the number of all, whichever comes first. The app with most loses first.
    package var events = Duration.seconds(7 * 86_400)
    package var eventCount = 1_000_000
    /// Rows of each kind that one call erases at most.
    package var rows = 1000

    package init() {}
}

/// What a store has done since it was opened: totals that only grow, and what waits now.
package struct StoreStatistics: Sendable, Equatable {
    package var commits = 0
    /// Commands of committed transactions.
    package var commands: [CommandRank: Int] = [:]
    package var groupSizes = BucketCounts(bounds: Metric.storeGroupSize.bounds)
    package var commitSeconds = BucketCounts(bounds: Metric.storeCommitSeconds.bounds)
    /// Commands that are not in a transaction yet.
    package var waiting = 0
    package var statements = 0
    package var rowsWritten = 0
    package var bytesWritten = 0
    /// Rows of due work that could not be read, and tokens that did not open, each time that they were met.
    package var damagedRows = 0
    /// Rows that clean-up erased, by table.
    package var erased: [String: Int] = [:]
    /// What committed commands counted.
    package var tally = Tally()
    /// The earliest instant at which a lane is to be looked at; may lie ahead.
    package var earliestDue: UnixTime?

    package init() {}
}

/// An activity as it stands.
package struct ActivityState: Sendable, Equatable {
    package var record: ActivityRecord
    package var content: ContentRecord?
    package var lanes: [LaneRecord]

    package init(record: ActivityRecord, content: ContentRecord?, lanes: [LaneRecord]) {
        self.record = record
        self.content = content
        self.lanes = lanes
    }

    /// How many phones it is on, by where they are in their life.
    package var counts: LaneCounts { lanes.reduce(into: LaneCounts()) { $0 += $1.counts } }
    package var phones: Int { counts.total }

    /// How many phones the newest change has come around to, by estimate; `nil`: to all of them.
    package var reached: Int? {
        guard lanes.contains(where: { $0.progress(in: record.lap) < 1 }) else { return nil }
        return lanes.reduce(0) { $0 + Int(Double($1.counts.total) * $1.progress(in: record.lap)) }
    }
}

/// Which activities to list.
package struct ActivityFilter: Sendable, Equatable {
    /// The most activities one call looks at, whether they fit or not.
    package static let maximumExamined = 10_000

    package var type: String?
    package var phase: ActivityRecord.Phase?
    /// Whose audience they have this person in.
    package var user: UserID?
    /// Those that were made last come first.
    package var isNewestFirst = false
    /// The page begins behind this one, in the order of the list; `nil`: with its first.
    package var after: ActivityNumber?
    package var limit: Int

    package init(limit: Int) { self.limit = limit }
}

/// One page of a list of activities.
package struct ActivityPage: Sendable, Equatable {
    package struct Row: Sendable, Equatable {
        package var record: ActivityRecord
        /// How many phones it is on.
        package var phones: Int

        package init(record: ActivityRecord, phones: Int) {
            self.record = record
            self.phones = phones
        }
    }

    package var rows: [Row]
    /// Where the next page begins; `nil`: this is the last.
    package var next: ActivityNumber?

    package init(rows: [Row], next: ActivityNumber?) {
        self.rows = rows
        self.next = next
    }
}

/// Devices that have tokens.
package struct TokenHolders: Sendable, Equatable {
    package var pushToStart: Set<DeviceKey> = []
    package var device: Set<DeviceKey> = []

    package init() {}
}

/// Activities of which something happened.
package struct RecentActivities: Sendable, Equatable {
    /// The rows of timelines that are looked at.
    package static let maximumRows = 200_000

    package var ids: [ActivityID]
    /// There are others.
    package var hasMore: Bool

    package init(ids: [ActivityID], hasMore: Bool) {
        self.ids = ids
        self.hasMore = hasMore
    }
}

/// So many phones of an activity, from the one after `after`.
package struct PhoneStretch: Sendable, Equatable {
    package var after: DeviceKey
    package var limit: Int

    package init(after: DeviceKey, limit: Int) {
        self.after = after
        self.limit = limit
    }
}

/// What a command would do.
package struct Preview<Reply: Sendable>: Sendable {
    package var reply: Reply
    /// The activity as it would stand.
    package var state: ActivityState
    /// The phones of each stretch as they would stand.
    package var phones: [[PhoneSituation]]

    package init(reply: Reply, state: ActivityState, phones: [[PhoneSituation]]) {
        self.reply = reply
        self.state = state
        self.phones = phones
    }
}

/// An API key as it is kept: never the key itself.
package struct APIKeyRecord: Sendable, Equatable {
    package enum Scope: String, Sendable, CaseIterable { case backend, device, read, admin }

    /// The public half, by which it is found and listed.
    package var id: String
    package var app: BundleID
    package var scope: Scope
    /// What its maker calls it, for people.
    package var name: String?
    /// SHA-256 of the secret half. The secret has 256 random bits, so that a slow hash would add nothing.
    package var secretHash: [UInt8]
    package var createdAt: UnixTime
    /// From then on it is not taken any more; `nil`: it has no end.
    package var expiresAt: UnixTime?
    /// When it was last used, up to two minutes before; `nil`: never.
    package var usedAt: UnixTime?
    package var revokedAt: UnixTime?

    package init(id: String, app: BundleID, scope: Scope, secretHash: [UInt8], createdAt: UnixTime) {
        self.id = id
        self.app = app
        self.scope = scope
        self.secretHash = secretHash
        self.createdAt = createdAt
    }

    package enum Standing: String, Sendable, CaseIterable { case valid, expired, revoked }

    package func standing(at now: UnixTime) -> Standing {
        if revokedAt != nil { return .revoked }
        return expiresAt.map { $0 <= now } ?? false ? .expired : .valid
    }
}

/// Why the store could not do its work.
package enum StorageError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The database cannot be opened, and what to do about it.
    case cannotOpen(String)
    /// Another process has it.
    case inUse(path: String)
    /// Its tokens cannot be sealed or opened.
    case tokenKeys(TokenKeyProblem)
    /// Nothing was changed.
    case failed(String)
    /// The commit was on its way when it failed: it may stand. Repeating is safe.
    case commitUnknown(String)
    /// More commands wait than the queue holds; nothing was changed.
    case overloaded
    /// The store is closed.
    case closed

    package var description: String {
        switch self {
        case .cannotOpen(let detail): "the database cannot be opened: \(detail)"
        case .inUse(let path): "the database \(path) is in use by another process: stop it, or name another file"
        case .tokenKeys(let problem): problem.description
        case .failed(let detail): "the database failed, nothing was changed: \(detail)"
        case .commitUnknown(let detail): "the database failed while committing, the change may stand: \(detail)"
        case .overloaded: "too many changes are waiting to be written: try again in a moment"
        case .closed: "the store is closed"
        }
    }
}
