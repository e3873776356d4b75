package import APNSModel

/// Broadcast channel of one run of an activity in one environment: what APNs has, and what was sent to it.
///
/// Each method is an event. Four facts about APNs explain the rules:
///
/// - APNs does not deduplicate creations, and its answer alone names the channel. So a creation is stored before it
///   leaves, and after a lost answer the channel is found by listing.
/// - A phone gets no older state after a newer one only by the timestamp. So a `timestamp` that a start or a broadcast
///   may have used is not used again by a broadcast.
/// - Nobody reports that a broadcast arrived. So an end is repeated, and phones compare their state at their next
///   contact.
/// - A deleted id never comes back (Apple, "Sending channel management requests to APNs"). So a channel is deleted only
///   when no phone can show a card of it any more.
package struct ChannelRecord: Sendable, Hashable {
    /// Life of the channel at APNs, as far as the server knows.
    package enum Life: Sendable, Hashable {
        /// Nothing yet: a card needs a channel.
        case wanted
        /// A creation was sent and its answer was lost. APNs may have a channel whose id nobody knows.
        case lost
        /// APNs refused to create one. It is tried again at `retryAt`.
        case refused
        /// The channel exists.
        case open(ChannelID)
    }

    package let key: ChannelKey
    package let app: BundleID
    /// Messages that APNs stores for phones that are offline. They cannot change later.
    package let storage: MessageStoragePolicy
    package var life = Life.wanted
    /// Operation on its way; `nil` if there is none.
    package var flight: ChannelFlight?
    /// Number that grows with each claim. A settlement under an older fence, or after a rescue, changes nothing.
    package var fence: Int64 = 0
    /// `true` once a start named the channel, an app that joins was given it, or a phone reported a card on it.
    package var hasCards = false
    /// Newest revision that all cards of the channel were sent, by a broadcast or by their starts.
    package var sentRevision: Revision = 0
    /// Newest revision that APNs refused through a fault of ours. It is not sent again.
    package var parkedRevision: Revision = 0
    /// Revision of the newest alert that may have arrived.
    package var alertedRevision: Revision = 0
    /// Newest timestamp that a start or a broadcast may have used, in seconds.
    package var timestamp: Int64 = 0
    /// Time of the newest broadcast that may have left.
    package var lastAt: UnixTime?
    package var lastHighAt: UnixTime?
    /// Estimate of what the phones' systems still deliver at high priority. It counts the channel's own broadcasts.
    package var budget: BudgetRecord?
    /// `true` if phones wait for the channel before their cards start, or an app has asked for it. Phones are looked at
    /// when it is ready.
    package var isAwaited = false
    /// Number of accepted ends that carried the newest last state.
    package var ends = 0
    /// Time at which the run was over for the channel; `nil` while it goes on.
    package var overAt: UnixTime?
    /// Consecutive failures.
    package var tries = 0
    package var reason: Reason?
    /// Time before which nothing is tried after a failure.
    package var retryAt: UnixTime?
    /// Time at which a claim looks at the channel; `nil` while it has nothing to do.
    package var dueAt: UnixTime?

    package init(_ key: ChannelKey, app: BundleID, storage: MessageStoragePolicy) {
        self.key = key
        self.app = app
        self.storage = storage
    }

    /// Id of the channel; `nil` unless it exists.
    package var id: ChannelID? { if case .open(let id) = life { id } else { nil } }

    /// The channel as APNs knows it; `nil` unless it exists.
    package var broadcastChannel: BroadcastChannel? {
        id.map { BroadcastChannel(id: $0, bundleID: app, environment: key.environment, policy: storage) }
    }

    package var route: PushRoute { PushRoute(app, key.environment) }

    /// Returns the time before which nothing is tried after a failure; `nil` if it has come.
    ///
    /// A time too far ahead comes from a clock that was ahead, and is ignored.
    package func waitsUntil(at now: UnixTime) -> UnixTime? {
        retryAt.flatMap { now < $0 && $0 <= now + ChannelReconciler.longestRetry ? $0 : nil }
    }

    /// `true` if the open operation has no owner any more: its lease is over, or another process claimed it.
    package func isAbandoned(at now: UnixTime, node: Int64) -> Bool {
        flight.map { $0.leaseUntil <= now || $0.node != node } ?? false
    }
}

/// Key of a channel. Each run of an activity has its own, in each environment.
package struct ChannelKey: Sendable, Hashable, Comparable {
    package let activity: ActivityNumber
    package let environment: APNSEnvironment
    package let run: Int

    package init(_ activity: ActivityNumber, _ environment: APNSEnvironment, run: Int) {
        self.activity = activity
        self.environment = environment
        self.run = run
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.activity, left.run, left.environment.rawValue) < (right.activity, right.run, right.environment.rawValue)
    }
}

/// Write-ahead record of an operation on a channel. It is committed before the operation leaves.
package struct ChannelFlight: Sendable, Hashable {
    package enum Kind: Int, Sendable, CaseIterable { case create = 1, update, end, delete }

    package var kind: Kind
    package var node: Int64
    package var claimedAt: UnixTime
    /// Time after which nobody may send or settle the operation, and a rescue may close it.
    package var leaseUntil: UnixTime
    package var revision: Revision = 0
    /// Timestamp of the broadcast in seconds; 0 for other operations.
    package var timestamp: Int64 = 0
    package var alertRevision: Revision = 0

    package init(_ kind: Kind, node: Int64, claimedAt: UnixTime, leaseUntil: UnixTime) {
        self.kind = kind
        self.node = node
        self.claimedAt = claimedAt
        self.leaseUntil = leaseUntil
    }

    package var isBroadcast: Bool { kind == .update || kind == .end }
}

// MARK: - Events

extension ChannelRecord {
    /// Asks for a look at `time`. After a failure, the look waits for the next try.
    package mutating func look(at time: UnixTime) {
        guard flight == nil else { return }
        let time = max(time, retryAt ?? time)
        dueAt = min(dueAt ?? time, time)
    }

    /// Records the claim of starts on the channel, or that an app was given it to start a card.
    ///
    /// Starts carry the newest state and its alert. Without earlier cards, nobody needs a broadcast of them.
    package mutating func start(_ revision: Revision, timestamp: Int64) {
        if !hasCards {
            sentRevision = max(sentRevision, revision)
            alertedRevision = max(alertedRevision, revision)
        }
        hasCards = true
        self.timestamp = max(self.timestamp, timestamp)
    }

    /// Records that a card waits for the channel before it starts.
    package mutating func await(at now: UnixTime) {
        guard !isAwaited || dueAt == nil else { return }
        isAwaited = true
        look(at: now)
    }

    /// Records that the run is over for the channel.
    package mutating func finishRun(at time: UnixTime) { overAt = overAt ?? time }

    /// Records a phone's report of a card on the channel. Without earlier cards, nobody needs the state that it shows.
    package mutating func seeCard(showing revision: Revision, at now: UnixTime) {
        guard !hasCards else { return }
        hasCards = true
        sentRevision = max(sentRevision, revision)
        // The activity may have changed since the app started the card.
        look(at: now)
    }

    /// Records the claim of an operation.
    package mutating func claim(_ flight: ChannelFlight) {
        self.flight = flight
        fence += 1
        dueAt = flight.leaseUntil
        retryAt = nil
        guard flight.isBroadcast else { return }
        timestamp = max(timestamp, flight.timestamp)
        lastAt = flight.claimedAt
    }

    /// Closes the open operation. Its fate is unknown, because its process is gone or no answer came.
    ///
    /// - Parameter repeatsAlert: `true` if an alert of unknown fate is sent again.
    package mutating func doubt(repeatsAlert: Bool, retryAt time: UnixTime, _ reason: Reason) {
        guard let flight else { return }
        var time = time
        switch flight.kind {
        case .create:
            life = .lost
            // Until then the call may still be on its way, and its channel is in no list.
            time = max(time, flight.leaseUntil)
        case .update, .end: if !repeatsAlert { alertedRevision = max(alertedRevision, flight.alertRevision) }
        case .delete: break
        }
        fail(at: time, reason, counts: true)
    }

    /// Records that the operation did not succeed, and when it is tried again.
    package mutating func fail(at time: UnixTime, _ reason: Reason, counts: Bool) {
        flight = nil
        if counts { tries += 1 }
        self.reason = reason
        retryAt = time
        dueAt = time
    }

    /// Records the id of the channel.
    package mutating func open(_ id: ChannelID) {
        life = .open(id)
        settle()
    }

    /// Records that a creation of unknown fate made no channel.
    package mutating func missCreation() {
        guard case .lost = life else { return }
        life = .wanted
        settle()
    }

    /// Records that APNs creates no channel now.
    package mutating func refuse(_ reason: Reason, retryAt time: UnixTime) {
        life = .refused
        fail(at: time, reason, counts: true)
    }

    /// Records that the operation waits, because its route fails. That is no failure of this channel.
    ///
    /// - Parameter isAutomatic: `true` if cards start with update tokens meanwhile.
    package mutating func hold(until time: UnixTime, _ reason: Reason, isAutomatic: Bool) {
        if id == nil, isAutomatic { life = .refused }
        self.reason = reason
        retryAt = time
        dueAt = time
    }

    /// Records that APNs does not know the channel any more. Its cards cannot be reached, and later cards need another.
    package mutating func disappear() {
        life = .wanted
        hasCards = false
        ends = 0
        settle()
    }

    /// Records that APNs accepted the broadcast.
    package mutating func accept(isHigh: Bool) {
        guard let flight else { return }
        if flight.kind == .end {
            ends = flight.revision > sentRevision || ends == 0 ? 1 : ends + 1
        }
        sentRevision = max(sentRevision, flight.revision)
        alertedRevision = max(alertedRevision, flight.alertRevision)
        if isHigh { lastHighAt = flight.claimedAt }
        settle()
    }

    /// Parks the revision: APNs refuses it through a fault of ours.
    package mutating func park(_ reason: Reason) {
        parkedRevision = max(parkedRevision, flight?.revision ?? 0)
        settle()
        self.reason = reason
    }

    /// Records that the phones which waited are looked at.
    package mutating func callWaiting() { isAwaited = false }

    private mutating func settle() {
        flight = nil
        tries = 0
        reason = nil
        retryAt = nil
    }
}
