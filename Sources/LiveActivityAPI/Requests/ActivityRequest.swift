public import JSONText

/// The body of `PUT /v1/activities/{activity}`: what every phone of the audience should show.
///
/// A field that is absent leaves the default named with it; the type's policy may set another.
public struct ActivityRequest: Sendable, Hashable, Codable {
    /// The activity type: the name of the app's attributes type, as configured.
    public var type: String
    /// The content state, as the app's `ContentState` decodes it.
    public var state: JSONObject
    /// The attributes of the activity; fixed while it runs. None: an empty object.
    public var attributes: JSONObject?
    /// Who should see it; absent: as it was, for a new activity nobody but the phones that report it.
    public var audience: Audience?
    /// An alert that goes with this state, once to each phone; absent: silent.
    public var alert: Alert?
    /// The APNs priority; absent: `auto`.
    public var priority: Priority?
    /// Which of the app's activities comes first in the Dynamic Island: the highest. Absent: none is sent.
    public var relevance: Double?
    /// When the card is to look outdated; excludes ``staleAfter``.
    public var staleAt: Instant?
    /// How long after this call, or its last repetition, the card is to look outdated; absent: the policy's, else none.
    public var staleAfter: APIDuration?
    /// Whether the server may start the activity on phones that do not show it; absent: `ifPossible`.
    public var start: Start?
    /// Whether the server may start it anew where the person swiped it away; absent: `never`.
    public var restart: Restart?
    /// What an ordinary notification says on phones that cannot show a card; absent: what the type says, else nothing.
    public var fallback: FallbackRequest?
    /// Whether an activity that ended begins a new run; absent: false, and the call answers 409.
    public var reopen: Bool?
    /// Grows with each call about a run of the activity: one that is not greater than the last taken changes nothing.
    public var sequence: Int?

    /// The users who should see an activity, and on which of their devices.
    public struct Audience: Sendable, Hashable, Codable {
        /// The user ids.
        public var users: [String]
        /// The devices of these users; absent: `lastActive`.
        public var devices: DeviceSelection?

        /// An audience of these users.
        public init(users: [String], devices: DeviceSelection? = nil) {
            self.users = users
            self.devices = devices
        }
    }

    /// Which APNs priority a push has.
    public enum Priority: String, Sendable, Hashable, Codable, CaseIterable {
        /// High for starts, alerts, ends and catching up, low for the rest; as the policy says.
        case auto
        /// 5: when the phone finds it convenient; costs no budget.
        case low
        /// 10: at once; counts against the budget.
        case high
    }

    /// Who starts the activity on a phone.
    public enum Start: String, Sendable, Hashable, Codable, CaseIterable {
        /// The server, wherever there is a push-to-start token.
        case ifPossible
        /// Only the app itself.
        case appOnly
        /// Nobody: only cards that are there are updated.
        case never
    }

    /// What brings a card back that the person swiped away.
    public enum Restart: String, Sendable, Hashable, Codable, CaseIterable {
        /// Nothing.
        case never
        /// The next state with an alert.
        case onAlert
        /// The next state.
        case always
    }

    /// A request for a type and a state; what is left out has the default named with it.
    public init(type: String, state: JSONObject) {
        self.type = type
        self.state = state
    }

    /// A request from its JSON; refuses `staleAt` beside `staleAfter`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        type = try container.decode(String.self, forKey: .type)
        state = try container.decode(JSONObject.self, forKey: .state)
        attributes = try container.decodeIfPresent(JSONObject.self, forKey: .attributes)
        audience = try container.decodeIfPresent(Audience.self, forKey: .audience)
        alert = try container.decodeIfPresent(Alert.self, forKey: .alert)
        priority = try container.decodeIfPresent(Priority.self, forKey: .priority)
        relevance = try container.decodeIfPresent(Double.self, forKey: .relevance)
        staleAt = try container.decodeIfPresent(Instant.self, forKey: .staleAt)
        staleAfter = try container.decodeIfPresent(APIDuration.self, forKey: .staleAfter)
        start = try container.decodeIfPresent(Start.self, forKey: .start)
        restart = try container.decodeIfPresent(Restart.self, forKey: .restart)
        fallback = try container.decodeIfPresent(FallbackRequest.self, forKey: .fallback)
        reopen = try container.decodeIfPresent(Bool.self, forKey: .reopen)
        sequence = try container.decodeIfPresent(Int.self, forKey: .sequence)
        if staleAt != nil, staleAfter != nil {
            throw decoder.excluded(CodingKeys.staleAfter, by: CodingKeys.staleAt)
        }
    }
}

/// An alert that goes with a state; it reaches each phone at most once.
public struct Alert: Sendable, Hashable, Codable {
    /// What makes it the same alert in a repeated call; absent: every changed call is a new one.
    public var id: String?
    /// The title.
    public var title: AlertText
    /// The text below the title; absent: none.
    public var body: AlertText?
    /// A sound file of the app, or `default`; absent: the default sound.
    public var sound: String?
    /// How long it is worth showing, from this call; absent: 10 min.
    public var expiresAfter: APIDuration?
    /// Whether a later state carries it to phones that it did not reach yet; absent: false.
    public var keep: Bool?
    /// What happens when nobody can know whether it arrived; absent: `drop`.
    public var onUnknown: OnUnknown?

    /// What happens to an alert whose fate is unknown.
    public enum OnUnknown: String, Sendable, Hashable, Codable, CaseIterable {
        /// It is not sent again: rather none than two.
        case drop
        /// It is sent again: rather two than none.
        case `repeat`
    }

    /// An alert with this title; what is left out has the default named with it.
    public init(title: AlertText, body: AlertText? = nil, id: String? = nil) {
        self.title = title
        self.body = body
        self.id = id
    }
}
