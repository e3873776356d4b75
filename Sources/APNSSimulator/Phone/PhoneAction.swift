public import APNSModel
public import JSONText

/// An action of a person, an app or iOS on a phone.
public enum PhoneAction: Sendable, Hashable {
    /// The person opens the app, which launches if it does not run.
    case foreground
    /// The app leaves the screen and sleeps.
    case background
    /// iOS launches the app in the background, as it does for a token or a background push.
    case launch
    /// iOS ends the app's process.
    case kill
    /// The person swipes the app out of the app switcher.
    case forceQuit
    /// The person removes the app. Its tokens are dead from now on.
    case uninstall
    /// The person installs the app again after removing it. To the backend it is another device.
    case install
    /// The person taps Allow. Withheld update tokens are handed out, and later ones at once.
    case allow
    /// The person swipes a card away, or every visible card if `nil`.
    case swipe(localID: String?)
    /// The person opens the app from a card, or from the first visible one if `nil`. The app reports that to the
    /// server.
    case tap(localID: String?)
    /// The phone loses its connection. Pushes wait at APNs, reports on the phone.
    case offline
    /// The phone has a connection again.
    case online
    case lock
    case unlock
    /// iOS replaces the update token of a running card, or of every running card if `nil`.
    case rotateUpdateToken(localID: String?)
    /// iOS replaces the push-to-start token.
    case rotatePushToStartToken
    /// iOS replaces the device token.
    case rotateDeviceToken
    /// The phone has used its high-priority pushes of this hour. Further ones are delayed or dropped.
    case spendBudget
    /// The app, while on the screen, starts a Live Activity. An app with a backend tells the backend first.
    case startLocally(LocalStart)
    /// The app, while it runs, updates a card.
    case updateLocally(LocalUpdate)
    /// The app, while it runs, ends a card.
    case endLocally(localID: String, contentState: JSONObject? = nil, isImmediate: Bool = false)
    /// The person turns Live Activities on or off. A change ends every card.
    case setActivitiesEnabled(Bool)
    /// The person turns frequent updates on or off. A change ends every card.
    case setFrequentPushes(Bool)
    /// The person allows or forbids ordinary notifications.
    case setNotificationAuthorization(NotificationAuthorization)
    /// Another person signs in. `nil` signs the person out and tells the backend.
    case signIn(user: String?)

    /// A Live Activity that the app starts itself.
    public struct LocalStart: Sendable, Hashable {
        /// The Swift name of an installed attributes type.
        public var attributesType: String
        /// The attributes, which never change.
        public var attributes: JSONObject
        /// The content state to show.
        public var contentState: JSONObject
        /// The backend's id of the activity, if the app knows it.
        public var activity: String?
        /// Time at which the card becomes stale.
        public var staleDate: UnixTime?
        /// Rank among the app's cards.
        public var relevance: Double
        /// The broadcast channel of the card, which then has no update token (`PushType.channel`, iOS 18).
        public var channel: ChannelID?

        /// Creates a start.
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

    /// A change that the app makes to a card.
    public struct LocalUpdate: Sendable, Hashable {
        /// Local id of the card.
        public var localID: String
        /// The content state to show.
        public var contentState: JSONObject
        /// Time at which the card becomes stale; `nil` for never.
        public var staleDate: UnixTime?

        /// Creates a change.
        public init(localID: String, contentState: JSONObject, staleDate: UnixTime? = nil) {
            self.localID = localID
            self.contentState = contentState
            self.staleDate = staleDate
        }
    }
}
