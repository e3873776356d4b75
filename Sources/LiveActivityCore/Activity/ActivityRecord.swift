package import APNSModel
package import JSONText

/// What should be shown: one row, whoever watches.
package struct ActivityRecord: Sendable, Hashable {
    package enum Phase: String, Sendable, CaseIterable, Codable {
        /// A phone reported a card of it before the backend spoke of it: there is nothing to show yet.
        case announced
        case active
        case ended
    }
    /// Which devices of a person a card is started on.
    package enum DeviceSelection: Sendable, Hashable {
        case lastActive
        case all
        case only(Set<DeviceID>)
        /// It is this device's alone: no other of its person's has anything to do with it.
        case one(DeviceID)
    }
    /// The priority its writer asked for; `auto` leaves it to the policy.
    package enum PriorityWish: String, Sendable, CaseIterable { case auto, low, high }
    /// Who may make the card appear.
    package enum StartMode: String, Sendable, CaseIterable { case ifPossible, appOnly, never }
    /// Whether a card comes back after the person swiped it away or it vanished.
    package enum Restart: String, Sendable, CaseIterable { case never, onAlert, always }

    package var number: ActivityNumber
    package var app: BundleID
    package var id: ActivityID
    package var type: String
    package var phase: Phase = .active
    /// Counts the lives of this activity from 1; reopening begins the next.
    package var run: Int = 1
    package var runStartedAt: UnixTime
    package var revision: Revision = 0
    package var priority: PriorityWish = .auto
    package var relevance: Double?
    package var staleAt: UnixTime?
    package var staleAfter: Duration?
    package var start: StartMode = .ifPossible
    package var devices: DeviceSelection = .lastActive
    package var restart: Restart = .never
    package var alert: AlertRecord?
    /// What an ordinary notification says where the card cannot be shown, a template; `nil`: what the type says.
    package var fallback: PushAlert?
    /// The ids of the alerts this run has had, the latest last: one that is named again is the same alert.
    package var alertIDs: [String] = []
    package var dismissal: DismissalWish = .systemDefault
    package var changedAt: UnixTime
    /// The last accepted write, even one that changed nothing: what `staleAfter` counts from.
    package var acceptedAt: UnixTime
    /// Until then a further change waits, so that changes in quick succession are one push.
    package var holdUntil: UnixTime = UnixTime(milliseconds: 0)
    /// Grows with everything that concerns all phones, a new revision above all: each lane goes around once for it.
    package var lap: Int64 = 0
    /// The newest lap that a lane has begun: the others follow at once, whatever the coalescing window says.
    package var begunLap: Int64 = 0
    /// When the lanes are to be told of the newest lap; `nil`: they know.
    package var wakeAt: UnixTime?
    /// When phones are to be told of a stale date that has moved since they were told one; `nil`: none has.
    package var refreshAt: UnixTime?
    /// Phones that were sent nothing since then are told the stale date anew.
    package var refreshedSince: UnixTime?
    package var endedAt: UnixTime?
    /// The greatest `sequence` that the backend gave in this run: what comes with none that is greater is late.
    package var clientSequence: Int64?

    package init(
        number: ActivityNumber, app: BundleID, id: ActivityID, type: String, at now: UnixTime
    ) {
        self.number = number
        self.app = app
        self.id = id
        self.type = type
        runStartedAt = now
        changedAt = now
        acceptedAt = now
    }

    /// The stale date that a push of now carries.
    package func staleDate(policy: TypePolicy) -> UnixTime? {
        if let staleAt { return staleAt }
        return (staleAfter ?? policy.staleAfter).map { acceptedAt + $0 }
    }

    /// How long before a stale date phones are told the next: long enough for the slowest of them.
    static func refreshMargin(_ staleAfter: Duration) -> Duration {
        min(staleAfter / 2, max(.seconds(30), staleAfter / 10))
    }

    /// The state was accepted once more: what phones were told of its stale date is to be told anew before it passes.
    package mutating func accepted(at now: UnixTime, policy: TypePolicy) {
        if staleAt == nil, let staleAfter = staleAfter ?? policy.staleAfter, refreshAt == nil, acceptedAt < now {
            let time = max(now, acceptedAt + (staleAfter - Self.refreshMargin(staleAfter)))
            refreshAt = time
            wakeAt = min(wakeAt ?? time, time)
        }
        acceptedAt = now
    }

    /// It is time to tell them.
    package mutating func refresh(at now: UnixTime) {
        refreshAt = nil
        refreshedSince = acceptedAt
        beginLap(at: now)
    }

    /// This phone's stale date was set before the state was accepted for the last time.
    package func isToRefresh(_ card: CardMachine) -> Bool {
        guard let refreshedSince else { return false }
        return card.timestamp < refreshedSince.seconds
    }

    /// Where the clock was set back, no push of now is as late as `refreshedSince`: phones would be told for ever. Who
    /// is told from now on is told enough.
    ///
    /// - Returns: Whether that was so.
    mutating func forgetFuture(at now: UnixTime) -> Bool {
        guard let since = refreshedSince, since > now else { return false }
        refreshedSince = now
        return true
    }

    /// When the ended card leaves the lock screen, in the words of the payload.
    package func endDismissal(policy: TypePolicy) -> Dismissal {
        switch dismissal {
        case .systemDefault: policy.dismissAfter.map { .at((endedAt ?? changedAt) + $0) } ?? .systemDefault
        case .immediate: .immediate
        case .at(let time): .at(time)
        case .after(let duration): .at((endedAt ?? changedAt) + duration)
        }
    }

    /// How many alert ids a run remembers.
    package static let rememberedAlerts = 16

    /// Takes an alert, in place of the one before.
    package mutating func take(_ alert: AlertRecord) {
        self.alert = alert
        alertIDs = Array((alertIDs.filter { $0 != alert.id } + [alert.id]).suffix(Self.rememberedAlerts))
    }

    /// The longest that changes may be collected. Where the clock was set back, what was to be held until a time of
    /// then would wait for all that it was set back by: what lies further ahead than this holds nothing.
    package static let longestHold = Duration.seconds(300)

    /// Both stand at the same place of every list of activities.
    package func stands(where other: Self) -> Bool {
        phase == other.phase && runStartedAt == other.runStartedAt && endedAt == other.endedAt
    }

    /// A state that is newer than the lap that was begun waits for the coalescing window, whichever phone asks for it;
    /// an alert, a start and an end do not.
    package func holds(_ plan: PushPlan, at now: UnixTime) -> Bool {
        lap > begunLap && now < holdUntil && plan.kind == .update && !plan.carriesAlert
    }

    /// From when the newest state might go out: when it was set, or when the coalescing window before it was over.
    ///
    /// - Parameter claimedAt: When the claim was that saw the record like this.
    package func mayLeaveAt(claimedAt: UnixTime, window: Duration) -> UnixTime {
        guard begunLap < lap else {
            // It began to go out a window before the present one's end, and what was set within the window before had
            // to wait for no longer than a whole one.
            return max(changedAt, min(holdUntil - window, changedAt + window))
        }
        // What goes out before the end of the window is what it does not hold.
        return claimedAt < holdUntil ? changedAt : max(changedAt, holdUntil)
    }

    /// Makes every lane go around once, as soon as the coalescing window of the last change is over.
    package mutating func beginLap(at now: UnixTime) {
        lap += 1
        if holdUntil > now + Self.longestHold { holdUntil = now }
        let time = max(now, holdUntil)
        wakeAt = min(wakeAt ?? time, time)
    }
}

/// When the ended card is to leave the lock screen, as the backend said it.
package enum DismissalWish: Sendable, Hashable {
    case systemDefault
    case immediate
    case at(UnixTime)
    /// Counted from the end, so that the same call again asks for the same.
    case after(Duration)
}

/// An alert that goes with a state, to each phone at most once.
package struct AlertRecord: Sendable, Hashable {
    package enum OnUnknown: String, Sendable, CaseIterable { case drop, `repeat` }

    package var id: String
    /// The revision it came with: a phone is never alerted before it is sent that state.
    package var revision: Revision
    package var alert: PushAlert
    package var expiresAt: UnixTime
    /// A later state carries it while it is unsent.
    package var keep: Bool
    package var onUnknown: OnUnknown

    package init(
        id: String, revision: Revision, alert: PushAlert, expiresAt: UnixTime, keep: Bool, onUnknown: OnUnknown
    ) {
        self.id = id
        self.revision = revision
        self.alert = alert
        self.expiresAt = expiresAt
        self.keep = keep
        self.onUnknown = onUnknown
    }
}

/// The content of an activity: the half that changes and the half that does not, as they are sent.
package struct ContentRecord: Sendable, Equatable {
    package var activity: ActivityNumber
    package var revision: Revision
    package var state: EncodedObject
    /// The state in canonical form, hashed: what "the same content" means.
    package var digest: UInt64
    package var attributes: EncodedObject
    package var attributesDigest: UInt64
    /// The builds of the app that could not decode it; none where all builds have one contract.
    package var unfit = UnfitBuilds()

    package init(
        activity: ActivityNumber, revision: Revision, state: EncodedObject, digest: UInt64,
        attributes: EncodedObject, attributesDigest: UInt64
    ) {
        self.activity = activity
        self.revision = revision
        self.state = state
        self.digest = digest
        self.attributes = attributes
        self.attributesDigest = attributesDigest
    }
}
