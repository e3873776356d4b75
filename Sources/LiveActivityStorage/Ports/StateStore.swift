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
