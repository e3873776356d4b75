public import JSONText

/// The answer of every call of a phone: the desired state of each of its activities, which the app applies locally.
public struct DesiredStatesAnswer: Sendable, Hashable, Codable {
    /// The activities that this phone should show, and those that ended lately.
    public var activities: [DesiredState]

    /// What one card should show.
    public struct DesiredState: Sendable, Hashable, Codable {
        /// The id that the backend chose.
        public var activity: String
        /// The activity type.
        public var type: String
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
    public init(activities: [DesiredState]) {
        self.activities = activities
    }
}
