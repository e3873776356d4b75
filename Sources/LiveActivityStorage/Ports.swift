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
    /// An element after each commit that made work due; many collapse into one. For one consumer.
    var wakeUps: AsyncStream<Void> { get }
    /// The earliest instant that a lane waits for; `nil` when all sleep.
    func nextWakeAt() async throws(StorageError) -> UnixTime?
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
    ) async throws(StorageError) -> [(state: ActivityState, instance: InstanceRecord)]
    /// The ids of devices by their keys.
    func deviceIDs(_ keys: [DeviceKey]) async throws(StorageError) -> [DeviceKey: DeviceID]
}

/// API keys, and the store's own health.
package protocol AdminStore: Sendable {
    func insertKey(_ key: APIKeyRecord) async throws(StorageError)
    func key(_ id: String) async throws(StorageError) -> APIKeyRecord?
    func keys() async throws(StorageError) -> [APIKeyRecord]
    /// `false` when no such key is valid.
    func revokeKey(_ id: String, at time: UnixTime) async throws(StorageError) -> Bool
    /// Reads a row, so that readiness says something.
    func check() async throws(StorageError)
}

/// An activity as it stands.
package struct ActivityState: Sendable, Equatable {
    package var record: ActivityRecord
    package var content: ContentRecord?
    package var lane: LaneRecord?
    /// How many phones it is on; 0 where the question was about one device, and nobody counted.
    package var phones: Int

    package init(record: ActivityRecord, content: ContentRecord?, lane: LaneRecord?, phones: Int) {
        self.record = record
        self.content = content
        self.lane = lane
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
    /// SHA-256 of the secret half. The secret has 256 random bits, so that a slow hash would add nothing.
    package var secretHash: [UInt8]
    package var createdAt: UnixTime
    package var revokedAt: UnixTime?

    package init(id: String, app: BundleID, scope: Scope, secretHash: [UInt8], createdAt: UnixTime) {
        self.id = id
        self.app = app
        self.scope = scope
        self.secretHash = secretHash
        self.createdAt = createdAt
    }
}

/// Why the store could not do its work.
package enum StorageError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The database cannot be opened, and what to do about it.
    case cannotOpen(String)
    /// Another process has it.
    case inUse(path: String)
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
        case .failed(let detail): "the database failed, nothing was changed: \(detail)"
        case .commitUnknown(let detail): "the database failed while committing, the change may stand: \(detail)"
        case .overloaded: "too many changes are waiting to be written: try again in a moment"
        case .closed: "the store is closed"
        }
    }
}
