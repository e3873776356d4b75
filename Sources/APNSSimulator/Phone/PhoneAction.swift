public import APNSModel
public import JSONText

/// What a person, an app or iOS does on a phone.
public enum PhoneAction: Sendable, Hashable {
    /// The person opens the app; launches it if it does not run.
    case foreground
    /// The app leaves the screen and sleeps.
    case background
    /// iOS launches the app in the background, as it does for a token or a background push.
    case launch
    /// iOS ends the app's process.
    case kill
    /// The person swipes the app out of the app switcher.
    case forceQuit
    /// The person removes the app: its tokens are dead from now on.
    case uninstall
    /// The person installs the app anew, after it was removed: another device to the backend.
    case install
    /// The person taps Allow: withheld update tokens are handed out, and later ones at once.
    case allow
    /// The person swipes a card away; every visible one when `nil`.
    case swipe(localID: String?)
    /// The person opens the app by a card, which the app says to the server; the first visible one when `nil`.
    case tap(localID: String?)
    /// The phone loses its connection; pushes wait at APNs, reports on the phone.
    case offline
    /// The phone has a connection again.
    case online
    case lock
    case unlock
    /// iOS replaces the update token of a running card; of every one when `nil`.
    case rotateUpdateToken(localID: String?)
    /// iOS replaces the push-to-start token.
    case rotatePushToStartToken
    /// iOS replaces the device token.
    case rotateDeviceToken
    /// The phone has had its high-priority pushes of this hour: further ones wait or are dropped.
    case spendBudget
    /// The app, on the screen, starts a Live Activity; one that has a backend tells it first.
    case startLocally(LocalStart)
    /// The app, running, updates one.
    case updateLocally(LocalUpdate)
    /// The app, running, ends one.
    case endLocally(localID: String, contentState: JSONObject? = nil, isImmediate: Bool = false)
    /// The person's switch; a change ends every card.
    case setActivitiesEnabled(Bool)
    /// The person's switch; a change ends every card.
    case setFrequentPushes(Bool)
    /// The person allows or forbids ordinary notifications.
    case setNotificationAuthorization(NotificationAuthorization)
    /// Another person signs in, or nobody: `nil` tells the backend that this one left.
    case signIn(user: String?)

    /// A Live Activity that the app starts itself.
    public struct LocalStart: Sendable, Hashable {
        /// The Swift name of an installed attributes type.
        public var attributesType: String
        /// The half that never changes.
        public var attributes: JSONObject
        /// What it shows.
        public var contentState: JSONObject
        /// The server's name for the activity, if the app knows it.
        public var activity: String?
        /// When it becomes stale.
        public var staleDate: UnixTime?
        /// Its place among the app's cards.
        public var relevance: Double
        /// The broadcast channel it subscribes to, instead of an update token (`PushType.channel`, iOS 18).
        public var channel: ChannelID?

        /// A start with what it needs.
        public init(
            attributesType: String, attributes: JSONObject, contentState: JSONObject, activity: String? = nil,
            staleDate: UnixTime? = nil, relevance: Double = 0, channel: ChannelID? = nil
        ) {
            self.channel = channel
            self.attributesType = attributesType
            self.attributes = attributes
            self.contentState = contentState
            self.activity = activity
            self.staleDate = staleDate
            self.relevance = relevance
        }
    }

    /// A change that the app makes itself.
    public struct LocalUpdate: Sendable, Hashable {
        /// Which card.
        public var localID: String
        /// What it shows from now on.
        public var contentState: JSONObject
        /// When it becomes stale; `nil` for never.
        public var staleDate: UnixTime?

        /// A change with what it needs.
        public init(localID: String, contentState: JSONObject, staleDate: UnixTime? = nil) {
            self.localID = localID
            self.contentState = contentState
            self.staleDate = staleDate
        }
    }
}
