package import APNSModel

/// What to do about one phone, and why.
package enum Decision: Sendable, Equatable {
    /// A push closes the difference.
    case send(PushPlan)
    /// The card cannot be shown here: an ordinary notification takes its place, once.
    case fallBack(Reason)
    /// Something will be due then.
    case wait(until: UnixTime, Reason)
    /// Nothing until something changes.
    case nothing(Reason)

    package var reason: Reason {
        switch self {
        case .send(let plan): plan.reason
        case .fallBack(let reason), .wait(_, let reason), .nothing(let reason): reason
        }
    }
}

/// A push that was decided, before its bytes are made.
package struct PushPlan: Sendable, Hashable {
    /// Which of the cards of a renewal it is about.
    package enum Part: Sendable, Hashable {
        /// The card that the phone's row is about: the only one nearly always.
        case card
        /// A second one, started before the first one's time is over.
        case successor
        /// The one that another has taken the place of.
        case predecessor
    }

    package var kind: PushKind
    package var revision: Revision
    package var priority: PushPriority
    /// The revision of the alert it carries; 0 for none.
    package var alertRevision: Revision
    package var expiresAt: UnixTime
    package var reason: Reason
    package var part = Part.card

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

/// Everything known about one phone of an activity.
package struct PhoneSituation: Sendable, Equatable {
    package var card: CardMachine
    package var device: DeviceFacts
    package var updateToken: UpdateTokenRecord?
    package var pushToStartToken: DeviceTokenRecord?
    /// For ordinary notifications; not looked up where a card is shown.
    package var deviceToken: DeviceTokenRecord?
    /// Another activity of this type has a start on this device whose card is not matched yet.
    package var hasOtherOpenStart: Bool
    /// What the device was sent of what the system counts; `nil`: nothing yet.
    package var highBudget: BudgetRecord?
    package var startBudget: BudgetRecord?
    /// The cards of the app on the device, where they are counted; `nil`: they are not.
    package var deviceCards: [DeviceCard]?

    /// The device belongs to the audience, and its person is signed in on it.
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
    /// There is a token to end it with.
    package var canBeEnded: Bool

    package init(activity: ActivityNumber, relevance: Double, startedAt: UnixTime, canBeEnded: Bool) {
        self.activity = activity
        self.relevance = relevance
        self.startedAt = startedAt
        self.canBeEnded = canBeEnded
    }
}

/// What should be shown, as the reconciler needs it.
package struct DesiredSituation: Sendable, Equatable {
    package var activity: ActivityRecord
    package var type: ActivityType
    /// The content state is one that the policy's `highWhen` names.
    package var isHighState: Bool
    /// The builds of the app that could not decode what is to be shown.
    package var unfit = UnfitBuilds()

    package init(activity: ActivityRecord, type: ActivityType, isHighState: Bool) {
        self.activity = activity
        self.type = type
        self.isHighState = isHighState
    }
}
