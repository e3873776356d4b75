public import JSONText

/// The answer of every call of a phone: the desired state of each of its activities, which the app applies locally.
public struct DesiredStatesAnswer: Sendable, Hashable, Codable {
    /// The activities that this phone should show, and those that ended lately.
    public var activities: [DesiredState]
    /// What this phone sends behind `Authorization: Bearer` from now on; absent when it was not asked for or is not
    /// given out. Only `PUT /v1/devices/{device}` answers with it, and never with the same one again.
    public var credential: String?
    /// The sequence of an inventory that was taken before and is not older than the one that this answers: this one
    /// changed nothing, and the phone goes on from there. Only `PUT /v1/devices/{device}/instances` answers with it.
    public var supersededBy: Int?

    /// What one card should show.
    public struct DesiredState: Sendable, Hashable, Codable {
        /// The id that the backend chose.
        public var activity: String
        /// The activity type.
        public var type: String
        /// The phone's own name of the card that shows it; absent: the server knows of none.
        public var localID: String?
        /// The attributes, for an app that is to start the card itself.
        public var attributes: JSONObject?
        /// The content state.
        public var state: JSONObject
        /// The revision of that state.
        public var revision: Int
        /// Where the activity is in its life; an ended one is to be ended locally.
        public var phase: String
        /// When the card is to look outdated; absent: never.
        public var staleAt: Instant?
        /// The card's place among the app's others, the higher the further up; absent: the one that it has.
        public var relevance: Double?
        /// When an ended card is to leave the lock screen, in the past: at once; absent: when iOS likes, four hours
        /// later at most.
        public var dismissAt: Instant?
        /// When the card was started, by the server's clock; absent: the server knows of none.
        public var startedAt: Instant?
        /// The newest timestamp of a push to this card: what the app shows locally needs a newer one to be shown.
        public var lastTimestamp: Instant?

        /// The desired state of one card.
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

    /// The desired states of one phone.
    public init(activities: [DesiredState], credential: String? = nil) {
        self.activities = activities
        self.credential = credential
    }
}
