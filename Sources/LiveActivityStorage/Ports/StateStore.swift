package import APNSModel
package import LiveActivityCore

/// Store for changes. A change is durable when its call returns.
package protocol StateStore: Sendable {
    /// Runs a command in a transaction. When this returns, the change survives a crash.
    ///
    /// - Returns: The command's reply, or its refusal, which changes nothing.
    /// - Throws: `StorageError`. After `.commitUnknown`, the change may have been made; repeating the command is safe.
    func commit<C: Command>(_ command: C) async throws(StorageError) -> Result<C.Reply, Refusal>
}

/// Store that announces due work, so that nobody has to poll.
package protocol WorkStore: StateStore {
    /// Element after each commit that made work due: the time at which it is due. Several commits may cause one element
    /// with the earliest of their times. Claims of their reader cause none. Each read makes a stream of its own, which
    /// begins then.
    var wakeUps: AsyncStream<UnixTime> { get }
    /// Returns the earliest times for which work waits.
    func nextWork() async throws(StorageError) -> NextWork
    /// Sets the source of claims that commits make of the work which they make due; `nil` for none.
    ///
    /// A store may also ignore it. What is not claimed at once is announced by `wakeUps`.
    func claimAtOnce(from source: ClaimAtOnce.Source?)
}

extension WorkStore {
    package func claimAtOnce(from source: ClaimAtOnce.Source?) {}

    /// Returns the earliest time for which a lane waits; `nil` if every lane sleeps.
    package func nextWakeAt() async throws(StorageError) -> UnixTime? { try await nextWork().lane }
    /// Returns the earliest time for which an ordinary notification waits; `nil` if there are none.
    package func nextNotificationAt() async throws(StorageError) -> UnixTime? { try await nextWork().notification }
}

/// Store that announces due computations, so that nobody has to poll.
package protocol RefreshStore: StateStore {
    /// Element after each commit that made a computation due. Several commits may cause one element. Each read makes a
    /// stream of its own, which begins then.
    var refreshWakeUps: AsyncStream<Void> { get }
    /// Returns when a type's next computations are due: those that somebody waits for, and the others.
    func refreshTimes(of app: BundleID, _ type: String) async throws(StorageError) -> RefreshTimes
}

/// Store that announces due operations on broadcast channels, so that nobody has to poll.
package protocol ChannelStore: StateStore {
    /// Element after each commit that made an operation due, now or later. Several commits may cause one element. Each
    /// read makes a stream of its own, which begins then.
    var channelWakeUps: AsyncStream<Void> { get }
    /// Returns the earliest time at which an operation is due; `nil` if there is none.
    func nextChannelAt() async throws(StorageError) -> UnixTime?
}

/// Earliest due times of a type's computations; `nil` if there are none.
package struct RefreshTimes: Sendable, Equatable {
    package var prompt: UnixTime?
    package var paced: UnixTime?

    package init(prompt: UnixTime? = nil, paced: UnixTime? = nil) {
        self.prompt = prompt
        self.paced = paced
    }
}

extension AsyncStream<UnixTime> {
    /// Creates a stream of times at which work is due.
    package static func wakeUps() -> (stream: Self, continuation: Continuation) {
        makeStream(bufferingPolicy: .bufferingNewest(1))
    }
}

extension AsyncStream<UnixTime>.Continuation {
    /// Announces work that is due at a time. Of the times that the consumer has not taken yet, the earliest remains.
    package func announce(_ time: UnixTime) {
        var earliest = time
        while case .dropped(let other) = yield(earliest), other < earliest { earliest = other }
    }
}
