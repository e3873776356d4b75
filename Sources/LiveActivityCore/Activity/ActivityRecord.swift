package import APNSModel
package import JSONText

/// Desired state of an activity, in one row for all phones.
package struct ActivityRecord: Sendable, Hashable {
    /// Phase of an activity's life.
    package enum Phase: String, Sendable, CaseIterable, Codable {
        /// A phone has reported a card of it, but the backend has not set its state. There is nothing to show yet.
        case announced
        case active
        case ended
    }
    /// Devices of a person on which a card is started.
    package enum DeviceSelection: Sendable, Hashable {
        case lastActive
        case all
        case only(Set<DeviceID>)
        /// This device alone has a part in the activity, and none of its person's others.
        case one(DeviceID)
    }
    /// Priority that the backend asked for. `auto` leaves it to the policy.
    package enum PriorityWish: String, Sendable, CaseIterable { case auto, low, high }
    /// Side that may start a card: a push or the app, the app alone, or neither.
    package enum StartMode: String, Sendable, CaseIterable { case ifPossible, appOnly, never }
    /// Condition for another card after the person dismissed one or it vanished.
    package enum Restart: String, Sendable, CaseIterable { case never, onAlert, always }

    package var number: ActivityNumber
    package var app: BundleID
    package var id: ActivityID
    package var type: String
    package var phase: Phase = .active
    /// Number of the current run, from 1. Reopening the activity begins the next one.
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
    /// Template of the notification where no card can be shown; `nil` if the type's applies.
    package var fallback: PushAlert?
    /// Ids of this run's alerts, the latest last. A repeated id names the same alert.
    package var alertIDs: [String] = []
    package var dismissal: DismissalWish = .systemDefault
    package var changedAt: UnixTime
    /// Time of the last accepted write, even if it changed nothing. `staleAfter` counts from here.
    package var acceptedAt: UnixTime
    /// End of the coalescing window. A further change waits until then, so that quick changes become one push.
    package var holdUntil: UnixTime = UnixTime(milliseconds: 0)
    /// Number of the newest lap. It grows with everything that concerns all phones, such as a new revision.
    package var lap: Int64 = 0
    /// Newest lap that a lane has begun. The other lanes follow at once, even within the coalescing window.
    package var begunLap: Int64 = 0
    /// Time at which the lanes learn of the newest lap; `nil` if they know of it.
    package var wakeAt: UnixTime?
    /// Time at which phones get a newer stale date than the one they have; `nil` if theirs is current.
    package var refreshAt: UnixTime?
    /// Phones whose last push is older than this get the current stale date; `nil` if none needs it.
    package var refreshedSince: UnixTime?
    package var endedAt: UnixTime?
    /// Greatest `sequence` of the backend in this run. A call with one that is not greater is late.
    package var clientSequence: Int64?
    /// `true` once a card has needed a channel, in this run or an earlier one.
    package var hasChannels = false

    /// `true` if phones whose card is on a channel get the newest alert one by one, as long as it is worth showing.
    package var alertsEachPhone: Bool { alert?.onChannels == .notification }

    /// Returns `true` if a lap passes over phones on a channel of the run. Otherwise each of them gets an alert.
    package func passesChannelsOver(at now: UnixTime) -> Bool {
        !alertsEachPhone || alert.map { $0.expiresAt <= now } ?? true
    }

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

    /// Returns the stale date that a push carries now; `nil` if neither the activity nor the type has one.
    package func staleDate(policy: TypePolicy) -> UnixTime? {
        if let staleAt { return staleAt }
        return (staleAfter ?? policy.staleAfter).map { acceptedAt + $0 }
    }

    /// Returns how long before a stale date phones get the next one: enough time for the slowest of them.
    static func refreshMargin(_ staleAfter: Duration) -> Duration {
        min(staleAfter / 2, max(.seconds(30), staleAfter / 10))
    }

    /// Records that the state was accepted again. Phones get the new stale date before the one they have passes.
    package mutating func accepted(at now: UnixTime, policy: TypePolicy) {
        if staleAt == nil, let staleAfter = staleAfter ?? policy.staleAfter, refreshAt == nil, acceptedAt < now {
            let time = max(now, acceptedAt + (staleAfter - Self.refreshMargin(staleAfter)))
            refreshAt = time
            wakeAt = min(wakeAt ?? time, time)
        }
        acceptedAt = now
    }

    /// Returns `true` if a card of this activity may be started on a device.
    ///
    /// With `lastActive` the device was chosen when its person joined. The other selections hold as they are now.
    package func mayStart(_ card: CardMachine, on device: DeviceID) -> Bool {
        switch devices {
        case .all: true
        case .lastActive: card.mayStart
        case .only(let ids): ids.contains(device)
        case .one(let id): id == device
        }
    }

    /// Begins a lap that brings phones the current stale date.
    package mutating func refresh(at now: UnixTime) {
        refreshAt = nil
        refreshedSince = acceptedAt
        beginLap(at: now)
    }

    /// Returns `true` if this phone's stale date is from before the last accepted write.
    package func isToRefresh(_ card: CardMachine) -> Bool {
        guard let refreshedSince else { return false }
        return card.timestamp < refreshedSince.seconds
    }

    /// Replaces a `refreshedSince` in the future, left by a clock that was ahead, by `now`.
    ///
    /// Otherwise no push would be late enough, and phones would get the stale date again and again.
    ///
    /// - Returns: `true` if it was replaced.
    mutating func forgetFuture(at now: UnixTime) -> Bool {
        guard let since = refreshedSince, since > now else { return false }
        refreshedSince = now
        return true
    }

    /// Returns when the ended card leaves the lock screen, in the form that the payload uses.
    package func endDismissal(policy: TypePolicy) -> Dismissal {
        switch dismissal {
        case .systemDefault: policy.dismissAfter.map { .at((endedAt ?? changedAt) + $0) } ?? .systemDefault
        case .immediate: .immediate
        case .at(let time): .at(time)
        case .after(let duration): .at((endedAt ?? changedAt) + duration)
        }
    }

    /// Number of alert ids that a run remembers.
    package static let rememberedAlerts = 16

    /// Replaces the alert.
    package mutating func take(_ alert: AlertRecord) {
        self.alert = alert
        alertIDs = Array((alertIDs.filter { $0 != alert.id } + [alert.id]).suffix(Self.rememberedAlerts))
    }

    /// Longest time for which changes are collected. A `holdUntil` further ahead holds nothing: it comes from a clock
    /// that was ahead and has been set back since.
    package static let longestHold = Duration.seconds(300)

    /// Returns `true` if both records have the same place in every list of activities.
    package func stands(where other: Self) -> Bool {
        phase == other.phase && runStartedAt == other.runStartedAt && endedAt == other.endedAt
    }

    /// Returns `true` if the push waits for the coalescing window. A state newer than the begun lap does, whichever
    /// phone asks for it. An alert, a start and an end do not.
    package func holds(_ plan: PushPlan, at now: UnixTime) -> Bool {
        lap > begunLap && now < holdUntil && plan.kind == .update && !plan.carriesAlert
    }

    /// Returns the earliest time at which the newest state could be sent: when it was set, or when the coalescing
    /// window before it was over.
    ///
    /// - Parameter claimedAt: Time of the claim that read this record.
    package func mayLeaveAt(claimedAt: UnixTime, window: Duration) -> UnixTime {
        guard begunLap < lap else {
            // The lap began one window before `holdUntil`. A state set within the window before waited for one window
            // at most.
            return max(changedAt, min(holdUntil - window, changedAt + window))
        }
        // A push that leaves before the end of the window is one that the window does not hold.
        return claimedAt < holdUntil ? changedAt : max(changedAt, holdUntil)
    }

    /// Begins a lap of every lane, as soon as the coalescing window of the last change is over.
    package mutating func beginLap(at now: UnixTime) {
        lap += 1
        if holdUntil > now + Self.longestHold { holdUntil = now }
        let time = max(now, holdUntil)
        wakeAt = min(wakeAt ?? time, time)
    }
}

/// Time at which the ended card leaves the lock screen, as the backend asked for it.
package enum DismissalWish: Sendable, Hashable {
    case systemDefault
    case immediate
    case at(UnixTime)
    /// Time since the end, so that a repeated call asks for the same.
    case after(Duration)
}

/// An alert that goes with a state, at most once to each phone.
package struct AlertRecord: Sendable, Hashable {
    /// Treatment of an alert of unknown fate: send it no more, or send it again.
    package enum OnUnknown: String, Sendable, CaseIterable { case drop, `repeat` }

    package var id: String
    /// Revision that the alert came with. A phone never gets the alert before this state.
    package var revision: Revision
    package var alert: PushAlert
    package var expiresAt: UnixTime
    /// `true` if a later state carries the alert while it is unsent.
    package var keep: Bool
    package var onUnknown: OnUnknown
    /// Way to people whose card is on a channel, by the policy of when the alert was given.
    package var onChannels: ChannelAlerts

    package init(
        id: String, revision: Revision, alert: PushAlert, expiresAt: UnixTime, keep: Bool, onUnknown: OnUnknown,
        onChannels: ChannelAlerts = .broadcast
    ) {
        self.id = id
        self.revision = revision
        self.alert = alert
        self.expiresAt = expiresAt
        self.keep = keep
        self.onUnknown = onUnknown
        self.onChannels = onChannels
    }
}

/// Content of an activity as it is sent: the content state, which changes, and the attributes, which do not.
package struct ContentRecord: Sendable, Equatable {
    package var activity: ActivityNumber
    package var revision: Revision
    package var state: EncodedObject
    /// Hash of the state's canonical form. Equal digests mean the same content.
    package var digest: UInt64
    package var attributes: EncodedObject
    package var attributesDigest: UInt64
    /// Builds of the app that cannot decode the content; none if all builds have one contract.
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
