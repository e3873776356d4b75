public import JSONText

/// The answer of every call of a phone: the desired state of each of its activities. The app applies it locally.
public struct DesiredStatesAnswer: Sendable, Hashable, Codable {
    /// The activities that this phone should show, and ended ones of which it may still have a card.
    public var activities: [DesiredState]
    /// The credential that this phone sends in `Authorization: Bearer` from now on.
    ///
    /// Only `PUT /v1/devices/{device}` answers with it, and with each credential only once. `nil` if the call did not
    /// ask for one, or may not have one.
    public var credential: String?
    /// The greatest sequence that was accepted from this device, if the inventory's own is not greater.
    ///
    /// The inventory then changed nothing, and the phone continues its numbering from this value. Only `PUT
    /// /v1/devices/{device}/instances` answers with it.
    public var supersededBy: Int?

    /// The desired state of one activity on this phone.
    public struct DesiredState: Sendable, Hashable, Codable {
        /// The id that the backend chose.
        public var activity: String
        /// The activity type.
        public var type: String
        /// ActivityKit's id of the card that shows the activity. `nil` if the server knows of none.
        public var localID: String?
        /// The attributes. Present only if the app may start the card itself.
        public var attributes: JSONObject?
        /// The broadcast channel that the app starts the card with (iOS 18). `nil`: the card gets an update token.
        ///
        /// Present only beside `attributes`.
        public var channel: String?
        /// The content state.
        public var state: JSONObject
        /// The revision of that state.
        public var revision: Int
        /// The phase of the activity. The app ends the card if it is `ended`.
        public var phase: String
        /// The time from which the card looks outdated. `nil` if it never does.
        public var staleAt: Instant?
        /// The relevance score. The app's card with the highest score comes first. `nil`: the card keeps its score.
        public var relevance: Double?
        /// The time when an ended card leaves the lock screen. A time in the past means at once.
        ///
        /// `nil` means that iOS decides, which takes four hours at most.
        public var dismissAt: Instant?
        /// The time when the card was started, by the server's clock. `nil` if the server knows of no card.
        public var startedAt: Instant?
        /// The newest timestamp of a push to this card. iOS shows a local update only if its timestamp is newer.
        public var lastTimestamp: Instant?
        /// The number of seconds after which the app may ask again for the `channel`, because it is being made.
        ///
        /// Only `GET /v1/activities/{activity}/join` answers with it. `nil` means that no channel is being made.
        public var retryAfter: Int?

        /// Creates the desired state of one card.
        public init(
            activity: String, type: String, attributes: JSONObject? = nil, state: JSONObject, revision: Int,
            phase: String, staleAt: Instant? = nil
        ) {
            self.activity = activity
            self.type = type
            self.attributes = attributes
            self.state = state
            self.revision = revision
            self.phase = phase
            self.staleAt = staleAt
        }
    }

    /// Creates the desired states of one phone.
    public init(activities: [DesiredState], credential: String? = nil) {
        self.activities = activities
        self.credential = credential
    }
}
