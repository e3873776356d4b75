public import APNSModel
public import JSONText

/// What a person sees on a phone, and what its app knows; a snapshot.
public struct LockScreen: Sendable, Hashable {
    /// The cards that can be seen, the most relevant first; of equals the one that started first.
    ///
    /// Two cards of one activity are two elements.
    public let cards: [Card]
    /// Cards that are gone, the latest last; at most 32 are kept.
    public let dismissed: [Card]
    /// Ordinary notifications that were shown, the latest last; at most 32 are kept.
    public let notifications: [ShownAlert]
    /// What runs of the app.
    public let appState: AppState
    /// Whether the phone reaches APNs.
    public let isOnline: Bool
    /// Whether the phone is locked.
    public let isLocked: Bool
    /// Whether the person allows Live Activities.
    public let activitiesEnabled: Bool
    /// Whether the person allows frequent updates.
    public let frequentPushesEnabled: Bool
    /// What the person said about ordinary notifications.
    public let notificationAuthorization: NotificationAuthorization
    /// How many of the phone's reports have not reached the backend yet.
    public let waitingReports: Int

    /// The cards that are active or stale.
    public var running: [Card] { cards.filter { $0.state.isRunning } }
}

/// One Live Activity on one phone.
public struct Card: Sendable, Hashable {
    /// ActivityKit's `ActivityState`, as far as a card on a phone has one.
    public enum State: String, Sendable, Hashable, CaseIterable, Codable {
        case active, stale, ended, dismissed

        /// Whether updates still change it.
        var isRunning: Bool { self == .active || self == .stale }
    }

    /// Why a card no longer runs.
    public enum Ending: String, Sendable, Hashable, CaseIterable, Codable {
        /// A push ended it.
        case push
        /// The app ended it.
        case app
        /// iOS ended it after eight hours.
        case eightHours
        /// The person swiped it away while it ran.
        case person
        /// A settings switch was turned.
        case settings
    }

    /// ActivityKit's id of the card.
    public let localID: String
    /// The Swift name of its attributes type.
    public let attributesType: String
    /// The half that never changes.
    public let attributes: JSONObject
    /// The half that is shown now.
    public internal(set) var contentState: JSONObject
    /// What ActivityKit would say of it.
    public internal(set) var state: State
    /// Why it no longer runs; `nil` while it does.
    public internal(set) var ending: Ending?
    /// The last alert that came with it.
    public internal(set) var alert: ShownAlert?
    /// How many alerts came with it.
    public internal(set) var alerts = 0
    /// On the phone's own clock.
    public let startedAt: UnixTime
    /// When the content last changed, on the phone's own clock.
    public internal(set) var updatedAt: UnixTime
    /// The newest timestamp applied, in whole seconds; what is older is ignored.
    public internal(set) var timestamp: UnixTime
    /// When it becomes stale unless something newer comes.
    public internal(set) var staleDate: UnixTime?
    /// When it stopped running.
    public internal(set) var endedAt: UnixTime?
    /// When an ended card leaves the lock screen.
    public internal(set) var dismissesAt: UnixTime?
    /// Its place among the app's cards: the highest is on top.
    public internal(set) var relevance: Double
    /// Whether a push started it.
    public let startedByPush: Bool
    /// The update token, once iOS has handed it out; printing it masks it.
    public internal(set) var token: UpdateToken?
    /// The broadcast channel that it subscribed to; then it has no update token.
    public internal(set) var channel: ChannelID?
    /// The server's name for it, when the app said one.
    public let activity: String?
    /// Whether the app has not noticed yet what it is like now.
    var isUnnoticed = false
    /// Whether the app's process was there when the card went away, so that it knows why.
    var wasWitnessed = true
}

/// An alert as the phone showed it.
public struct ShownAlert: Sendable, Hashable {
    /// The text; of localised words the key with its arguments, as an app shows it whose strings are the keys.
    public let title: String
    /// As the title.
    public let body: String?
    /// A file of the app's bundle, or `default`.
    public let sound: String?
    /// On the phone's own clock.
    public let at: UnixTime
    /// Of an ordinary notification: the line between title and body, or the key of it.
    public internal(set) var subtitle: String?
    /// Of an ordinary notification: those of one thread are shown as one group.
    public internal(set) var threadID: String?
    /// Of an ordinary notification: the next with the same takes its place.
    public internal(set) var collapseID: String?
    /// Of an ordinary notification: what the app reads when the person opens it.
    public internal(set) var data: JSONObject = [:]
}

/// Something that a phone did without telling anybody: what was dropped, delayed or withheld, and why.
public struct DeviceLogEntry: Sendable, Hashable {
    /// Why; stable, for programs.
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

    /// On the phone's own clock.
    public let at: UnixTime
    /// Why, for programs.
    public let code: Code
    /// Why, in words; never a token or a value of the payload.
    public let words: String
    /// The card it is about, if there is one.
    public let localID: String?
    /// The `apns-id` of the push it is about, if there is one.
    public let pushID: PushID?
}
