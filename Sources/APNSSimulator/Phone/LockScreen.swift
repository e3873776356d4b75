public import APNSModel
public import JSONText

/// A snapshot of what a person sees on a phone and what its app knows.
public struct LockScreen: Sendable, Hashable {
    /// The visible cards, the most relevant first. Of equal ones the card that started first comes first.
    ///
    /// Two cards of one activity are two elements.
    public let cards: [Card]
    /// Cards that are gone, the latest last. At most 32 are kept.
    public let dismissed: [Card]
    /// Ordinary notifications that were shown, the latest last. At most 32 are kept.
    public let notifications: [ShownAlert]
    /// The state of the app's process.
    public let appState: AppState
    /// `true` if the phone reaches APNs.
    public let isOnline: Bool
    /// `true` if the phone is locked.
    public let isLocked: Bool
    /// `true` if the person allows Live Activities.
    public let activitiesEnabled: Bool
    /// `true` if the person allows frequent updates.
    public let frequentPushesEnabled: Bool
    /// The person's permission for ordinary notifications.
    public let notificationAuthorization: NotificationAuthorization
    /// 1 if reports of the phone have not reached the backend yet, else 0.
    public let waitingReports: Int

    /// The cards that are active or stale.
    public var running: [Card] { cards.filter { $0.state.isRunning } }
}

/// One Live Activity on one phone.
public struct Card: Sendable, Hashable {
    /// A state of ActivityKit's `ActivityState` that a card on a phone can have.
    public enum State: String, Sendable, Hashable, CaseIterable, Codable {
        case active, stale, ended, dismissed

        /// `true` if updates still change the card.
        var isRunning: Bool { self == .active || self == .stale }
    }

    /// The reason a card stopped running.
    public enum Ending: String, Sendable, Hashable, CaseIterable, Codable {
        /// A push ended it.
        case push
        /// The app ended it.
        case app
        /// iOS ended it after eight hours.
        case eightHours
        /// The person swiped it away while it ran.
        case person
        /// The person changed a switch in the settings.
        case settings
    }

    /// ActivityKit's id of the card.
    public let localID: String
    /// The Swift name of the card's attributes type.
    public let attributesType: String
    /// The attributes, which never change.
    public let attributes: JSONObject
    /// The content state that is shown.
    public internal(set) var contentState: JSONObject
    /// The state that ActivityKit would report.
    public internal(set) var state: State
    /// The reason the card stopped running; `nil` while it runs.
    public internal(set) var ending: Ending?
    /// The last alert that came with the card.
    public internal(set) var alert: ShownAlert?
    /// Number of alerts that came with the card.
    public internal(set) var alerts = 0
    /// Time at which the card started, on the phone's own clock.
    public let startedAt: UnixTime
    /// Time of the last change of the content, on the phone's own clock.
    public internal(set) var updatedAt: UnixTime
    /// The newest applied timestamp, in whole seconds. Older pushes are ignored.
    public internal(set) var timestamp: UnixTime
    /// Time at which the card becomes stale unless a newer state arrives.
    public internal(set) var staleDate: UnixTime?
    /// Time at which the card stopped running.
    public internal(set) var endedAt: UnixTime?
    /// Time at which an ended card leaves the lock screen.
    public internal(set) var dismissesAt: UnixTime?
    /// Rank among the app's cards. The highest is on top.
    public internal(set) var relevance: Double
    /// `true` if a push started the card.
    public let startedByPush: Bool
    /// The update token, once iOS has handed it out. Printing masks it.
    public internal(set) var token: UpdateToken?
    /// The broadcast channel of the card. Such a card has no update token.
    public internal(set) var channel: ChannelID?
    /// The backend's id of the activity, if the app named it.
    public let activity: String?
    /// `true` if the app has not noticed the card's current state yet.
    var isUnnoticed = false
    /// `true` if the app was running when the card went away, so that it knows the reason.
    var wasWitnessed = true
}

/// An alert or ordinary notification that a phone showed.
public struct ShownAlert: Sendable, Hashable {
    /// The text. A localized title is the key with its arguments, as in an app whose strings are the keys.
    public let title: String
    /// The text, localized like the title.
    public let body: String?
    /// The name of a sound file in the app's bundle, or `default`.
    public let sound: String?
    /// Time at which it was shown, on the phone's own clock.
    public let at: UnixTime
    /// The line between title and body, or its key. Only ordinary notifications have it.
    public internal(set) var subtitle: String?
    /// The thread under which ordinary notifications are grouped.
    public internal(set) var threadID: String?
    /// The collapse id. An ordinary notification replaces an earlier one with the same id.
    public internal(set) var collapseID: String?
    /// The data that the app reads when the person opens an ordinary notification.
    public internal(set) var data: JSONObject = [:]
}

/// A line about something that a phone did silently: a push it dropped, delayed or withheld, and the reason.
public struct DeviceLogEntry: Sendable, Hashable {
    /// A stable code for programs.
    public enum Code: String, Sendable, Hashable, CaseIterable, Codable {
        case activitiesDisabled = "activities-disabled"
        case activityOver = "activity-over"
        case alertMissing = "alert-missing"
        case backgroundBudget = "background-budget"
        case attributesMissing = "attributes-missing"
        case attributesTypeMissing = "attributes-type-missing"
        case attributesUndecodable = "attributes-undecodable"
        case channelUnsupported = "channel-unsupported"
        case contentStateMissing = "content-state-missing"
        case contentStateUndecodable = "content-state-undecodable"
        case deliveredLate = "delivered-late"
        case eightHourLimit = "eight-hour-limit"
        case eventMissing = "event-missing"
        case eventUnfit = "event-unfit"
        case expired
        case highPriorityBudget = "high-priority-budget"
        case misplacedKeys = "misplaced-keys"
        case notAwakened = "not-awakened"
        case notificationsDenied = "notifications-denied"
        case notStored = "not-stored"
        case olderThanShown = "older-than-shown"
        case pushToStartBudget = "push-to-start-budget"
        case replacedInStore = "replaced-in-store"
        case staleAtStart = "stale-at-start"
        case timestampAhead = "timestamp-ahead"
        case timestampMissing = "timestamp-missing"
        case tokenWithheld = "token-withheld"
        case tooManyActivities = "too-many-activities"
        case unknownAttributesType = "unknown-attributes-type"
    }

    /// Time of the entry, on the phone's own clock.
    public let at: UnixTime
    /// The reason, for programs.
    public let code: Code
    /// The reason in words, without tokens or values of the payload.
    public let words: String
    /// Local id of the card that the entry is about, if any.
    public let localID: String?
    /// `apns-id` of the push that the entry is about, if any.
    public let pushID: PushID?
}
