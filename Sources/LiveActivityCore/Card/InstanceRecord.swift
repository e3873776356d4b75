package import APNSModel

/// One activity on one device: the unit that is reconciled.
package struct InstanceRecord: Sendable, Hashable {
    /// The states of `docs/architecture.md`.
    package enum State: Int, Sendable, CaseIterable {
        case absent = 0
        case requesting = 1
        case starting = 2
        case unconfirmed = 3
        case live = 4
        case ending = 5
        case ended = 6
        case dismissed = 7
        case gone = 8

        package var name: String { "\(self)" }
        /// No card of this life is expected any more.
        package var isTombstone: Bool { self == .ended || self == .dismissed || self == .gone }
        /// A card is there, or may be.
        package var mayHaveCard: Bool {
            switch self {
            case .starting, .unconfirmed, .live, .ending: true
            case .absent, .requesting, .ended, .dismissed, .gone: false
            }
        }
    }

    package var activity: ActivityNumber
    package var device: DeviceKey
    /// The run of the activity this is about.
    package var run: Int
    package var state: State = .absent
    /// The newest revision APNs accepted for the current token.
    package var sentRevision: Revision = 0
    /// The newest revision the phone itself reported to hold.
    package var shownRevision: Revision = 0
    /// The timestamp of the newest push that may have arrived, or of the phone's own newest update.
    package var timestamp: Int64 = 0
    /// The revision of the newest alert that reached the phone, or may have.
    package var alertedRevision: Revision = 0
    package var tokenGeneration: Int64 = 0
    /// Attempts in a row that this phone alone must repeat.
    package var tries: Int = 0
    /// Not before then: a retry, the end of a lease, the end of a wait.
    package var dueAt: UnixTime?
    /// When a claim is to look at this phone by itself; `nil`: with the next lap of its lane.
    package var lookAt: UnixTime?
    /// A revision APNs refused for a fault of ours: not sent again.
    package var parkedRevision: Revision = 0
    package var localID: LocalID?
    package var createdAt: UnixTime
    package var startedAt: UnixTime?
    /// The expiration of the last start: an inventory sent after it says whether the start failed.
    package var startExpiresAt: UnixTime?
    package var lastHighAt: UnixTime?
    package var last: LastDelivery?
    /// Times that a contact showed an older state than the one sent, for this revision.
    package var contradictions: Int = 0

    package init(activity: ActivityNumber, device: DeviceKey, run: Int, at now: UnixTime) {
        self.activity = activity
        self.device = device
        self.run = run
        createdAt = now
    }

    /// The device belongs to the audience; one that left it has its card ended.
    package var isWanted = true
    /// A push may start the card here; on a person's other devices it is only kept up to date where it is shown.
    package var mayStart = true

    /// An ordinary notification went out in place of a card of this run: what it said is told, up to `alertedRevision`.
    package var hasFallenBack = false
    /// The app changed the card itself, and the phone shows that: what it was based on is `shownRevision`.
    package var isLocalAhead = false
    /// A second card was started before the first one's 8 hours are over, or has just taken its place.
    package var isRenewing = false
    /// The card was ended to make room for another; it does not come back in this run.
    package var isEvicted = false

    /// A phone reported the card on its own word, without belonging to the audience: until then it waits for its person
    /// to be named there, and nothing is told or sent to it. See `CardIntake`.
    package var awaitsUntil: UnixTime?

    /// The number of the phone's newest report that showed this card; 0: its reports have none. An older one, which the
    /// network brings late, says nothing new. Of a start whose card nobody has reported it is the number of the phone's
    /// newest report at the claim: no older one is about that card.
    package var reportSequence: Int64 = 0
    /// When the newest report without a number showed this card. Nothing but the time tells whether an inventory that
    /// lacks the card is older than that.
    package var reportedAt: UnixTime?
    /// Until then the answer to the newest push is awaited, and the same is not sent again; `nil`: it has come.
    package var awaitedUntil: UnixTime?
    /// The timestamp of the push whose answer is awaited and whose alert counts as given until that comes; `nil`: none.
    package var awaitedAlert: Int64?

    /// Where a `requesting` phone stood: its lease leads back there, so that a person's dismissal is not forgotten.
    package var stateBeforeRequest: State = .absent

    /// What the phone holds for all we know.
    package var heldRevision: Revision { max(sentRevision, shownRevision) }

    /// A card that waits for something, its renewal perhaps: then the start token is wanted too.
    package var mayBeRenewed: Bool { state == .live && lookAt != nil && !isRenewing }

    /// A push may start a card here: then the phone's start token, its starts, and its cards are wanted too.
    package func mayBeStarted(in run: Int?) -> Bool { state != .live || mayBeRenewed || self.run != run }

    /// Nothing but its revision says what it needs.
    var isPlain: Bool { !isLocalAhead && !isRenewing && !isEvicted }

    /// A start whose card nobody has reported.
    package var hasOpenStart: Bool { localID == nil && (state == .starting || state == .unconfirmed) }

    /// Nothing but APNs's word about its token says that the card is over: the phone may have it, with another token.
    package var isGoneByTokenAlone: Bool {
        state == .gone && localID != nil && last?.reason.code == .tokenInactive
    }

    /// The same phone at the start of another run: nothing of the old life counts.
    package func renewed(run: Int, at now: UnixTime) -> Self {
        var fresh = Self(activity: activity, device: device, run: run, at: now)
        fresh.tokenGeneration = tokenGeneration
        // The old card's clock binds the new one's only if it were the same card, but going on is never wrong.
        fresh.timestamp = timestamp
        // A minute's one high push is counted for the activity and the phone, whatever card it is.
        fresh.lastHighAt = lastHighAt
        // Revisions go on from run to run, and an alert that was given before its person came is not for them.
        fresh.alertedRevision = alertedRevision
        fresh.isWanted = isWanted
        fresh.mayStart = mayStart
        fresh.awaitsUntil = awaitsUntil
        return fresh
    }
}

/// What the last push to a phone was and what came of it.
package struct LastDelivery: Sendable, Hashable {
    package var kind: PushKind
    package var at: UnixTime
    package var revision: Revision
    /// APNs's status; 0 when there was no answer.
    package var status: Int
    package var reason: Reason

    package init(kind: PushKind, at: UnixTime, revision: Revision, status: Int, reason: Reason) {
        self.kind = kind
        self.at = at
        self.revision = revision
        self.status = status
        self.reason = reason
    }
}

extension InstanceRecord {
    /// No wait is as long that does not follow from a push which is noted in `last`: leases, and answers that are
    /// awaited.
    private static let longestLease = Duration.seconds(600)

    /// Until when this phone waits; `nil`: it does not.
    ///
    /// A push of a time to come was noted by a clock that was ahead and was set back since: what was put off then does
    /// not wait until the clock is there again.
    package func waitsUntil(at now: UnixTime) -> UnixTime? {
        guard let dueAt, now < dueAt else { return nil }
        let horizon = now + Self.longestLease
        if let last, horizon < last.at, horizon < dueAt { return nil }
        return dueAt
    }
}

/// What a push does to a card.
package enum PushKind: Int, Sendable, CaseIterable {
    case start = 1
    case update = 2
    case end = 3

    /// Spelled out: it is asked for once for each push, and reflection is slow.
    package var name: String {
        switch self {
        case .start: "start"
        case .update: "update"
        case .end: "end"
        }
    }
}

/// A card that is over, remembered by its local id for at least 48 hours: news about it never touches a newer one.
package struct TombstoneRecord: Sendable, Hashable {
    package static let lifetime = Duration.seconds(48 * 3600)
    /// So many of a device outlive its next report: each of its calls looks at all of them, and a phone does not have
    /// as many cards in that time.
    package static let maximum = 200

    package var device: DeviceKey
    package var localID: LocalID
    package var activity: ActivityNumber
    /// `live` of a second card that a renewal has not been able to go on with: it is there, and older than whatever is
    /// started after it.
    package var state: InstanceRecord.State
    package var at: UnixTime

    package var isOver: Bool { state != .live }

    package init(
        device: DeviceKey, localID: LocalID, activity: ActivityNumber, state: InstanceRecord.State, at: UnixTime
    ) {
        self.device = device
        self.localID = localID
        self.activity = activity
        self.state = state
        self.at = at
    }
}
