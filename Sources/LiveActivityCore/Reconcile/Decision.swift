package import APNSModel

/// Action for one phone, with its reason.
package enum Decision: Sendable, Equatable {
    /// Send this push. It closes the difference between the desired state and the card.
    case send(PushPlan)
    /// Send an ordinary notification once, because the card cannot be shown on this phone.
    case fallBack(Reason)
    /// Decide again at this time.
    case wait(until: UnixTime, Reason)
    /// Do nothing until something changes.
    case nothing(Reason)

    package var reason: Reason {
        switch self {
        case .send(let plan): plan.reason
        case .fallBack(let reason), .wait(_, let reason), .nothing(let reason): reason
        }
    }
}

/// A push that was decided. Its bytes are made later, when it is sent.
package struct PushPlan: Sendable, Hashable {
    /// Card of a renewal that a push is about.
    package enum Part: Sendable, Hashable {
        /// The card of the phone's row. Without a renewal it is the only one.
        case card
        /// The second card, started before iOS ends the first.
        case successor
        /// The card that another has replaced.
        case predecessor
    }

    package var kind: PushKind
    package var revision: Revision
    package var priority: PushPriority
    /// Revision of the alert that the push carries; 0 if it carries none.
    package var alertRevision: Revision
    package var expiresAt: UnixTime
    package var reason: Reason
    package var part = Part.card
    /// Channel that a started card is subscribed to; `nil` if it gets an update token.
    package var channel: ChannelID?

    package var carriesAlert: Bool { alertRevision > 0 }

    package init(
        kind: PushKind, revision: Revision, priority: PushPriority, alertRevision: Revision, expiresAt: UnixTime,
        reason: Reason
    ) {
        self.kind = kind
        self.revision = revision
        self.priority = priority
        self.alertRevision = alertRevision
        self.expiresAt = expiresAt
        self.reason = reason
    }
}

/// Facts about one phone that a decision needs.
package struct PhoneSituation: Sendable, Equatable {
    package var card: CardMachine
    package var device: DeviceFacts
    package var updateToken: UpdateTokenRecord?
    package var pushToStartToken: DeviceTokenRecord?
    /// Token for ordinary notifications. It is not loaded for a phone that shows a card.
    package var deviceToken: DeviceTokenRecord?
    /// `true` if another activity of this type has a start on this device whose card is not matched yet.
    package var hasOtherOpenStart: Bool
    /// High-priority pushes and starts that the device was sent; `nil` if none yet.
    package var highBudget: BudgetRecord?
    package var startBudget: BudgetRecord?
    /// The app's cards on the device; `nil` if the policy does not count them.
    package var deviceCards: [DeviceCard]?

    /// Leaves out what is not read for a phone that gets nothing but pushes to its card.
    package mutating func forgetDevice() {
        pushToStartToken = nil
        deviceToken = nil
        hasOtherOpenStart = false
        startBudget = nil
        deviceCards = nil
    }

    /// `true` if the device belongs to the audience and its person is signed in on it.
    package var isWanted: Bool { card.isWanted && device.signedOutAt == nil }

    package init(
        card: CardMachine, device: DeviceFacts, updateToken: UpdateTokenRecord? = nil,
        pushToStartToken: DeviceTokenRecord? = nil, deviceToken: DeviceTokenRecord? = nil,
        hasOtherOpenStart: Bool = false,
        highBudget: BudgetRecord? = nil, startBudget: BudgetRecord? = nil
    ) {
        self.card = card
        self.device = device
        self.updateToken = updateToken
        self.pushToStartToken = pushToStartToken
        self.deviceToken = deviceToken
        self.hasOtherOpenStart = hasOtherOpenStart
        self.highBudget = highBudget
        self.startBudget = startBudget
    }
}

/// A card that a device shows, or that is on its way there.
package struct DeviceCard: Sendable, Equatable {
    package var activity: ActivityNumber
    package var relevance: Double
    package var startedAt: UnixTime
    /// `true` if there is a token to end it with.
    package var canBeEnded: Bool

    package init(activity: ActivityNumber, relevance: Double, startedAt: UnixTime, canBeEnded: Bool) {
        self.activity = activity
        self.relevance = relevance
        self.startedAt = startedAt
        self.canBeEnded = canBeEnded
    }
}

/// Facts about the desired state that a decision needs.
package struct DesiredSituation: Sendable, Equatable {
    package var activity: ActivityRecord
    package var type: ActivityType
    /// `true` if the policy's `highWhen` names the content state.
    package var isHighState: Bool
    /// Builds of the app that cannot decode the desired state.
    package var unfit = UnfitBuilds()
    /// The activity's channels, of every run.
    package var channels: [ChannelRecord] = []
    /// Number of the activity's phones. It is only counted where it decides about a channel.
    package var phones = 0

    package init(activity: ActivityRecord, type: ActivityType, isHighState: Bool) {
        self.activity = activity
        self.type = type
        self.isHighState = isHighState
    }
}
